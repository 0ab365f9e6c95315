"""The story as plain lines, for a pipe, a log file or a terminal without colours."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console

from .session import Event
from .story import line_of
from .tally import Tally

__all__ = ["PlainView"]


class PlainView:
    """Prints a line for each thing that happens.

    Args:
        console: Where to print.
        tally: Already has the event when it is shown.
        pace: Seconds to rest after each line.
    """

    def __init__(self, console: Console, tally: Tally, pace: float) -> None:
        self.console = console
        self.tally = tally
        self.pace = pace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def show(self, event: Event) -> None:
        """Print what an event means, with the size of the context then."""
        line = line_of(event)
        if line is None:
            return
        parts = self.tally.context.get("parts") or {}
        text = f"{sum(parts.values()):>7,} {line.who:>14}  {line.text}"
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
        time.sleep(self.pace)
