"""The report of a replay as tables in a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .document import all_totals
from .measures import Events, Replay, Totals

__all__ = ["request_table", "session_table", "total_table"]

Alignment = Literal["left", "right"]

_COLUMNS = (
    "window",
    "requests",
    "above",
    "tokens ×",
    "cost ×",
    "masked",
    "evicted",
    "compacted",
)


def session_table(replay: Replay, *, narrow: bool = False) -> RenderableType:
    """Return what a session came to, managed beside unmanaged.

    Args:
        replay: The session.
        narrow: For 80 columns: leave out what the others add up to.
    """
    session = replay.session
    table = _sums(replay.managed, replay.unmanaged, narrow=narrow)
    title = (
        f"{session.path.name} · {session.recorded} messages, {session.tokens:,} tokens · "
        f"window {replay.window:,}"
    )
    return Group(
        _title(title), table, Text(_events(Events.of(replay.events))), *_notes(replay), Text()
    )


def total_table(replays: Sequence[Replay], *, narrow: bool = False) -> RenderableType:
    """Return what several sessions came to: a line for each, and the sums."""
    shown = [name for name in _COLUMNS if not (narrow and name in ("window", "requests"))]
    table = _table(["session", *shown])
    managed, unmanaged, events = all_totals(replays)
    for replay in replays:
        line = _line(replay.managed, replay.unmanaged, Events.of(replay.events))
        line["window"] = f"{replay.window:,}"
        table.add_row(escape(replay.session.path.stem), *(line[name] for name in shown))
    table.add_section()
    line = _line(managed, unmanaged, events)
    table.add_row("all", *(line[name] for name in shown), style="bold")
    sums = _sums(managed, unmanaged, narrow=narrow)
    return Group(_title(f"{len(replays)} sessions"), table, Text(), sums, Text(_events(events)))


def request_table(replay: Replay, *, narrow: bool = False) -> RenderableType:
    """Return a line for every request: tokens by part, what is hidden, cache and cost.

    Args:
        replay: The session.
        narrow: For 80 columns: leave out the parts that hardly change.
    """
    steady = {} if narrow else {"system": "system", "tools": "tools", "ref.": "reference"}
    columns = ["#", *steady, "summary", "messages", "total", "hidden", "cached", "cost"]
    whole = "whole" if narrow else "unmanaged"
    table = _table([*columns, whole, "cost", "before it"], left="before it")
    done = defaultdict(list)
    for event in replay.events:
        done[event.request].append(event.kind)
    for number, request in enumerate(replay.requests, start=1):
        managed, unmanaged = request.managed, request.unmanaged
        table.add_row(
            str(number),
            *(f"{request.parts[part]:,}" for part in (*steady.values(), "summary", "messages")),
            _against(managed.tokens, replay.window),
            f"{request.masked + request.evicted:,}",
            f"{managed.cached:,}",
            f"{managed.cost:,.0f}",
            _against(unmanaged.tokens, replay.window),
            f"{unmanaged.cost:,.0f}",
            ", ".join(dict.fromkeys(done[number])),
        )
    return Group(_title("requests, in tokens"), table, Text())


def _title(text: str) -> Text:
    return Text(text, style="bold")


def _table(columns: Sequence[str], *, left: str | None = None) -> Table:
    """Return a table without rows; one column (the first) is text, the others are figures."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in columns:
        is_text = name == (columns[0] if left is None else left)
        side: Alignment = "left" if is_text else "right"
        table.add_column(name, justify=side, no_wrap=not is_text, overflow="fold")
    return table


def _sums(managed: Totals, unmanaged: Totals, *, narrow: bool) -> Table:
    figures = {
        "largest": (managed.largest, unmanaged.largest),
        "tokens": (managed.tokens, unmanaged.tokens),
        "cached": (managed.cached, unmanaged.cached),
        "new": (managed.new, unmanaged.new),
        "output": (managed.output, unmanaged.output),
        "cost": (round(managed.cost), round(unmanaged.cost)),
    }
    if narrow:
        del figures["largest"], figures["new"]
    table = _table(["", "requests", "above window", *figures])
    for at, (name, totals) in enumerate((("longthread", managed), ("unmanaged", unmanaged))):
        requests = f"{totals.requests:,}"
        if totals.summaries:
            requests += f" + {totals.summaries:,}"
        shown = (f"{pair[at]:,}" for pair in figures.values())
        table.add_row(name, requests, f"{totals.above_window:,}", *shown)
    ratios = (_times(*pair) for pair in figures.values())
    table.add_row("ratio", "", "", *ratios, style="bold")
    return table


def _line(managed: Totals, unmanaged: Totals, events: Events) -> dict[str, str]:
    return {
        "window": "",
        "requests": f"{managed.requests:,}",
        "above": f"{managed.above_window:,}",
        "tokens ×": _times(managed.tokens, unmanaged.tokens),
        "cost ×": _times(managed.cost, unmanaged.cost),
        "masked": f"{events.maskings:,}",
        "evicted": f"{events.evictions:,}",
        "compacted": f"{events.compactions:,}",
    }


def _events(events: Events) -> str:
    evicted = f"evicted {events.evictions:,}"
    if events.evictions:
        evicted += f" ({events.evicted_chars:,} characters)"
    masked = f"mask moved {events.maskings:,}×"
    if events.maskings:
        masked += f" (freed {events.masking_freed:,} tokens)"
    compacted = f"compacted {events.compactions:,}×"
    if events.compactions:
        compacted += f" ({events.compaction_before:,} → {events.compaction_after:,} tokens)"
    return f"{evicted} · {masked} · {compacted}"


def _notes(replay: Replay) -> list[Text]:
    session = replay.session
    counts = {
        "result that its call had already": session.duplicates,
        "result without a call": session.strays,
        "message after the last answer": session.leftover,
    }
    left_out = [f"{n} × {what}" for what, n in counts.items() if n]
    notes = [f"left out: {', '.join(left_out)}"] if left_out else []
    if session.unanswered:
        notes.append(f"played as interrupted: {session.unanswered} × call without a result")
    return [Text(note) for note in notes]


def _times(managed: float, unmanaged: float) -> str:
    return f"{managed / unmanaged:.2f}" if unmanaged else "–"


def _against(tokens: int, window: int) -> str:
    return f"[red]{tokens:,}![/red]" if tokens > window else f"{tokens:,}"
