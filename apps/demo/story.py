"""Events in plain words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .session import Event

__all__ = ["STYLES", "Line", "line_of"]

STYLES = {
    "recall": "bright_blue",
    "eviction": "bright_magenta",
    "masking": "yellow",
    "flush": "cyan",
    "compaction": "bright_yellow",
    "reasoning": "green",
    "tools": "green",
    "overflow_retry": "bright_red",
    "consolidation": "bright_cyan",
    "model": "green",
    "provider": "bright_red",
    "demo": "bold",
}


class Line(NamedTuple):
    """One thing that happened.

    Attributes:
        who: The node, or `model`, `provider`, `demo`.
        text: What it did and why.
        notable: Whether to rest on it.
    """

    who: str
    text: str
    notable: bool = True


def line_of(event: Event) -> Line | None:
    """Say what an event means, or None if another one says it."""
    match event["kind"]:
        case "note":
            return Line("demo", event["text"])
        case "node" if event["node"] not in ("reasoning", "tools"):
            return Line(event["node"], event["why"])
        case "event" if event["facts"]["type"] in _OUTCOMES:
            facts = event["facts"]
            return Line(facts["type"], f"  → {_OUTCOMES[facts['type']](facts)}", notable=False)
        case "request":
            return _request(event)
    return None


def _request(event: Event) -> Line | None:
    tokens = event["taken"]["tokens"]
    if event["refused"]:
        return Line("provider", f"400 context_length_exceeded: {tokens:,} tokens are too many")
    if event["purpose"] != "agent":
        return None
    calls = ", ".join(event["calls"])
    said = " ".join(event["said"].split())
    return Line("model", f"{said} [{calls}]" if calls else said, notable=not calls)


def _flushed(facts: dict[str, Any]) -> str:
    if facts["path"] is None:
        return f"{facts['messages']} messages read, nothing new in them"
    return f"{facts['messages']} messages read, facts added to {facts['path']}"


_OUTCOMES: dict[str, Callable[[dict[str, Any]], str]] = {
    "eviction": lambda f: f"{f['chars']:,} characters are in a file now, head and tail are shown",
    "masking": lambda f: f"{f['tokens_before']:,} tokens before, {f['tokens_freed']:,} fewer now",
    "compaction": lambda f: (
        f"{f['tokens_before']:,} → {f['tokens_after']:,} tokens, "
        f"{f['messages_before']} → {f['messages_after']} messages"
    ),
    "flush": _flushed,
    "consolidation": lambda f: f"{f['path']} now has what is new in {', '.join(f['ledgers'])}",
}
