"""Bytes on disk by what was said, on SQLite and PostgreSQL."""

from __future__ import annotations

from contextlib import nullcontext

from ..checkpoint_bytes import TEXT, Size, in_postgres, in_sqlite, ways
from ..postgres import empty_database, server_of_its_own
from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]


def run(options: Options) -> Result:
    """Store one thread of calls and one of tool results in every way; 500 calls with `--full`."""
    calls, rounds = options.size(2, 30, 500), options.size(1, 10, 300)
    threads = {
        f"{calls} calls of {2 * TEXT:,} characters": {"calls": calls, "rounds": 0},
        f"{rounds} rounds of 8,000 characters": {"calls": 1, "rounds": rounds},
    }
    result = Result("checkpoints", "Bytes on disk")
    with nullcontext() if options.tiny else server_of_its_own() as server:
        for title, thread in threads.items():
            sizes = {name: in_sqlite(opened, **thread) for name, opened in ways().items()}
            if thread["calls"] > 1:
                result.figures += _figures(sizes, calls, official=options.full)
            for compress in (False, True) if server else ():
                with empty_database(str(server)) as url:
                    name = f"PostgreSQL, compress={compress}"
                    sizes[name] = in_postgres(url, compress, **thread)
            rows: list[list[Cell]] = [
                [name, size.stored / 1e6, size.raw / 1e6, size.stored / max(1, size.raw)]
                for name, size in sizes.items()
            ]
            result.tables.append(Table(title, ["", "MB", "MB said", "ratio"], rows))
    result.notes.append(
        "Everything on, with an 8 KB MEMORY.md and summaries; the search index apart. SQLite: the "
        "closed file. PostgreSQL: tables and indexes after a VACUUM."
    )
    if server is None:
        result.notes.append('PostgreSQL was not measured: pip install -e ".[test]".')
    return result


def _figures(sizes: dict[str, Size], calls: int, *, official: bool) -> list[Figure]:
    return [
        Figure(
            f"{name}, {calls} calls of {2 * TEXT:,} characters",
            size.stored / 1e6,
            "MB",
            at_most=8 * calls / 500,
            official=official,
            note=f"{size.stored / size.raw:.1f} × what was said",
        )
        for name, size in sizes.items()
        if name in ("SqliteSaver", "open_checkpointer")
    ]
