"""Time per model step by length of the thread, beside a bare loop and `create_agent`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..step_time import langchain_agent, ours, per_step, two_nodes
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]

BARE, OWN, PEER = "two nodes", "longthread", "create_agent"


def run(options: Options) -> Result:
    """Measure; the lengths take turns, so that what else the machine does falls on all alike."""
    lengths = (4, 6) if options.tiny else (10, 100, 1_000, 10_000)
    steps, repeat = options.size(3, 20, 60), options.size(1, 3, 9)
    graphs: dict[str, Callable[[Any], Any]] = {BARE: two_nodes, OWN: ours}
    if find_spec("langchain"):
        graphs[PEER] = langchain_agent
    times: dict[str, dict[int, list[float]]] = {
        name: {length: [] for length in lengths} for name in graphs
    }
    for _ in range(repeat):
        for length in lengths:
            for name, build in graphs.items():
                times[name][length].append(per_step(build, length, steps))
    found = {
        name: {length: statistics.median(values) for length, values in by.items()}
        for name, by in times.items()
    }
    result = Result("steps", "Time per model step")
    result.figures = _figures(found, lengths, official=not options.tiny)
    rows: list[list[Cell]] = [
        [
            f"{length:,}",
            *(found[name][length] for name in graphs),
            found[OWN][length] - found[BARE][length],
            found[OWN][length] / found[BARE][length],
            found[PEER][length] / found[OWN][length] if PEER in graphs else None,
        ]
        for length in lengths
    ]
    columns = ["messages", *graphs, "beyond two nodes", "÷ two nodes", "create_agent ÷ longthread"]
    result.tables.append(Table("Milliseconds of the processor, median", columns, rows))
    result.notes = [
        "One step is a model call that asks for a tool, and the tool's result; in-memory saver, "
        f"the same scripted model. Median of {repeat} runs of {steps} steps.",
        "longthread: everything on. Two nodes: the same journal channel, no context management.",
    ]
    if PEER not in graphs:
        result.notes.append("create_agent is not installed: pip install langchain.")
    result.data = {
        name: {str(length): times for length, times in by.items()} for name, by in times.items()
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
    drawing.savefig(path, dpi=150)
