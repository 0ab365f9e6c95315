"""One lock per file, across threads and processes.

Lock files live in one hidden folder of the root, named by a hash of what they guard, and are never
deleted: deleting one while another process waits for it would let two of them in.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import unicodedata
from collections.abc import Iterable, Iterator

from filelock import FileLock, Timeout

from ..state.errors import WorkspaceError
from .files import disk_errors
from .paths import shown

__all__ = ["hold_locks"]

_POLL_SECONDS = 0.005
_held = threading.local()


@contextlib.contextmanager
def hold_locks(folder: str, paths: Iterable[str], timeout: float) -> Iterator[None]:
    """Hold the locks of all `paths` for the length of a `with` block.

    Each acquisition uses a lock object of its own, so that threads exclude each other as processes
    do. Locks are taken in one fixed order, so that two callers never wait for each other. The lock
    is not reentrant: changing a file from inside its own change would lose one of the two.

    Args:
        folder: The folder of the lock files, created when missing.
        paths: What is guarded: real absolute paths. Spellings that a case-insensitive or
            normalising file system takes for the same file share a lock.
        timeout: Seconds to wait for each lock.

    Raises:
        WorkspaceError: A lock is held by this very thread, is not free in time, or cannot be
            created.
    """
    files = {os.path.join(folder, _lock_name(path)): path for path in paths}
    mine: set[str] = _held.__dict__.setdefault("files", set())
    for file, path in files.items():
        if file in mine:
            raise WorkspaceError(
                f"cannot change {shown(path)} while this same call is changing it; return the new"
                " text from the transform instead of writing it there"
            )
    with contextlib.ExitStack() as stack:
        for file in sorted(files):
            stack.enter_context(_one_lock(file, files[file], timeout))
            mine.add(file)
            stack.callback(mine.discard, file)
        yield


@contextlib.contextmanager
def _one_lock(file: str, path: str, timeout: float) -> Iterator[None]:
    with disk_errors("lock", path):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        lock = FileLock(file)
        try:
            lock.acquire(timeout=timeout, poll_interval=_POLL_SECONDS)
        except Timeout as error:
            raise WorkspaceError(
                f"cannot change {shown(path)}: another process or thread has held its lock for more"
                f" than {timeout:g} seconds; end it, or raise lock_timeout"
            ) from error
    try:
        yield
    finally:
        lock.release()


def _lock_name(path: str) -> str:
    same = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", path).casefold())
    return hashlib.sha256(same.encode("utf-8", "surrogatepass")).hexdigest()[:32] + ".lock"
