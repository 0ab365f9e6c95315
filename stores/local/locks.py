"""One lock per file, across threads and processes.

Locks are taken in one fixed order, so that two callers never wait for each other, and are not
reentrant: changing a file from inside its own change would lose one of the two.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from filelock import FileLock, Timeout

from ...state.errors import WorkspaceError
from ..paths import shown
from .files import disk_errors

__all__ = ["ThreadLocks", "hold_locks", "lock_timeout_error"]

_POLL_SECONDS = 0.005
_held = threading.local()


@contextlib.contextmanager
def hold_locks(
    folder: str, paths: Iterable[str] | Mapping[str, str], timeout: float
) -> Iterator[None]:
    """Hold the locks of all `paths` for the length of a `with` block, across processes.

    Lock files are named by a hash of what they guard, and are never deleted: deleting one while
    another process waits for it would let two of them in. Each acquisition uses a lock object of
    its own, so that threads exclude each other as processes do.

    Args:
        folder: The folder of the lock files, created when missing.
        paths: What is guarded: real absolute paths, or any names with what an error calls them.
            Spellings that a case-insensitive or normalising file system takes for the same file
            share a lock.
        timeout: Seconds to wait for each lock.

    Raises:
        WorkspaceError: A lock is held by this very thread, is not free in time, or cannot be
            created.
    """
    named = paths if isinstance(paths, Mapping) else {path: path for path in paths}
    files = {os.path.join(folder, _lock_name(name)): path for name, path in named.items()}
    with _not_twice(files), contextlib.ExitStack() as stack:
        for file in sorted(files):
            stack.enter_context(_file_lock(file, files[file], timeout))
        yield


class ThreadLocks:
    """Named locks between the threads of one process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._users: dict[str, int] = {}

    @contextlib.contextmanager
    def hold(self, names: Mapping[str, str], timeout: float) -> Iterator[None]:
        """Hold some locks for the length of a `with` block.

        Args:
            names: What is guarded, with what an error calls it.
            timeout: Seconds to wait for each lock.

        Raises:
            WorkspaceError: A lock is held by this very thread, or is not free in time.
        """
        mine = {f"{id(self)}:{name}": path for name, path in names.items()}
        with _not_twice(mine), contextlib.ExitStack() as stack:
            for name in sorted(names):
                stack.enter_context(self._one(name, names[name], timeout))
            yield

    @contextlib.contextmanager
    def _one(self, name: str, path: str, timeout: float) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
            self._users[name] = self._users.get(name, 0) + 1
        try:
            if not lock.acquire(timeout=timeout):
                raise lock_timeout_error(path, timeout)
            try:
                yield
            finally:
                lock.release()
        finally:
            with self._guard:
                self._users[name] -= 1
                if not self._users[name]:
                    del self._users[name], self._locks[name]


def lock_timeout_error(path: str, timeout: float) -> WorkspaceError:
    """Return the error for a lock that was not free in time."""
    return WorkspaceError(
        f"cannot change {shown(path)}: another process or thread has held its lock for more"
        f" than {timeout:g} seconds; end it, or raise lock_timeout"
    )


@contextlib.contextmanager
def _not_twice(locks: Mapping[str, str]) -> Iterator[None]:
    """Refuse locks that this very thread holds already: it would wait for itself."""
    mine: set[str] = _held.__dict__.setdefault("locks", set())
    for lock, path in locks.items():
        if lock in mine:
            raise WorkspaceError(
                f"cannot change {shown(path)} while this same call is changing it; return the new"
                " text from the transform instead of writing it there"
            )
    mine.update(locks)
    try:
        yield
    finally:
        mine.difference_update(locks)


@contextlib.contextmanager
def _file_lock(file: str, path: str, timeout: float) -> Iterator[None]:
    with disk_errors("lock", path):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        lock = FileLock(file)
        try:
            lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS)
        except Timeout as error:
            raise lock_timeout_error(path, timeout) from error
    try:
        yield
    finally:
        lock.release()


def _lock_name(path: str) -> str:
    same = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
    return hashlib.sha256(same.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".lock"
