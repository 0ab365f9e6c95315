"""Who works on a thread: one call at a time, whichever process it is in.

Two calls that begin at the same checkpoint would store what they were told in the same place, and
one of the two would be lost. So a call takes a lease on its thread, where the thread is kept: in
PostgreSQL an advisory lock, beside a SQLite file a locked file, elsewhere a note in this process.
Whoever dies lets go: the server, or the operating system, takes the lease back.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...state.errors import LongthreadError
from ..advisory_locks import AdvisoryLocks
from ..effects import Effect, Steps
from ..journal.scripts import Script, dialect_of, run_script

__all__ = [
    "Lease",
    "awaited_lease",
    "forget_leases",
    "forget_thread_lease",
    "is_leased",
    "is_worked_on",
    "lease_on",
    "released",
]

GRACE = 1.0
"""Seconds to wait for a thread that is being worked on: an ended call may not have let go yet."""

_GLANCE = 0.2
"""Seconds to look: others that only look hold a lease for less."""

_POLL = 0.02

Lease = Callable[[], None]
"""Lets go of a thread; from any thread of the process."""


class _Leases(Protocol):
    """The leases on the threads of one checkpointer."""

    def take(self, thread: str) -> Lease | None:
        """Take the lease on a thread; None: somebody else has it."""
        ...


def lease_on(
    saver: BaseCheckpointSaver[Any], thread: str, *, grace: float | None = None
) -> Steps[Lease]:
    """Take the lease on a thread.

    Args:
        saver: The checkpointer that holds the thread.
        thread: The thread's id.
        grace: Seconds to wait for it; None: `GRACE`.

    Raises:
        LongthreadError: Somebody else is working on it (code `SESSION_BUSY`).
    """

    def noted(lease: Lease) -> Lease:
        return _noted(lease, id(saver), thread)

    return (yield from awaited_lease(saver, thread, grace, lambda: None, noted))


def awaited_lease(
    saver: BaseCheckpointSaver[Any],
    thread: str,
    grace: float | None,
    joined: Callable[[], Lease | None],
    noted: Callable[[Lease], Lease],
) -> Steps[Lease]:
    """Join a lease that is held already, or take the one on a thread, as soon as either can be.

    Args:
        saver: The checkpointer that holds the thread.
        thread: The thread's id.
        grace: Seconds to wait; None: `GRACE`.
        joined: Returns a share in what is held already; None: nothing to share.
        noted: Returns how a lease that was just taken is let go of.

    Raises:
        LongthreadError: Somebody else is working on it (code `SESSION_BUSY`).
    """
    leases = yield from _leases_of(saver)
    ends = time.monotonic() + (GRACE if grace is None else grace)
    while True:
        shared = joined()
        if shared is not None:
            return shared
        lease: Lease | None = yield _taken(leases, thread)
        if lease is not None:
            return noted(lease)
        if time.monotonic() > ends:
            raise LongthreadError(
                f"thread {thread!r} is being worked on: another call of it goes on, or its stream "
                "has not been read to the end or closed; try again when it has ended",
                code="SESSION_BUSY",
            )
        yield Effect(run=lambda: time.sleep(_POLL), arun=lambda: asyncio.sleep(_POLL))


def is_worked_on(saver: BaseCheckpointSaver[Any], thread: str) -> Steps[bool]:
    """Whether somebody works on a thread, and does not just look at it or let go of it."""
    try:
        lease = yield from lease_on(saver, thread, grace=_GLANCE)
    except LongthreadError as error:
        if error.code != "SESSION_BUSY":
            raise
        return True
    yield released(lease)
    return False


def is_leased(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    """Whether somebody who uses this very checkpointer object has the lease on a thread."""
    return (id(saver), thread) in _here


def forget_thread_lease(saver: BaseCheckpointSaver[Any], thread: str) -> None:
    """Remove what leases on a thread have left, once it is erased and let go of."""
    leases = _known.get(saver)
    if isinstance(leases, _FileLeases):
        leases.file(thread).unlink(missing_ok=True)


def forget_leases(saver: BaseCheckpointSaver[Any]) -> None:
    """Close what is kept open for a checkpointer that is being closed."""
    leases = _known.pop(saver, None)
    if isinstance(leases, _AdvisoryLeases):
        leases.locks.close()


def released(lease: Lease) -> Effect:
    """An effect: let go of a thread, even when the call is being cancelled."""
    return Effect(run=lease, arun=lambda: asyncio.shield(asyncio.to_thread(lease)))


def _taken(leases: _Leases, thread: str) -> Effect:
    """An effect: take a lease, and let go of it again if the call has been cancelled meanwhile."""

    async def arun() -> Lease | None:
        attempt = _Attempt(leases, thread)
        try:
            return await asyncio.to_thread(attempt)
        except asyncio.CancelledError:
            attempt.give_up()
            raise

    return Effect(run=lambda: leases.take(thread), arun=arun)


class _Attempt:
    """An attempt in a thread, which goes on when nobody waits for it any more."""

    def __init__(self, leases: _Leases, thread: str) -> None:
        self._leases, self._thread = leases, thread
        self._guard = threading.Lock()
        self._lease: Lease | None = None
        self._given_up = False

    def __call__(self) -> Lease | None:
        lease = self._leases.take(self._thread)
        with self._guard:
            self._lease = lease
            if not self._given_up:
                return lease
        if lease is not None:
            lease()
        return None

    def give_up(self) -> None:
        with self._guard:
            self._given_up = True
            lease = self._lease
        if lease is not None:
            lease()


_here: set[tuple[int, str]] = set()


def _noted(lease: Lease, saver: int, thread: str) -> Lease:
    """Note who has a lease for as long as it is held."""
    _here.add((saver, thread))

    def let_go() -> None:
        _here.discard((saver, thread))
        lease()

    return let_go


_known: weakref.WeakKeyDictionary[BaseCheckpointSaver[Any], _Leases] = weakref.WeakKeyDictionary()


def _leases_of(saver: BaseCheckpointSaver[Any]) -> Steps[_Leases]:
    leases = _known.get(saver)
    if leases is None:
        leases = _known.setdefault(saver, (yield from _new_leases(saver)))
    return leases


def _new_leases(saver: BaseCheckpointSaver[Any]) -> Steps[_Leases]:
    dialect = dialect_of(saver)
    if dialect == "sqlite":
        file: str = yield run_script(saver, _file)
        if file:
            return _FileLeases(file)
    if dialect == "postgres":
        locks = AdvisoryLocks.of(saver)
        if locks is not None:
            weakref.finalize(saver, locks.close)
            return _AdvisoryLeases(locks)
    return _NotedLeases()


def _file() -> Script[str]:
    """Return the file of the database, or "" if it has none."""
    rows = yield ("PRAGMA database_list", ())
    return next((str(file or "") for _, name, file in rows if name == "main"), "")


class _NotedLeases:
    """Leases within this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken: set[str] = set()

    def take(self, thread: str) -> Lease | None:
        with self._guard:
            if thread in self._taken:
                return None
            self._taken.add(thread)
        return lambda: self._taken.discard(thread)


class _FileLeases:
    """Leases as locked files in a folder beside the database: one empty file for each thread."""

    def __init__(self, database: str) -> None:
        self._folder = Path(f"{os.path.realpath(database)}-leases")

    def file(self, thread: str) -> Path:
        name = hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / name

    def take(self, thread: str) -> Lease | None:
        self._folder.mkdir(exist_ok=True)
        lock = FileLock(self.file(thread), thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return lock.release


class _AdvisoryLeases:
    """Leases as advisory locks in the database, each on a connection of its own."""

    def __init__(self, locks: AdvisoryLocks) -> None:
        self.locks = locks

    def take(self, thread: str) -> Lease | None:
        return self.locks.attempt(f"longthread call on {thread}")
