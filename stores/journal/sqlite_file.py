"""The SQLite file of an index: opened, shared by threads and processes, replaced when spoilt."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from .index import IndexUnavailable

__all__ = ["IndexFile", "index_file", "memory_file"]

log = logging.getLogger("longthread")

T = TypeVar("T")

_FORMAT = 1
_BUSY_SECONDS = 60.0
_MOST_OPEN = 64
_MEMORY = ":memory:"

# Texts are looked at in the order of `folded`, newest first; what is shown of a hit is kept apart,
# so that looking stays in few pages.
_SCHEMA = """
CREATE TABLE threads (
    number INTEGER PRIMARY KEY,
    thread_id TEXT NOT NULL,
    checkpoint_ns TEXT NOT NULL,
    checkpoint_id TEXT NOT NULL,
    count INTEGER NOT NULL,
    ours INTEGER NOT NULL,
    sealed INTEGER NOT NULL,
    kept TEXT NOT NULL,
    UNIQUE (thread_id, checkpoint_ns)
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    position INTEGER NOT NULL,
    message_id TEXT NOT NULL,
    role TEXT NOT NULL,
    digest BLOB NOT NULL,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX places ON messages (thread, position);
CREATE TABLE folded (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE VIRTUAL TABLE grams USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (grams, row);
"""


class IndexFile:
    """One index in a file, or in memory.

    A file that is no database, or one of another format, is thrown away: it is derived. Removing
    the file while it is open is fine too: the next use makes a new one.

    Args:
        path: The file, made when it is missing; ":memory:": none.

    Attributes:
        cache: What is known of the file while it is open; to be used in `use` only.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.cache: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int, int] | None = None

    def use(self, work: Callable[[sqlite3.Connection], T], *, write: bool = False) -> T:
        """Do something with the connection in one transaction; once more if the file was spoilt.

        Args:
            work: What to do; it may be done twice.
            write: Whether it changes anything: then it waits for others that do.

        Raises:
            IndexUnavailable: The file cannot be opened or written.
        """
        with self._lock:
            try:
                return self._once(work, write)
            except sqlite3.DatabaseError as error:
                if not _is_spoilt(error):
                    raise self._unavailable(error) from error
                log.warning("the search index %s is spoilt and is built anew: %s", self.path, error)
            try:
                self._discard()
                return self._once(work, write)
            except (sqlite3.Error, OSError) as error:
                raise self._unavailable(error) from error

    def empty_log(self) -> None:
        """Move what the write-ahead log holds into the file itself, and empty the log."""
        with self._lock:
            try:
                self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise self._unavailable(error) from error

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self.cache.clear()

    def _once(self, work: Callable[[sqlite3.Connection], T], write: bool) -> T:
        connection = self._open()
        with _transaction(connection, write):
            return work(connection)

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._identity == self._identity_now():
            return self._connection
        self.close()
        try:
            if self.path != _MEMORY:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
            connection = sqlite3.connect(
                self.path,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error
        try:
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._identity = self._identity_now()
        return connection

    def _identity_now(self) -> tuple[int, int, int] | None:
        """Tell this file from another one under its name, and this process from a fork of it."""
        if self.path == _MEMORY:
            return (0, 0, os.getpid())
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return (status.st_dev, status.st_ino, os.getpid())

    def _discard(self) -> None:
        """Remove the spoilt file, unless somebody else has put a new one in its place."""
        spoilt = self._identity
        self.close()
        if self.path != _MEMORY and spoilt in (None, self._identity_now()):
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path + suffix)

    def _unavailable(self, error: Exception) -> IndexUnavailable:
        return IndexUnavailable(
            f"the search index {self.path!r} cannot be used: {error}; free the disk, or remove the "
            "file: it is built again"
        )


def index_file(path: str) -> IndexFile:
    """Return the index in a file: the same object for everybody in this process."""
    return _pooled(path, path)


def memory_file(workspace: object, owner: Hashable) -> IndexFile:
    """Return an index in memory, for as long as the process runs and it is used now and then.

    Args:
        workspace: Where the owner's threads are registered.
        owner: Whose threads these are.
    """
    return _pooled((id(workspace), owner), _MEMORY)


def _pooled(key: Hashable, path: str) -> IndexFile:
    with _pool_lock:
        file = _pool.pop(key, None) or IndexFile(path)
        _pool[key] = file
        while len(_pool) > _MOST_OPEN:
            _pool.popitem(last=False)[1].close()
        return file


_pool: OrderedDict[Hashable, IndexFile] = OrderedDict()
_pool_lock = threading.Lock()


@atexit.register
def _close_all() -> None:
    for file in list(_pool.values()):
        file.close()


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection, write: bool) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _prepare(connection: sqlite3.Connection) -> None:
    """Set a connection up, and the tables where they are missing or of another format."""
    for setting in (
        "journal_mode = WAL",
        "synchronous = NORMAL",  # what a power cut takes is indexed again
        "cache_size = -16384",
        "temp_store = MEMORY",
        "secure_delete = ON",  # what is removed is gone from the file
        "mmap_size = 0",  # faster, but a file that is cut short under it kills the process
    ):
        connection.execute(f"PRAGMA {setting}").fetchall()
    if connection.execute("PRAGMA user_version").fetchone() == (_FORMAT,):
        return
    with _transaction(connection, write=True):
        if connection.execute("PRAGMA user_version").fetchone() == (_FORMAT,):
            return  # somebody else was faster
        for name in ("vocabulary", "grams", "threads", "messages", "folded"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in filter(str.strip, _SCHEMA.split(";")):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_FORMAT}")


def _is_spoilt(error: sqlite3.DatabaseError) -> bool:
    """Whether the file holds something else than it should, rather than being out of reach."""
    if not isinstance(error, sqlite3.OperationalError):
        return True  # malformed, or not a database at all
    return any(part in str(error) for part in ("no such", "has no column", "malformed", "vtable"))
