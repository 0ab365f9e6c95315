"""Checkpoints in a PostgreSQL database. Its packages are those of the extra `[postgres]`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from ...state.errors import CheckpointerError, ConfigurationError
from .leases import forget_leases
from .serialiser import CompactSerialiser

if TYPE_CHECKING:
    import psycopg

    from .compact_postgres import AsyncCompactPostgresSaver, CompactPostgresSaver

__all__ = ["aopen_postgres", "open_postgres"]

_CONNECT_SECONDS = 10
_SETUP_SECONDS = 60.0
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(30519908370379890) AS mine"


@contextmanager
def open_postgres(
    url: str, serialiser: CompactSerialiser, *, shown: str, create: bool
) -> Iterator[CompactPostgresSaver]:
    """Open a database for synchronous use.

    Args:
        url: Where it is, as libpq understands it.
        serialiser: How values are written.
        shown: The URL as errors may show it, without its password.
        create: Whether the tables are made or brought up to date.

    Raises:
        CheckpointerError: The server cannot be reached or refuses, or there are no tables.
    """
    _check_packages()
    from psycopg_pool import ConnectionPool

    from .compact_postgres import CompactPostgresSaver

    _prepare(url, shown, create)
    with ConnectionPool(url, check=ConnectionPool.check_connection, **_pool()) as pool:
        saver = CompactPostgresSaver(pool, serde=serialiser)
        try:
            yield saver
        finally:
            forget_leases(saver)


@asynccontextmanager
async def aopen_postgres(
    url: str, serialiser: CompactSerialiser, *, shown: str, create: bool
) -> AsyncIterator[AsyncCompactPostgresSaver]:
    """Do what `open_postgres` does, for asynchronous use."""
    _check_packages()
    from psycopg_pool import AsyncConnectionPool

    from .compact_postgres import AsyncCompactPostgresSaver

    await asyncio.to_thread(_prepare, url, shown, create)
    check = AsyncConnectionPool.check_connection
    async with AsyncConnectionPool(url, check=check, **_pool()) as pool:
        saver = AsyncCompactPostgresSaver(pool, serde=serialiser)
        try:
            yield saver
        finally:
            forget_leases(saver)


def _check_packages() -> None:
    try:
        import langgraph.checkpoint.postgres  # noqa: F401
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "checkpointer postgresql://…: the packages for PostgreSQL are not installed "
            f"({error}); run pip install 'longthread[postgres]'"
        ) from error


def _pool() -> dict[str, Any]:
    """Return the options of a pool: one connection, and another should that one break."""
    from psycopg.rows import dict_row

    connection = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    return {"min_size": 1, "max_size": 2, "kwargs": connection, "open": False}


def _prepare(url: str, shown: str, create: bool) -> None:
    """Make the tables, and find out now what would fail later, with the server's own reason."""
    import psycopg
    from psycopg.rows import dict_row

    try:
        with psycopg.connect(
            url, autocommit=True, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS
        ) as connection:
            if _up_to_date(connection):
                return
            if not create:
                raise CheckpointerError(
                    f"checkpointer {shown}: the database holds no checkpoints, or older ones whose "
                    "tables have not been brought up to date; open it for writing once"
                )
            _set_up(url, connection)
    except psycopg.Error as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise CheckpointerError(
            f"checkpointer {shown} cannot be used: {reason}; start the server, or correct the URL"
        ) from error


def _up_to_date(connection: psycopg.Connection[Any]) -> bool:
    """Whether all tables are there: whoever may not create any can then still use them."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    newest = len(PostgresSaver.MIGRATIONS) - 1
    try:
        row = connection.execute("SELECT max(v) AS v FROM checkpoint_migrations").fetchone()
    except psycopg.errors.UndefinedTable:
        return False
    return row is not None and row["v"] is not None and row["v"] >= newest


def _set_up(url: str, connection: psycopg.Connection[Any]) -> None:
    """Make the tables, one process at a time: two that begin together would both fail.

    The lock is tried again and again rather than waited for: building an index waits for everybody
    who is in the middle of a statement, also for whoever waits for this lock.
    """
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    deadline = time.monotonic() + _SETUP_SECONDS
    with psycopg.connect(url, row_factory=dict_row, connect_timeout=_CONNECT_SECONDS) as guard:
        while True:
            # Without parameters: a statement with some keeps its snapshot until the next one, and
            # that too would be waited for.
            row = guard.execute(_TRY_LOCK).fetchone()
            if row is not None and row["mine"]:
                break
            guard.rollback()
            if time.monotonic() > deadline:
                raise psycopg.errors.LockNotAvailable(
                    f"another process has been setting up the tables for {_SETUP_SECONDS:g} seconds"
                )
            time.sleep(0.05)
        if not _up_to_date(connection):
            PostgresSaver(connection).setup()
