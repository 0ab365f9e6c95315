"""`longthread chat` in a real terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect

__all__ = ["Chat"]

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")


class Chat:
    """A chat that somebody sits at.

    Args:
        folder: The current folder of the process.
        options: Options of the command.
    """

    def __init__(
        self, folder: Path, *options: str, before: Callable[[], None] | None = None
    ) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith("LONGTHREAD_")}
        for size in ("COLUMNS", "LINES"):  # of the terminal that the tests are run in
            env.pop(size, None)
        self.child = pexpect.spawn(
            sys.executable,
            ["-c", "from longthread.apps.cli import main; main()", "chat", *options],
            cwd=str(folder),
            env={**env, "TERM": "xterm", "LC_ALL": "C.UTF-8", "INPUTRC": "/dev/null"},
            encoding="utf-8",
            dimensions=(40, 120),
            timeout=30,
            preexec_fn=before,
        )
        self.child.delaybeforesend = None
        self.prompted()

    def prompted(self) -> str:
        """Wait for the prompt, and return what came before it, without control sequences."""
        self.child.expect_exact("you> ")
        return _CONTROL.sub("", self.child.before or "")

    def ask(self, line: str) -> str:
        """Type a line and return what comes of it, up to the next prompt."""
        self.child.sendline(line)
        return self.prompted()

    def end(self) -> str:
        """Press Ctrl-D and return the rest."""
        self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return _CONTROL.sub("", self.child.before or "")
