"""Ctrl-C: it ends what waits, and nothing else, however often and whenever it is pressed."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

__all__ = ["Interrupts"]

Result = TypeVar("Result")

_AT_ONCE_SECONDS = 1.0
"""Presses that follow each other faster are one: what is being wound up is not cut off as well."""


class Interrupts:
    """Runs what can be interrupted.

    Python raises KeyboardInterrupt wherever it is, in the middle of an event loop or of the code
    that deals with the last Ctrl-C. As long as this is entered, a Ctrl-C cancels the task that
    runs, or ends a wait; pressed in between, it ends the next of these before it begins.

    Args:
        runner: Runs the asynchronous parts, all in one event loop.
    """

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._task: asyncio.Task[Any] | None = None
        self._waiting = False
        self._pending = False
        self._cancelled: float | None = None
        self._before: Any = None

    def __enter__(self) -> Self:
        # Also where a script has started the process in the background, to ignore Ctrl-C.
        self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGINT, self._before)

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run something asynchronous to its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; it was cancelled.
        """
        if self._pending:
            self._pending = False
            coroutine.close()
            raise KeyboardInterrupt
        self._cancelled = None
        try:
            return self._runner.run(self._held(coroutine))
        except asyncio.CancelledError:
            if self._cancelled is None:
                raise
            raise KeyboardInterrupt from None

    def forget(self) -> None:
        """Heed no more what was pressed when nothing ran."""
        self._pending = False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """In here a Ctrl-C raises KeyboardInterrupt, once."""
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False

    async def _held(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        self._task = asyncio.current_task()
        try:
            return await coroutine
        finally:
            self._task = None

    def _pressed(self, _: int, __: FrameType | None) -> None:
        if self._waiting:
            self._waiting = False
            raise KeyboardInterrupt
        task = self._task
        if task is None:
            self._pending = True
            return
        now = time.monotonic()
        if self._cancelled is None or now - self._cancelled >= _AT_ONCE_SECONDS:
            self._cancelled = now
            task.get_loop().call_soon_threadsafe(task.cancel)
