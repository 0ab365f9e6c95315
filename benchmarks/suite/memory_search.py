"""`memory_search` over many years of daily ledgers."""

from __future__ import annotations

import random
import statistics
import tempfile
from importlib.util import find_spec

from longthread.stores.local.workspace import LocalWorkspace
from longthread.stores.workspace import Owner

from ..memory_search import percentile, queries, timed, vocabulary, write_ledgers
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


def run(options: Options) -> Result:
    """Write ledgers and search them; 100 MB with `--full`."""
    megabytes, days = options.size(1, 5, 100), options.size(20, 100, 1_000)
    repeat = options.size(1, 5, 20)
    chance = random.Random(7)
    words = vocabulary(chance)
    rows: list[list[Cell]] = []
    every: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="longthread-bench-") as folder:
        files = LocalWorkspace(folder).scoped(Owner(None, "agent"))
        write_ledgers(files, words, chance, megabytes=megabytes, days=days)
        first = timed(files, "nowhere at all", "phrase")[0]
        for kind, make in queries(words, chance, days).items():
            times = [timed(files, *make()) for _ in range(repeat)]
            every += times
            rows.append(_row(kind, times))
    rows.append(_row("all of them", every))
    clock, processor = ([times[at] for times in every] for at in (0, 1))
    library = "with" if find_spec("stringzilla") else "without"
    result = Result("memory-search", "Memory search")
    result.figures.append(
        Figure(
            f"memory_search over {megabytes} MB, p95",
            percentile(clock),
            "ms",
            at_most=150,
            official=options.full,
            note=f"{library} stringzilla; of the processor {percentile(processor):.0f} ms",
        )
    )
    columns = ["query", "median", "p95", "processor: median", "p95"]
    result.tables.append(Table(f"Milliseconds, {megabytes} MB in {days} ledgers", columns, rows))
    result.notes.append(f"The first search reads and folds every file: {first:,.0f} ms.")
    return result


def _row(kind: str, times: list[tuple[float, float]]) -> list[Cell]:
    clock, processor = ([time[at] for time in times] for at in (0, 1))
    cells = [f(values) for values in (clock, processor) for f in (statistics.median, percentile)]
    return [kind, *cells]
