"""Where answers appear: a terminal, with Markdown, or plain text for a pipe."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, RenderableType
from rich.live import Live
from rich.markdown import Markdown
from rich.padding import Padding
from rich.spinner import Spinner
from rich.text import Text

from ...state.text import visible
from ..one_line import one_line
from .blocks import complete_blocks

__all__ = ["PlainScreen", "Screen", "TerminalScreen", "warnings_on"]


class Screen(Protocol):
    """What a turn and the commands write to. Nothing of it is obeyed by the terminal."""

    console: Console

    def begin(self) -> None:
        """Show that a turn has begun."""

    def answer(self, text: str) -> None:
        """Show the next piece of an answer."""

    def end(self) -> None:
        """Show the rest of an answer; a turn may go on with another one."""

    def note(self, text: str) -> None:
        """Say what happens beside the answer, in one line."""

    def error(self, error: BaseException | str) -> None:
        """Say what went wrong, in one line."""

    def show(self, shown: RenderableType) -> None:
        """Show what a command has found."""


class TerminalScreen:
    """Paragraphs appear as Markdown when they are complete, what is being written below them.

    Args:
        console: A terminal.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._pending = ""
        self._live: Live | None = None

    def begin(self) -> None:
        """Show that a turn has begun."""
        if self._live is None:
            self._live = Live(
                Spinner("dots"), console=self.console, transient=True, refresh_per_second=10
            )
            self._live.start()

    def answer(self, text: str) -> None:
        """Show the next piece of an answer."""
        self._pending += visible(text, keep="\n")
        at = complete_blocks(self._pending)
        if at:
            done, self._pending = self._pending[:at], self._pending[at:]
            self._print(done)
        if self._live is not None:
            self._live.update(self._tail())

    def end(self) -> None:
        """Show the rest of an answer."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        rest, self._pending = self._pending, ""
        self._print(rest)

    def note(self, text: str) -> None:
        """Say what happens beside the answer."""
        self._flush()
        self.console.print(Text(f"  · {visible(text)}", "dim"), overflow="ellipsis", no_wrap=True)

    def error(self, error: BaseException | str) -> None:
        """Say what went wrong."""
        self.end()
        self.console.print(Text(f"Error: {_said(error)}", "red"))

    def show(self, shown: RenderableType) -> None:
        """Show what a command has found."""
        self.console.print(shown)

    def _flush(self) -> None:
        rest, self._pending = self._pending, ""
        self._print(rest)
        if self._live is not None:
            self._live.update(Spinner("dots"))

    def _print(self, text: str) -> None:
        if text.strip():
            self.console.print(Padding(Markdown(text.strip("\n")), (0, 0, 1, 0)))

    def _tail(self) -> RenderableType:
        """Return the end of what is being written: what is higher than the screen cannot move."""
        width = max(20, self.console.width)
        height = max(1, self.console.height - 4)
        text = Text(self._pending[-width * height :])
        lines = text.wrap(self.console, width)
        return Text("\n").join(lines[-height:]) if lines else Spinner("dots")


class PlainScreen:
    """Answers on standard output as they come; everything else on standard error.

    Args:
        console: Writes to standard output, for what commands show.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._open = False

    def begin(self) -> None:
        """Nothing is to be seen of that."""

    def answer(self, text: str) -> None:
        """Write the next piece of an answer; a file or a program gets it as it is."""
        sys.stdout.write(visible(text, keep="\n") if sys.stdout.isatty() else text)
        sys.stdout.flush()
        self._open = not text.endswith("\n") if text else self._open

    def end(self) -> None:
        """End the line."""
        if self._open:
            self.answer("\n")

    def note(self, text: str) -> None:
        """Say what happens beside the answer."""
        print(f"· {visible(text)}", file=sys.stderr, flush=True)

    def error(self, error: BaseException | str) -> None:
        """Say what went wrong."""
        self.end()
        print(f"Error: {_said(error)}", file=sys.stderr, flush=True)

    def show(self, shown: RenderableType) -> None:
        """Show what a command has found."""
        self.console.print(shown)


class _Warnings(logging.Handler):
    """Shows warnings as notes, without a traceback.

    Not those of the connections to PostgreSQL, which repeat for as long as the server is away: a
    turn that needs one says so.
    """

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self.screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record."""
        if record.name.partition(".")[0] == "psycopg":
            return
        self.screen.note(f"{record.levelname.lower()}: {' '.join(record.getMessage().split())}")


@contextmanager
def warnings_on(screen: Screen) -> Iterator[None]:
    """Show what anything warns of on a screen: nothing else may write to it."""
    handler = _Warnings(screen)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


def _said(error: BaseException | str) -> str:
    return error if isinstance(error, str) else one_line(error)
