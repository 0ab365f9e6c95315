"""The report of a replay as one JSON document. Its keys are public: see `document`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .measures import Events, Replay, Totals
from .pricing import Priced, Prices

__all__ = ["all_totals", "document", "ratio"]


def document(
    replays: Sequence[Replay], *, policy: dict[str, Any], prices: Prices | None = None
) -> dict[str, Any]:
    """Return the report as JSON types. Tokens are estimates, cost is in `prices`.

    Keys of the document: `policy`, `prices`, `files`, `totals`.

    - One of `files`: `file`, `window`, `messages` (in the file), `session_tokens`, `left_out`,
      `requests`, `events`, `summaries`, `totals`, `seconds`.
    - One of `requests`: `request` (from 1), `parts` (`system`, `tools`, `reference`, `summary`,
      `messages`), `hidden` (`masked`, `evicted`), `managed` and `unmanaged` (each `tokens`,
      `cached`, `new`, `output`, `cost`, `above_window`).
    - One of `events`: `before_request`, `type` (`eviction`, `masking`, `compaction`) and what the
      graph says about it.
    - One of `summaries`: `tokens`, `cached`, `new`, `output`, `cost`.
    - `totals`: `managed` and `unmanaged` (`requests`, `tokens`, `cached`, `new`, `output`, `cost`,
      `summaries`, `above_window`, `largest`), `ratio` of the one to the other (`tokens`, `cost`),
      and `events` (how many and by how much).

    Args:
        replays: The sessions.
        policy: What is said of how they were played.
        prices: What they were priced with.
    """
    prices = prices or Prices()
    managed, unmanaged, events = all_totals(replays)
    return {
        "policy": policy,
        "prices": {
            "cached": prices.cached,
            "new": prices.new,
            "output": prices.output,
            "cacheable_from": prices.cacheable,
        },
        "files": [_file(replay) for replay in replays],
        "totals": _totals(managed, unmanaged, events),
    }


def all_totals(replays: Sequence[Replay]) -> tuple[Totals, Totals, Events]:
    """Return the sums over all sessions: managed, unmanaged, and what was done."""
    managed, unmanaged = Totals(), Totals()
    for replay in replays:
        managed.add_all(replay.managed)
        unmanaged.add_all(replay.unmanaged)
    return managed, unmanaged, Events.of(event for r in replays for event in r.events)


def ratio(managed: float, unmanaged: float) -> float | None:
    """Return the share of the unmanaged figure; None if that is nothing."""
    return round(managed / unmanaged, 4) if unmanaged else None


def _file(replay: Replay) -> dict[str, Any]:
    session = replay.session
    return {
        "file": str(session.path),
        "window": replay.window,
        "messages": session.recorded,
        "session_tokens": session.tokens,
        "left_out": {
            "duplicate_results": session.duplicates,
            "results_without_call": session.strays,
            "input_after_last_answer": session.leftover,
        },
        "interrupted_calls": session.unanswered,
        "requests": [
            {
                "request": number,
                "parts": dict(request.parts),
                "hidden": {"masked": request.masked, "evicted": request.evicted},
                "managed": _request(request.managed, replay.window),
                "unmanaged": _request(request.unmanaged, replay.window),
            }
            for number, request in enumerate(replay.requests, start=1)
        ],
        "events": [
            {"before_request": event.request, "type": event.kind, **event.facts}
            for event in replay.events
        ],
        "summaries": [_priced(summary) for summary in replay.summaries],
        "totals": _totals(replay.managed, replay.unmanaged, Events.of(replay.events)),
        "seconds": round(replay.seconds, 3),
    }


def _priced(priced: Priced) -> dict[str, Any]:
    return {
        "tokens": priced.tokens,
        "cached": priced.cached,
        "new": priced.new,
        "output": priced.output,
        "cost": round(priced.cost, 2),
    }


def _request(priced: Priced, window: int) -> dict[str, Any]:
    return {**_priced(priced), "above_window": priced.tokens > window}


def _totals(managed: Totals, unmanaged: Totals, events: Events) -> dict[str, Any]:
    return {
        "managed": _sums(managed),
        "unmanaged": _sums(unmanaged),
        "ratio": {
            "tokens": ratio(managed.tokens, unmanaged.tokens),
            "cost": ratio(managed.cost, unmanaged.cost),
        },
        "events": {
            "eviction": {"count": events.evictions, "chars": events.evicted_chars},
            "masking": {"count": events.maskings, "tokens_freed": events.masking_freed},
            "compaction": {
                "count": events.compactions,
                "tokens_before": events.compaction_before,
                "tokens_after": events.compaction_after,
            },
        },
    }


def _sums(totals: Totals) -> dict[str, Any]:
    return {
        "requests": totals.requests,
        "tokens": totals.tokens,
        "cached": totals.cached,
        "new": totals.new,
        "output": totals.output,
        "cost": round(totals.cost, 2),
        "summaries": totals.summaries,
        "above_window": totals.above_window,
        "largest": totals.largest,
    }
