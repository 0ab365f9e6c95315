"""Where messages come from: a terminal with line editing, or a pipe."""

from __future__ import annotations

import contextlib
import io
import sys

from ...state.text import encodable

__all__ = ["Reader"]


class Reader:
    """Reads lines.

    Attributes:
        interactive: Whether somebody sits at a terminal.
    """

    def __init__(self) -> None:
        self.interactive = sys.stdin.isatty() and sys.stdout.isatty()
        if self.interactive:
            with contextlib.suppress(ImportError):
                import readline  # `input` edits lines with it, of any length

                # A paste of many lines is one message.
                readline.parse_and_bind("set enable-bracketed-paste on")
        elif isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")

    def line(self, prompt: str) -> str | None:
        """Return the next line without its end; None when there is none.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if not self.interactive:
            read = sys.stdin.readline()
            return str(encodable(read.rstrip("\r\n"))) if read else None
        try:
            return str(encodable(input(prompt)))
        except EOFError:
            print()
            return None
