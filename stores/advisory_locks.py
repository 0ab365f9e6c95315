"""Locks on a PostgreSQL server, for all processes and machines that use its database.

Each set of locks is held by a transaction on a connection of its own, so that the store's
connection, or the last one of its pool, is not taken away from the change that runs under the lock.
A transaction also ends with its connection: whoever dies lets go. (Locks of a session would not:
a connection pooler such as PgBouncer keeps sessions alive.)
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .local.locks import ThreadLocks, lock_timeout_error
from .store_errors import store_errors

if TYPE_CHECKING:
    import psycopg

__all__ = ["AdvisoryLocks"]

_log = logging.getLogger(__name__)
_MOST_IDLE = 2
# What a pool gives to its connections for the store's sake.
_NOT_FOR_US = ("autocommit", "context", "cursor_factory", "prepare_threshold", "row_factory")


class AdvisoryLocks:
    """Named locks in one database.

    Args:
        connect: Opens a connection to the database, in autocommit mode.
    """

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._threads = ThreadLocks()
        self._guard = threading.Lock()
        self._idle: list[psycopg.Connection[Any]] = []
        self._inherited: list[psycopg.Connection[Any]] = []
        self._process = os.getpid()

    @classmethod
    def of(cls, store: Any) -> AdvisoryLocks | None:
        """Return locks in the database of a store, or None when it does not tell where that is."""
        import psycopg
        from psycopg.conninfo import make_conninfo

        known: Any = store.conn
        address: str
        extra: dict[str, Any] = {}
        if isinstance(known, psycopg.Connection | psycopg.AsyncConnection):
            address = make_conninfo(known.info.dsn, password=known.info.password or None)
        else:
            if callable(known.conninfo) or callable(known.kwargs):
                return None
            address = known.conninfo
            given = known.kwargs or {}
            extra = {name: value for name, value in given.items() if name not in _NOT_FOR_US}

        def connect() -> psycopg.Connection[Any]:
            return psycopg.connect(address, autocommit=True, prepare_threshold=None, **extra)

        return cls(connect)

    @contextlib.contextmanager
    def hold(self, names: Mapping[str, str], timeout: float) -> Iterator[None]:
        """Hold some locks for the length of a `with` block.

        Args:
            names: What is guarded, with what an error calls it.
            timeout: Seconds to wait for each lock.

        Raises:
            WorkspaceError: A lock is held by this very thread, is not free in time, or the server
                does not answer.
        """
        with self._threads.hold(names, timeout):
            connection = self._begin(names, timeout)
            try:
                yield
            finally:
                self._end(connection)

    def attempt(self, name: str) -> Callable[[], None] | None:
        """Take a lock if nobody holds it, without waiting.

        Returns:
            What lets it go, from any thread; None: somebody holds it.

        Raises:
            psycopg.Error: The server does not answer.
        """
        # No parameters: a statement with some would keep its snapshot for as long as the lock is
        # held, and the server could clean up nothing that was deleted since.
        command = (
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; "
            f"SELECT pg_try_advisory_xact_lock({_number(name)})"
        ).encode()
        while True:
            connection, fresh = self._take()
            try:
                cursor = connection.execute(command)
                while cursor.nextset():
                    pass
                row = cursor.fetchone()
                break
            except BaseException as error:
                connection.close()
                # The server may have closed it while it was idle.
                if fresh or not _is_gone(error):
                    raise
        if row is not None and row[0]:
            return lambda: self._end(connection)
        self._end(connection)
        return None

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            if self._process == os.getpid():  # a fork's copy would end its parent's session
                connection.close()

    def _begin(self, names: Mapping[str, str], timeout: float) -> psycopg.Connection[Any]:
        import psycopg

        path = next(iter(names.values()), "")
        # One string without parameters: all of it takes one round trip.
        statements = [
            "BEGIN",
            f"SET LOCAL lock_timeout = {max(1, round(timeout * 1_000))}",
            "SET LOCAL idle_in_transaction_session_timeout = 0",
            *(f"SELECT pg_advisory_xact_lock({key})" for key in sorted(map(_number, names))),
        ]
        command = "; ".join(statements).encode()
        with store_errors("lock", path):
            while True:
                connection, fresh = self._take()
                try:
                    connection.execute(command)
                    return connection
                except psycopg.errors.LockNotAvailable as error:
                    self._end(connection)
                    raise lock_timeout_error(path, timeout) from error
                except BaseException as error:
                    connection.close()
                    # The server may have closed it while it was idle.
                    if fresh or not isinstance(error, psycopg.OperationalError):
                        raise

    def _take(self) -> tuple[psycopg.Connection[Any], bool]:
        with self._guard:
            if self._process != os.getpid():
                self._inherited, self._idle = self._idle, []
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop(), False
        return self._connect(), True

    def _end(self, connection: psycopg.Connection[Any]) -> None:
        import psycopg

        try:
            connection.execute(b"ROLLBACK")
        except psycopg.Error as error:
            _log.warning("The connection that held a lock in PostgreSQL was lost: %s", error)
            connection.close()
            return
        with self._guard:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()


def _is_gone(error: BaseException) -> bool:
    import psycopg

    return isinstance(error, psycopg.OperationalError)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
