"""What a flush and a consolidation take beside the model, and how many a second that is."""

from __future__ import annotations

import statistics
import tempfile

from longthread import LocalWorkspace

from ..memory_writing import consolidation_times, flush_times, redaction_times
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


def run(options: Options) -> Result:
    """Make calls on one thread, then consolidate into a file of many entries."""
    calls, entries = options.size(4, 100, 500), options.size(5, 300, 300)
    runs = max(2, calls // 10)
    with tempfile.TemporaryDirectory() as folder:
        workspace = LocalWorkspace(folder)
        left, once = "flush, left to the background", "flush, at once"
        merge = f"consolidation into {entries} entries"
        times = {
            left: flush_times(workspace, calls, background=True),
            once: flush_times(workspace, calls, background=False),
            merge: consolidation_times(workspace, entries, runs),
            "redaction of 100 KB": redaction_times(100, runs),
        }
    result = Result("memory-writing", "Writing memory, model time apart")
    rows: list[list[Cell]] = [
        [
            name,
            len(taken),
            statistics.median(taken),
            statistics.quantiles(taken, n=20)[-1],
            len(taken) / sum(taken) * 1_000,
        ]
        for name, taken in times.items()
    ]
    columns = ["", "runs", "median ms", "p95 ms", "a second"]
    result.tables.append(Table("By the clock", columns, rows))
    # The specification sets no target here: the figures are for comparison with later runs.
    for name in (left, once, merge):
        result.figures.append(
            Figure(name, statistics.median(times[name]), "ms", official=not options.tiny)
        )
    result.notes.append("The model answers at once. Flushes include reading, appending and fsync.")
    return result
