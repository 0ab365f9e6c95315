"""Where a thread's tokens went, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, sqrt
from typing import TYPE_CHECKING

from ..state.errors import ConfigurationError
from .context_history import ContextPoint

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LABELS", "PART_COLOURS", "plain_axes", "plot_context"]

PART_COLOURS = {
    "system": "#4c566a",
    "tools": "#a3b1c6",
    "reference": "#8e6bbf",
    "summary": "#d9822b",
    "messages": "#3b82b8",
}
"""The parts of a request in their order, and the colour of each."""

LABELS = {
    "system": "system prompt",
    "tools": "tool schemas",
    "reference": "memory, reference",
    "summary": "summary",
    "messages": "messages",
}
"""What the parts are called in a legend."""

_KEPT_OUT = {"summarised": "#fbe2c6", "masked": "#cbdff0", "evicted": "#d5e8d4"}
_KEPT_OUT_LABELS = {"summarised": "summarised", "masked": "masked", "evicted": "moved to a file"}
_LINES = ("everything", "window", "compaction")
_COLUMNS = 3
_WINDOW, _WHOLE, _COMPACTION = "#c0392b", "#555555", "#a85a0c"


def plot_context(
    histories: Sequence[ContextPoint] | Mapping[str, Sequence[ContextPoint]], *, title: str = ""
) -> Figure:
    """Draw the context by part over a thread's life, and what is kept out of it.

    In strong colours what the model is sent, by part; above it, in light ones, what the thread has
    said and the model is not sent, by the reason. Both together are what it would be unmanaged.

    Args:
        histories: What `context_history` returned, or several of them by name: one panel each, on
            the same scale.
        title: A title for the figure.

    Returns:
        A Matplotlib figure, made without pyplot: a notebook shows it, `savefig` writes it.

    Raises:
        ConfigurationError: Matplotlib is missing, or there is nothing to draw.
    """
    panels = dict(histories) if isinstance(histories, Mapping) else {"": histories}
    if not panels or not any(panels.values()):
        raise ConfigurationError("histories: nothing to draw; has the thread any messages?")
    try:
        from .context_figure import ContextFigure
    except ImportError as error:
        raise ConfigurationError(
            "plot_context needs matplotlib: python -m pip install 'longthread[notebooks]'"
        ) from error
    columns = min(_COLUMNS, len(panels) if len(panels) <= _COLUMNS else ceil(sqrt(len(panels))))
    rows = -(-len(panels) // columns)
    size = (max(8.0, 4.6 * columns), 1.0 + 3.4 * rows)
    figure = ContextFigure(size)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    legend: dict[str, Artist] = {}
    for axes, (name, points) in zip(grid.flatten(), panels.items(), strict=False):
        _draw(axes, points, name)
        handles, labels = axes.get_legend_handles_labels()
        legend |= dict(zip(labels, handles, strict=True))
    for axes in grid.flatten()[len(panels) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("tokens")
    order = [*LABELS.values(), *_KEPT_OUT_LABELS.values(), *_LINES]
    shown = sorted(legend, key=order.index)
    figure.legend(
        [legend[label] for label in shown],
        shown,
        loc="outside lower center",
        ncols=5,
        fontsize="small",
    )
    if title:
        figure.suptitle(title)
    return figure


def plain_axes(axes: Axes) -> None:
    """Give axes thousands that can be read, a faint grid, and no more frame than is needed."""
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.margins(x=0)
    axes.set_ylim(bottom=0)


def _draw(axes: Axes, points: Sequence[ContextPoint], name: str) -> None:
    numbers = [point.journal_messages for point in points]
    sent = {part: [point.parts[part] for point in points] for part in PART_COLOURS}
    kept_out = {why: [getattr(point, why) for point in points] for why in _KEPT_OUT}
    layers = [
        *((LABELS[part], PART_COLOURS[part], tokens) for part, tokens in sent.items()),
        *((_KEPT_OUT_LABELS[why], _KEPT_OUT[why], tokens) for why, tokens in kept_out.items()),
    ]
    drawn = [layer for layer in layers if any(layer[2])]
    axes.stackplot(
        numbers,
        [tokens for _, _, tokens in drawn],
        labels=[label for label, _, _ in drawn],
        colors=[colour for _, colour, _ in drawn],
        linewidth=0,
    )
    whole = [point.whole for point in points]
    axes.plot(numbers, whole, color=_WHOLE, linestyle="--", linewidth=1, label="everything")
    windows = [point.window for point in points]
    axes.plot(
        numbers, windows, color=_WINDOW, linewidth=1.2, drawstyle="steps-post", label="window"
    )
    for number in _compactions(points):
        axes.axvline(number, color=_COMPACTION, linewidth=0.9, linestyle=":", label="compaction")
    axes.set_title(name, fontsize="medium")
    axes.set_xlabel("messages in the journal")
    plain_axes(axes)


def _compactions(points: Sequence[ContextPoint]) -> list[int]:
    """Return after how many messages a compaction was committed."""
    generations = [0, *(point.generation for point in points)]
    return [
        point.journal_messages
        for before, point in zip(generations, points, strict=False)
        if point.generation > before
    ]
