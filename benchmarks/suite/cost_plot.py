"""What each contestant's cost consists of, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .played import Played, mean

__all__ = ["plot_costs"]

_PARTS = {
    "answers": "#8c8c8c",
    "cached": "#9ecae1",
    "new": "#3182bd",
    "summaries": "#fd8d3c",
    "rereads": "#de2d26",
}


def plot_costs(played: Sequence[Played], groups: Sequence[str], path: Path) -> None:
    """Draw a panel for each group of sessions: one bar a contestant, cost by what it went to."""
    from matplotlib.figure import Figure

    shown = [one for one in played if not one.failed][::-1]
    rows = -(-len(groups) // 2)
    figure = Figure(figsize=(12, 1.2 + rows * (0.9 + 0.42 * len(shown))), layout="constrained")
    grid: Any = figure.subplots(rows, min(2, len(groups)), sharex=True, sharey=True, squeeze=False)
    panels = list(grid.flat)
    for panel, group in zip(panels, groups, strict=False):
        left = [0.0] * len(shown)
        names = [one.who.name for one in shown]
        for part, colour in _PARTS.items():
            widths = [
                mean([getattr(cost, part) / cost.unmanaged for cost in one.costs[group]])
                for one in shown
            ]
            label = "re-reads" if part == "rereads" else part
            panel.barh(names, widths, left=left, color=colour, label=label)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for at, total in enumerate(left):
            panel.text(total, at, f" {total:.2f}", va="center", fontsize=9)
        panel.set_title(group, fontsize=11)
        panel.tick_params(labelbottom=True)
        panel.spines[["top", "right"]].set_visible(False)
    longest = max(cost.ratio for one in shown for cost in one.all(groups))
    panels[0].set_xlim(0, max(1.0, longest) * 1.1)
    for panel in panels[len(groups) :]:
        panel.set_visible(False)
    for panel in panels[: len(groups)]:
        panel.axvline(1.0, color="#444444", linewidth=0.8, linestyle=":")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(_PARTS), frameon=False)
    figure.suptitle("Cost against sending the whole history with every request", fontsize=12)
    figure.savefig(path, dpi=110)
