"""`thread_search` over many threads, the look for what is new included."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from longthread import LocalWorkspace, ThreadJournal

from ..thread_search import (
    OWNER,
    Texts,
    Timing,
    checkpointer,
    queries,
    search_for_news,
    write_threads,
)
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


def run(options: Options) -> Result:
    """Write threads, index and search them; a million messages with `--full`."""
    threads, messages = options.size(2, 40, 1_000), options.size(4, 250, 1_000)
    number = options.size(2, 20, 40)
    result = Result("thread-search", "Thread search")
    found: dict[str, Timing] = {}
    with tempfile.TemporaryDirectory(prefix="longthread-bench-") as name:
        folder = Path(name)
        workspace = LocalWorkspace(folder / "workspace")
        with checkpointer(folder, None) as saver:
            texts = Texts(seed=7)
            sample = write_threads(saver, workspace, texts, [messages] * threads)
            journal = ThreadJournal(saver, workspace)
            began = time.perf_counter()
            journal.search("nothing like this")
            took = time.perf_counter() - began
            for kind, asked in queries(texts, sample, number).items():
                found[kind] = Timing()
                for query, mode in asked:
                    found[kind].search(journal, query, mode)
            found["phrase, said just now"] = search_for_news(journal, saver, number)
        index = Path(getattr(workspace.scoped(OWNER), "search_index", ""))
        size = index.stat().st_size / 1e6 if index.is_file() else 0.0
    clock = [took for timing in found.values() for took in timing.clock]
    processor = [took for timing in found.values() for took in timing.processor]
    total = threads * messages
    result.figures.append(
        Figure(
            f"thread_search over {total:,} messages, p95",
            _p95(clock),
            "ms",
            at_most=100,
            official=options.full,
            note=f"of the processor {_p95(processor):.0f} ms",
        )
    )
    rows: list[list[Cell]] = [
        [
            kind,
            len(timing.clock),
            statistics.median(timing.clock),
            _p95(timing.clock),
            max(timing.clock),
            _p95(timing.processor),
            timing.hits / len(timing.clock),
        ]
        for kind, timing in found.items()
    ]
    columns = ["queries", "number", "p50", "p95", "max", "processor p95", "hits"]
    title = f"Milliseconds, {total:,} messages in {threads:,} threads on SQLite"
    result.tables.append(Table(title, columns, rows))
    result.notes.append(
        f"Indexing: {took:.1f} s, {took / total * 1_000:.2f} ms a message; {size:,.1f} MB."
    )
    return result


def _p95(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]
