"""A file that says of every tool call when it began and when it was done, across processes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["RunLog", "ToolRun"]


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One line of the log.

    Attributes:
        call: The id of the call.
        tool: The name of the tool.
        pid: The process it ran in.
        state: `started` or `finished`.
    """

    call: str
    tool: str
    pid: int
    state: str


class RunLog:
    """The log of one demo.

    Args:
        path: The file, one JSON object a line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def running(self, call: str, tool: str) -> Iterator[None]:
        """Log that a call has begun and, if nothing is raised, that it is done."""
        self._write(call, tool, "started")
        yield
        self._write(call, tool, "finished")

    def runs(self) -> list[ToolRun]:
        """Return what is logged so far, the oldest first."""
        if not self.path.exists():
            return []
        lines = map(json.loads, self.path.read_text(encoding="utf-8").splitlines())
        return [ToolRun(line["call"], line["tool"], line["pid"], line["state"]) for line in lines]

    def _write(self, call: str, tool: str, state: str) -> None:
        line = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "pid": os.getpid(),
            "call": call,
            "tool": tool,
            "state": state,
        }
        # One short write in append mode: lines of calls that run side by side do not mix.
        with self.path.open("ab", buffering=0) as log:
            log.write(json.dumps(line).encode("ascii") + b"\n")
