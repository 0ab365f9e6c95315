"""The live view: the context by part, the node that runs, and what has just happened."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .session import BELIEVED, Event
from .story import STYLES, Line, line_of
from .tally import NODES, Tally

__all__ = ["LiveView", "frame"]

_PARTS = {
    "system": "blue",
    "tools": "cyan",
    "reference": "magenta",
    "summary": "bright_yellow",
    "messages": "green",
}
_LINES = 8
_WIDTH = 100
_NOTABLE = 8
_RESTING_SECONDS = 14.0
"""From then on it does not rest any more: a slow machine is slow enough."""


class LiveView:
    """Draws after every event.

    Args:
        console: A terminal.
        tally: Already has the event when it is shown.
        pace: Seconds to rest after a step; after something notable it is longer.
    """

    def __init__(self, console: Console, tally: Tally, pace: float) -> None:
        self.tally = tally
        self.pace = pace
        self.lines: deque[Line] = deque(maxlen=_LINES)
        self.width = min(_WIDTH, console.width)
        self.live = Live(self._drawn(), console=console, auto_refresh=False)
        self._until = time.monotonic() + _RESTING_SECONDS

    def __enter__(self) -> Self:
        self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tally.node = ""
        self.live.update(self._drawn(), refresh=True)
        self.live.stop()

    def show(self, event: Event) -> None:
        """Draw the state after an event."""
        line = line_of(event)
        if line is not None:
            self.lines.append(line)
        elif event["kind"] != "node":
            return
        self.live.update(self._drawn(), refresh=True)
        if time.monotonic() < self._until:
            time.sleep(self.pace * (_NOTABLE if line is not None and line.notable else 1))

    def _drawn(self) -> RenderableType:
        return frame(self.tally, list(self.lines), self.width)


def frame(tally: Tally, lines: list[Line], width: int = _WIDTH) -> RenderableType:
    """Return one picture.

    Args:
        tally: What has happened so far.
        lines: The last lines of the story.
        width: Columns, 60 or more.
    """
    inner = width - 4
    rows = [NODES] if width >= _WIDTH else [NODES[:5], NODES[5:]]
    body = Group(
        *(_nodes(tally, row) for row in rows),
        Text(),
        *_context(tally, inner),
        Text(),
        _fitted(_counters(tally), inner),
        Text(),
        *(_fitted(_line(line), inner) for line in lines),
        *(Text() for _ in range(_LINES - len(lines))),
    )
    process = f"process {tally.pid}" if tally.pid else "starting the first process"
    title = f"[bold]longthread demo[/]  [dim]{process}[/]"
    return Panel(body, title=title, title_align="left", border_style="dim", width=width)


def _nodes(tally: Tally, nodes: Sequence[str]) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    names, counts = [], []
    for node in nodes:
        grid.add_column(justify="center")
        visits = tally.visits[node]
        style = f"bold reverse {STYLES[node]}" if node == tally.node else STYLES[node]
        names.append(Text(node, style=style if visits else "dim"))
        counts.append(Text(str(visits) if visits else "·", style="bold" if visits else "dim"))
    grid.add_row(*names)
    grid.add_row(*counts)
    return grid


def _context(tally: Tally, width: int) -> list[RenderableType]:
    """The request as a bar with the window's edge, its legend, and what is kept out of it."""
    context = tally.context
    parts: dict[str, int] = context.get("parts") or dict.fromkeys(_PARTS, 0)
    window = context.get("window", BELIEVED)
    scale = width / BELIEVED
    head = Text.assemble(
        ("context ", "bold"),
        (f"{sum(parts.values()):,}", "bold"),
        f" of {window:,} tokens",
        (f" (not {BELIEVED:,})" if window < BELIEVED else "", "red"),
        f"  journal {context.get('journal', 0)} messages, {context.get('shown', 0)} shown, "
        f"{context.get('summarised', 0)} summed up",
    )
    legend = Text("  ").join(
        Text.assemble(("■ ", style), f"{part} {parts[part]:,}") for part, style in _PARTS.items()
    )
    masked, evicted = context.get("masked", 0), context.get("evicted", 0)
    kept_out = Text.assemble(
        ("▒ ", "yellow"),
        f"masked {masked:,}  ",
        ("░ ", "bright_magenta"),
        f"evicted {evicted:,}  kept out of it   ",
        ("┃", "bold red"),
        " the window",
    )
    bar = _bar(parts, scale, width, round(window * scale))
    hidden = _hidden(masked, evicted, scale, width)
    return [_fitted(head, width), bar, _fitted(legend, width), hidden, kept_out]


def _bar(parts: dict[str, int], scale: float, width: int, edge: int) -> Text:
    cells: list[tuple[str, str]] = []
    for part, style in _PARTS.items():
        size = max(1, round(parts[part] * scale)) if parts[part] else 0
        cells += [("█", style)] * size
    cells = cells[:width] + [("─", "bright_black")] * (width - len(cells))
    if len(cells) >= edge > 0:
        cells[edge - 1] = ("┃", "bold red")
    return Text.assemble(*cells)


def _hidden(masked: int, evicted: int, scale: float, width: int) -> Text:
    """What masks and evictions keep out, on the same scale; it may be more than fits."""
    cells = [("▒", "yellow")] * round(masked * scale)
    cells += [("░", "bright_magenta")] * round(evicted * scale)
    if len(cells) > width:
        cells = [*cells[: width - 1], ("»", "bold")]
    return Text.assemble(*cells)


def _counters(tally: Tally) -> Text:
    managed, unmanaged = tally.managed, tally.unmanaged
    share = managed.cached / managed.tokens if managed.tokens else 0.0
    times = f"{unmanaged.cost / managed.cost:.1f} ×" if managed.cost else "–"
    return Text.assemble(
        ("requests ", "bold"),
        f"{managed.requests} + {managed.summaries} aside, {len(tally.refused)} refused",
        ("   sent ", "bold"),
        f"{managed.tokens:,}, {share:.0%} cached",
        ("   unmanaged ", "bold"),
        f"would cost {times}",
    )


def _line(line: Line) -> Text:
    return Text.assemble((f"{line.who:>14} ", STYLES[line.who]), line.text)


def _fitted(text: Text, width: int) -> Text:
    text.truncate(width, overflow="ellipsis")
    return text
