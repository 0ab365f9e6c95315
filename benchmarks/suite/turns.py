"""Time of one more call by length of the thread, on SQLite and PostgreSQL."""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
from pathlib import Path

from langchain_core.messages import HumanMessage

from longthread import open_checkpointer

from ..opening import THREAD, graph_of, grow, lengthen, one_more_call
from ..postgres import empty_database, server_of_its_own
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


def run(options: Options) -> Result:
    """Time calls on a short and a long thread; 5,000 and 50,000 messages with `--full`."""
    window = options.size(10, 500, 5_000)
    lengths = (window, options.size(20, 10 * window, 10 * window))
    batch, repeat = options.size(4, 100, 200), options.size(1, 5, 7)
    logging.getLogger("longthread").setLevel(logging.ERROR)
    times = {"SQLite": [_on_sqlite(length, window, batch, repeat) for length in lengths]}
    if not options.tiny:
        with server_of_its_own() as server:
            if server is not None:
                times["PostgreSQL"] = [
                    _on_postgres(server, length, window, batch, repeat) for length in lengths
                ]
    result = Result("turns", "One more call by length of the thread")
    rows: list[list[Cell]] = []
    for name, by_length in times.items():
        short, long = map(statistics.median, by_length)
        result.figures.append(
            Figure(
                f"one more call at {lengths[1]:,} messages against {lengths[0]:,}, {name}",
                long / short,
                at_most=2.0,
                official=options.full,
                note=f"{long:.0f} against {short:.0f} ms",
            )
        )
        for length, took in zip(lengths, by_length, strict=True):
            middle = statistics.median(took)
            rows.append([f"{name}, {length:,}", middle, min(took), max(took), middle / short])
    columns = ["messages", "ms, median", "fastest", "slowest", "ratio"]
    result.tables.append(Table("One question and its answer, by the clock", columns, rows))
    result.notes = [
        f"Threads of real calls that bring {batch} messages each, memory off, "
        f"journal_window={window:,}: what lies further back is sealed.",
        "SQLite: each call on a fresh copy of the file, opened for it. PostgreSQL: one call after "
        "the other, by a graph and a connection of its own.",
    ]
    return result


def _on_sqlite(length: int, window: int, batch: int, repeat: int) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="longthread-bench-") as name:
        grow(Path(name), length, batch, window)
        return [one_more_call(Path(name), window)[0][0] * 1_000 for _ in range(repeat)]


def _on_postgres(server: str, length: int, window: int, batch: int, repeat: int) -> list[float]:
    times: list[float] = []
    with tempfile.TemporaryDirectory() as name, empty_database(server) as url:
        with open_checkpointer(url) as saver:
            lengthen(graph_of(Path(name), saver, window), length, batch)
        for _ in range(repeat):
            with open_checkpointer(url) as saver:
                graph = graph_of(Path(name), saver, window)
                started = time.perf_counter()
                graph.invoke({"messages": [HumanMessage("One more?")]}, THREAD)
                times.append((time.perf_counter() - started) * 1_000)
    return times
