"""Time per model step by length of the thread, beside loops of two nodes and `create_agent`."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..step_time import StepTimes, step_times
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]

BARE, LOOP, OWN, PEER = "bare", "loop", "longthread", "create_agent"


def run(options: Options) -> Result:
    """Measure; the lengths take turns, so that what else the machine does falls on all alike."""
    lengths = (4, 6) if options.tiny else (10, 100, 1_000, 10_000)
    steps, repeat = options.size(3, 20, 60), options.size(1, 3, 9)
    runs: dict[int, list[StepTimes]] = {length: [] for length in lengths}
    for _ in range(repeat):
        for length in lengths:
            runs[length].append(step_times(length, steps))
    graphs = list(runs[lengths[0]][0])
    found = {
        name: {length: statistics.median(run[name] for run in runs[length]) for length in lengths}
        for name in graphs
    }
    result = Result("steps", "Time per model step")
    result.figures = _figures(found, lengths, official=not options.tiny)
    rows: list[list[Cell]] = [
        [
            f"{length:,}",
            *(found[name][length] for name in graphs),
            found[OWN][length] - found[BARE][length],
            found[OWN][length] - found[LOOP][length],
            found[PEER][length] / found[OWN][length] if PEER in graphs else None,
        ]
        for length in lengths
    ]
    columns = ["messages", *graphs, "beyond bare", "beyond loop", "create_agent ÷ longthread"]
    result.tables.append(Table("Milliseconds of the processor, median", columns, rows))
    result.notes = [
        "One step is a model call that asks for a tool, and the tool's result; in-memory saver, "
        f"the same scripted model. Median of {repeat} runs of {steps} steps.",
        "All commit every step before the next one begins. longthread: everything on, in a window "
        "of 16,000 tokens. Bare: two nodes on the same journal channel, which send as many "
        "messages; its tool is a plain function call. Loop: the same with LangGraph's ToolNode.",
    ]
    if PEER not in graphs:
        result.notes.append("create_agent is not installed: pip install langchain.")
    result.data = {
        name: {str(length): [run[name] for run in by] for length, by in runs.items()}
        for name in graphs
    }
    result.plots["steps.png"] = lambda path: _plot(found, path)
    return result


def _figures(
    found: Mapping[str, Mapping[int, float]], lengths: Sequence[int], *, official: bool
) -> list[Figure]:
    own, bare = found[OWN], found[BARE]
    beyond = {length: own[length] - bare[length] for length in lengths}
    worst = max(beyond, key=lambda length: beyond[length])
    short, longest = lengths[-3] if len(lengths) > 2 else lengths[0], lengths[-1]
    figures = [
        Figure(
            "time per step beyond two nodes",
            beyond[worst],
            "ms",
            at_most=1.5,
            official=official,
            note=f"at {worst:,} messages, where it is largest; ÷ two nodes: "
            f"{own[worst] / bare[worst]:.2f}",
        ),
        Figure(
            f"time per step at {longest:,} messages against {short:,}",
            own[longest] / own[short],
            at_most=1.2,
            official=official,
            note=f"two nodes: {bare[longest] / bare[short]:.2f}",
        ),
    ]
    if PEER in found:
        slow = {length: own[length] / found[PEER][length] for length in lengths}
        where = max(slow, key=lambda length: slow[length])
        figures.append(
            Figure(
                "time per step against create_agent",
                slow[where],
                at_most=1.0,
                official=official,
                note=f"at {where:,} messages, where it is largest; at {longest:,}: "
                f"{slow[longest]:.2f}",
            )
        )
    return figures


def _plot(found: Mapping[str, Mapping[int, float]], path: Path) -> None:
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(8, 4.5), layout="constrained")
    axes: Any = drawing.subplots()
    for name, by in found.items():
        axes.plot(list(by), list(by.values()), marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="messages in the thread", ylabel="ms per step")
    axes.set_title("Processor time per model step")
    axes.grid(alpha=0.3, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    drawing.savefig(path, dpi=110)
