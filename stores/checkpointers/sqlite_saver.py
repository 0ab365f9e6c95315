"""Checkpoints in a SQLite file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from types import TracebackType

import aiosqlite
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from ...state.errors import CheckpointerError
from .threaded import AsyncInThreads

__all__ = ["MEMORY", "AsyncSqliteFileSaver", "SqliteFileSaver", "aopen_sqlite", "open_sqlite"]

MEMORY = ":memory:"
"""Instead of a path: a database that lives as long as its connection."""

_LOCK_SECONDS = 30.0


def _next_version(current: str | None) -> str:
    """Return a channel's next version: LangGraph's, without the random digits behind it.

    Those tell the branches of a thread apart where values are stored by version. In SQLite values
    stand in their checkpoints, and a third of every checkpoint was such digits.
    """
    number = 0 if current is None else int(str(current).partition(".")[0])
    return f"{number + 1:032}"


class SqliteFileSaver(AsyncInThreads, SqliteSaver):
    """LangGraph's saver, whose failed writes leave nothing behind, with shorter versions."""

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[sqlite3.Cursor]:
        """Give a cursor; what fails in the block is rolled back.

        LangGraph's commits all the same: on a full disk, half of what a task had written would
        stand for all of it.
        """
        with super().cursor(transaction) as cursor:
            try:
                yield cursor
            except BaseException:
                self.conn.rollback()
                raise

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return the next version of a channel."""
        return _next_version(current)


class AsyncSqliteFileSaver(AsyncSqliteSaver):
    """LangGraph's asynchronous saver, likewise.

    Args:
        connection: The connection.
        serde: How values are written.
    """

    def __init__(
        self, connection: aiosqlite.Connection, *, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(connection, serde=serde)
        self.lock = _UndoingLock(connection)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return the next version of a channel."""
        return _next_version(current)


class _UndoingLock(asyncio.Lock):
    """The saver's lock: what fails under it is rolled back before anybody else writes.

    What is left open, the next write would commit with its own.
    """

    def __init__(self, connection: aiosqlite.Connection) -> None:
        super().__init__()
        self._connection = connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is not None and self._connection.in_transaction:
                await self._connection.rollback()
        finally:
            await super().__aexit__(kind, error, traceback)


@contextmanager
def open_sqlite(
    path: str, serialiser: SerializerProtocol, *, create: bool
) -> Iterator[SqliteFileSaver]:
    """Open a SQLite file, or `MEMORY`, for synchronous use.

    Args:
        path: The file.
        serialiser: How values are written.
        create: Whether the file, and its folder, are made where they are missing.

    Raises:
        CheckpointerError: The file is missing, cannot be written, or is not a database.
    """
    if path != MEMORY:
        _prepare(path, create)
    with closing(_connect(path)) as connection:
        saver = SqliteFileSaver(connection, serde=serialiser)
        saver.setup()
        yield saver


@asynccontextmanager
async def aopen_sqlite(
    path: str, serialiser: SerializerProtocol, *, create: bool
) -> AsyncIterator[AsyncSqliteFileSaver]:
    """Do what `open_sqlite` does, for asynchronous use."""
    if path != MEMORY:
        await asyncio.to_thread(_prepare, path, create)
    async with aiosqlite.connect(path, timeout=_LOCK_SECONDS) as connection:
        await connection.execute(_SECURE_DELETE)
        saver = AsyncSqliteFileSaver(connection, serde=serialiser)
        await saver.setup()
        yield saver


# What is erased is gone from the file, not only from its tables.
_SECURE_DELETE = "PRAGMA secure_delete=ON"


def _connect(path: str) -> sqlite3.Connection:
    # The saver has a lock of its own around the connection.
    connection = sqlite3.connect(path, check_same_thread=False, timeout=_LOCK_SECONDS)
    connection.execute(_SECURE_DELETE)
    return connection


def _prepare(path: str, create: bool) -> None:
    """Make the file and its tables, and find out now what would fail later."""
    if not create and not os.path.exists(path):
        raise CheckpointerError(
            f"checkpointer {path!r}: there is no such file; name the one that has the threads, on "
            "the command line as in --checkpointer threads.db"
        )
    try:
        if create:
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with closing(_connect(path)) as connection:
            _set_up(connection)
            if create:
                connection.execute("BEGIN IMMEDIATE")
                connection.rollback()
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise CheckpointerError(
            f"checkpointer {path!r} cannot be used: {reason}; name a file in a folder that can be "
            "written to"
        ) from error


def _set_up(connection: sqlite3.Connection) -> None:
    """Make the tables; somebody else may be making them too.

    SQLite does not wait for others while it changes the journal mode.
    """
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            SqliteSaver(connection).setup()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.02)
