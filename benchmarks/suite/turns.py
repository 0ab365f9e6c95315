"""Time of one more call by length of the thread, on SQLite and PostgreSQL."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from langchain_core.messages import HumanMessage

from longthread import open_checkpointer

from ..opening import THREAD, graph_of, grow, lengthen, one_more_call
from ..postgres import empty_database, server_of_its_own
from ..quiet import quiet
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


Time = tuple[float, float]
"""Milliseconds of the clock, and of the processor."""


@quiet()
def run(options: Options) -> Result:
    """Time calls on a short and a long thread; 5,000 and 50,000 messages with `--full`."""
    window = options.size(10, 500, 5_000)
    lengths = (window, options.size(20, 10 * window, 10 * window))
    batch, repeat = options.size(4, 100, 200), options.size(1, 5, 7)
    result = Result("turns", "One more call by length of the thread")
    rows: list[list[Cell]] = []
    sqlite = [_on_sqlite(length, window, batch, repeat, forks=options.full) for length in lengths]
    ends = [places["newest"] for places in sqlite]
    result.figures.append(
        _figure("SQLite, processor time", lengths, ends, official=options.full, clock=False)
    )
    for length, places in zip(lengths, sqlite, strict=True):
        for place, times in places.items():
            where = "" if place == "newest" else f", {place}"
            rows.append(_row(f"SQLite, {length:,}{where}", times, ends[0]))
    if not options.tiny:
        with server_of_its_own() as server:
            if server is not None:
                ends = [_on_postgres(server, n, window, batch, repeat) for n in lengths]
                result.figures.append(_figure("PostgreSQL", lengths, ends))
                for length, times in zip(lengths, ends, strict=True):
                    rows.append(_row(f"PostgreSQL, {length:,}", times, ends[0]))
    columns = ["messages", "ms by the clock", "ratio", "ms of the processor", "ratio"]
    result.tables.append(Table("One question and its answer, median", columns, rows))
    result.notes = [
        f"Threads of real calls that bring {batch} messages each, memory off, "
        f"journal_window={window:,}: what lies further back is sealed.",
        "SQLite: each call on a fresh copy of the file, opened for it. PostgreSQL: one call after "
        "the other, by a graph and a connection of its own, so that only the first can seal: the "
        "specification sets no target for it.",
        "A fork before a seal has to seal again.",
    ]
    return result


def _figure(
    name: str,
    lengths: tuple[int, int],
    ends: list[list[Time]],
    *,
    official: bool = True,
    clock: bool = True,
) -> Figure:
    short, long = (statistics.median(time[not clock] for time in times) for times in ends)
    return Figure(
        f"one more call at {lengths[1]:,} messages against {lengths[0]:,}, {name}",
        long / short,
        at_most=None if clock else 2.0,
        official=official,
        note=f"{long:.0f} against {short:.0f} ms",
    )


def _row(name: str, times: list[Time], first: list[Time]) -> list[Cell]:
    cells: list[Cell] = [name]
    for which in (0, 1):
        middle = statistics.median(time[which] for time in times)
        cells += [middle, middle / statistics.median(time[which] for time in first)]
    return cells


def _on_sqlite(
    length: int, window: int, batch: int, repeat: int, *, forks: bool
) -> dict[str, list[Time]]:
    with tempfile.TemporaryDirectory(prefix="longthread-bench-") as name:
        places = grow(Path(name), length, batch, window)
        found: dict[str, list[Time]] = {}
        for title, place in places.items():
            if title == "newest" or forks:
                calls = [one_more_call(Path(name), window, place) for _ in range(repeat)]
                found[title] = [(clock[0] * 1_000, used[0] * 1_000) for clock, used, _ in calls]
        return found


def _on_postgres(server: str, length: int, window: int, batch: int, repeat: int) -> list[Time]:
    times: list[Time] = []
    with tempfile.TemporaryDirectory() as name, empty_database(server) as url:
        with open_checkpointer(url) as saver:
            lengthen(graph_of(Path(name), saver, window), length, batch)
        for _ in range(repeat):
            with open_checkpointer(url) as saver:
                graph = graph_of(Path(name), saver, window)
                clock, used = time.perf_counter(), time.process_time()
                graph.invoke({"messages": [HumanMessage("One more?")]}, THREAD)
                clock, used = time.perf_counter() - clock, time.process_time() - used
                times.append((clock * 1_000, used * 1_000))
    return times
