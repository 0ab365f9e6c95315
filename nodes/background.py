"""Work that goes on after the answer: one worker thread for the process.

Jobs run one after the other, each in an empty context: no callback, stream writer or tracing parent
of the call that left them reaches them, so that nothing of theirs appears in a user's stream. A
thread of its own, and no asyncio task or executor: tasks are cancelled when their loop ends, and an
executor keeps the process from exiting.

What is lost when the process dies is only the attempt: jobs are written so that the next call makes
up for them.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import logging
import multiprocessing
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from time import monotonic
from typing import Protocol

__all__ = ["BackgroundJob", "BackgroundWorker", "adrain", "drain", "drop", "submit"]

log = logging.getLogger("longthread")

EXIT_TIMEOUT = 20.0
"""Seconds that the exit of the process waits for work that is still to be done."""
STUCK = 1_800.0
"""Seconds after which a job is given up when others wait: it hangs on something that is gone, such
as the event loop of an asynchronous store."""


class BackgroundJob(Protocol):
    """Something to be done once, in the background."""

    def __call__(self) -> None:
        """Do it."""
        ...

    def covers(self, earlier: BackgroundJob, /) -> bool:
        """Whether doing this makes an earlier job of the same key, not yet begun, unnecessary."""
        ...


class BackgroundWorker:
    """A queue of jobs and the daemon thread that does them.

    The thread is started with the first job. A child process that is forked off begins with an
    empty queue: what its parent has left to do, its parent does.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._changed = threading.Condition()
        self._pending: OrderedDict[Hashable, list[BackgroundJob]] = OrderedDict()
        self._running: tuple[Hashable, BackgroundJob] | None = None
        self._began = 0.0
        self._thread: threading.Thread | None = None
        self._waiting: list[Callable[[], None]] = []

    def submit(self, key: Hashable, job: BackgroundJob) -> None:
        """Leave a job. Jobs of one key keep their order; the newest replaces those it covers."""
        with self._changed:
            jobs = self._pending.setdefault(key, [])
            jobs[:] = [earlier for earlier in jobs if not job.covers(earlier)]
            jobs.append(job)
            if self._running is not None and monotonic() - self._began > STUCK:
                log.error("work in the background hangs since %g seconds: it is given up", STUCK)
                self._running = self._thread = None
            try:
                self._start()
            except RuntimeError:  # the process is about to end, or has all the threads it may have
                jobs.remove(job)
                if not jobs:
                    del self._pending[key]
                raise
            self._changed.notify_all()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._work, name="longthread-background", daemon=True)
            thread.start()  # it waits for the lock, so that it sees itself as the one that works
            self._thread = thread

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do.

        Args:
            timeout: Seconds to wait at most; None: as long as it takes.

        Returns:
            Whether everything is done. From inside a job: False at once.
        """
        if threading.current_thread() is self._thread:
            return False
        ends = None if timeout is None else monotonic() + timeout
        with self._changed:
            while self._busy:
                left = None if ends is None else ends - monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def drop(self, doomed: Callable[[Hashable, BackgroundJob], bool], timeout: float) -> bool:
        """Take back jobs that are not begun, and wait for the one that is.

        Args:
            doomed: Given the key of a job and the job, whether it is to go.
            timeout: Seconds to wait at most for one that is being done.

        Returns:
            Whether none of them is being done any more. From inside a job: False if it is this one.
        """
        ends = monotonic() + timeout
        with self._changed:
            for key, jobs in list(self._pending.items()):
                jobs[:] = [job for job in jobs if not doomed(key, job)]
                if not jobs:
                    del self._pending[key]
            idle = [] if self._busy else self._waiting[:]
            if idle:
                self._waiting.clear()
            self._changed.notify_all()
        _call(idle)
        with self._changed:
            while self._running is not None and doomed(*self._running):
                left = ends - monotonic()
                if left <= 0 or threading.current_thread() is self._thread:
                    return False
                self._changed.wait(left)
        return True

    def when_idle(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on the worker's thread, when nothing is left to do; at once if that is now.

        Returns:
            What takes the callback back.
        """
        with self._changed:
            if self._busy:
                self._waiting.append(callback)
                return lambda: self._forget_callback(callback)
        callback()
        return lambda: None

    @property
    def pending(self) -> int:
        """Jobs that are not done, the running one included."""
        with self._changed:
            return sum(map(len, self._pending.values())) + (self._running is not None)

    @property
    def _busy(self) -> bool:
        return bool(self._pending) or self._running is not None

    def _forget_callback(self, callback: Callable[[], None]) -> None:
        with self._changed, contextlib.suppress(ValueError):
            self._waiting.remove(callback)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._pending:
                    self._changed.wait()
                if self._thread is not threading.current_thread():
                    return  # it was given up, and another one works
                key, jobs = next(iter(self._pending.items()))
                job = jobs.pop(0)
                if not jobs:
                    del self._pending[key]
                self._running, self._began = (key, job), monotonic()
            try:
                contextvars.Context().run(job)
            except BaseException:  # whatever a job does, the next one has its turn
                log.exception("work in the background failed")
            del job, jobs  # what they hold is not kept until the next one comes
            with self._changed:
                if self._thread is not threading.current_thread():
                    return
                self._running = None
                idle = [] if self._pending else self._waiting[:]
                if idle:
                    self._waiting.clear()
                self._changed.notify_all()
            _call(idle)


def _call(callbacks: Iterable[Callable[[], None]]) -> None:
    for callback in callbacks:
        with contextlib.suppress(RuntimeError):  # its event loop is closed
            callback()


_worker = BackgroundWorker()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_worker._forget)


def submit(key: Hashable, job: BackgroundJob) -> None:
    """Leave a job with the worker of this process."""
    if _worker._thread is None and multiprocessing.parent_process() is not None:
        # A child made by multiprocessing leaves without the exit handlers of the interpreter.
        from multiprocessing.util import Finalize

        Finalize(None, _at_exit, exitpriority=100)
    _worker.submit(key, job)


def drop(doomed: Callable[[Hashable, BackgroundJob], bool], timeout: float = 60.0) -> bool:
    """Take back jobs of the worker of this process; see `BackgroundWorker.drop`."""
    return _worker.drop(doomed, timeout)


def drain(timeout: float | None = 30.0) -> bool:
    """Wait for the work in the background: facts not yet in the ledger, memory not yet merged.

    Call it before you read the files, close a store that holds them, or end the process in a way
    that Python does not notice. A normal exit waits by itself, up to 20 seconds. What is not done
    by then is made up for after the next call of the thread.

    Args:
        timeout: Seconds to wait at most; None: as long as it takes.

    Returns:
        Whether everything is done.
    """
    return _worker.drain(timeout)


async def adrain(timeout: float | None = 30.0) -> bool:
    """Do what `drain` does, asynchronously."""
    if not _worker.pending:
        return True
    loop = asyncio.get_running_loop()
    idle = loop.create_future()

    def settle() -> None:
        if not idle.done():
            idle.set_result(None)

    take_back = _worker.when_idle(lambda: loop.call_soon_threadsafe(settle))  # type: ignore[arg-type]
    try:
        await asyncio.wait_for(idle, timeout)
    except TimeoutError:
        return False
    finally:
        take_back()
    return True


def _at_exit() -> None:
    if not _worker.drain(EXIT_TIMEOUT):
        log.warning(
            "%d pieces of memory work were not done in %g seconds: the next call of their threads "
            "makes up for them",
            _worker.pending,
            EXIT_TIMEOUT,
        )


atexit.register(_at_exit)
