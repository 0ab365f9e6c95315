"""Starting the first process, listening to it, and killing it in the middle of a tool step."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from langgraph.checkpoint.sqlite import SqliteSaver

from ...state.errors import LongthreadError
from .places import Places
from .session import Event

__all__ = ["FirstProcess", "Killed"]

_COMMIT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Killed:
    """How the first process ended.

    Attributes:
        pid: The process.
        code: Its exit code; minus the signal if one ended it.
        held: The id of the call that was running.
        committed: Results of the same step that were on disk by then.
    """

    pid: int
    code: int
    held: str
    committed: int


class FirstProcess:
    """A child process that plays the session until it is killed.

    Entering the context starts it: it gets ready while the caller does so too. Leaving the context
    ends it in any case.

    Args:
        places: Where everything is.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self.errors = places.root / "first_process.log"

    def __enter__(self) -> Self:
        with self.errors.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "longthread.apps.demo.worker", str(self.places.root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None and not stream.closed:
                stream.close()

    def play(self, thread: str, text: str, emit: Callable[[Event], None]) -> Killed:
        """Let it play the session; kill it while a check runs beside other calls.

        Args:
            thread: The id of the thread.
            text: What the user says.
            emit: Gets the child's events.

        Raises:
            LongthreadError: The child ended by itself.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        beside = committed = 0
        held = ""
        try:
            with process.stdin as given:
                json.dump({"thread": thread, "text": text}, given)
        except BrokenPipeError:
            pass  # it has ended already, and says why in its log
        for line in process.stdout:
            event: Event = json.loads(line)
            emit(event)
            if event["kind"] == "request":
                beside = len(event["calls"]) - 1
            if event["kind"] == "held":
                held = event["call"]
                committed = _committed(self.places, thread, beside)
                process.kill()  # SIGKILL: it cannot clean up, flush or say goodbye
        code = process.wait()
        if not held:
            said = self.errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise LongthreadError(
                f"the first process ended with code {code} before it could be killed: "
                f"{said[-1] if said else 'it said nothing'} (all of it: {self.errors})"
            )
        return Killed(process.pid, code, held, committed)


def _committed(places: Places, thread: str, expected: int) -> int:
    """Wait until the results of finished calls are on disk; return how many are."""
    config: Any = {"configurable": {"thread_id": thread}}
    deadline = time.monotonic() + _COMMIT_SECONDS
    with SqliteSaver.from_conn_string(str(places.database)) as saver:
        while True:
            saved = saver.get_tuple(config)
            writes = (saved.pending_writes if saved else None) or []
            tasks = {task for task, channel, _ in writes if channel == "messages"}
            if len(tasks) >= expected or time.monotonic() > deadline:
                return len(tasks)
            time.sleep(0.02)
