"""Which part of a very long journal is sealed: moved, for good, out of the state into segments.

What a compaction has summarised is never sent again. Once the live journal is longer than its
window, that part becomes an immutable segment in the workspace, so that opening the thread stays
bounded. The projection does not change by a byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage

from .body import leading_system_messages
from .decisions import Compaction, Eviction, OverflowState, Sealed, Usage
from .journal import Journal
from .projection import ContextView, view_context

__all__ = [
    "Sealing",
    "count_messages",
    "plan_sealing",
    "seal_is_due",
    "sealed_update",
    "whole_journal",
]


@dataclass(frozen=True, slots=True)
class Sealing:
    """A part of the live journal that is about to be sealed.

    Attributes:
        messages: What goes into the new segment, oldest first.
        tail: What stays in the state.
        kept: Ids of what is in both.
        removed: How many positions everything that stays moves down.
    """

    messages: list[AnyMessage]
    tail: Journal
    kept: list[str]
    removed: int


def seal_is_due(view: ContextView) -> bool:
    """Is the live journal longer than its window, and enough of it summarised?"""
    window = view.policy.journal_window
    if window is None or len(view.journal) <= window:
        return False
    # A segment for every few messages would cost more than it saves.
    return _end(view) - len(_shown(view)) > window // 4


def plan_sealing(view: ContextView, sealed: Sealed | None) -> Sealing:
    """Divide the live journal into what is sealed and what stays.

    Leading system messages and the human message that is shown again stay live as well, and so
    does the last message that the summary covers: the boundary is found by its id.
    """
    end, shown = _end(view), _shown(view)
    before = set(sealed["kept"]) if sealed else set()
    both = [view.journal[at] for at in shown]
    return Sealing(
        messages=[message for message in view.journal[:end] if message.id not in before],
        tail=Journal([*both, *view.journal[end:]]),
        kept=[message.id for message in both if message.id],
        removed=end - len(both),
    )


def sealed_update(
    view: ContextView, state: Mapping[str, Any], plan: Sealing, sealed: Sealed
) -> dict[str, Any]:
    """Return the channels as they are once a part is sealed: positions moved, nothing else.

    Args:
        view: The projection before.
        state: The state before.
        plan: What `plan_sealing` returned.
        sealed: The new record.

    Returns:
        `messages`, `sealed` and every record that names a position, each whole.
    """

    def moved(position: int) -> int:
        return max(0, position - plan.removed)

    live: dict[str, Eviction] = {
        key: value
        for key, value in view.decisions.evictions.items()
        if plan.tail.position(key) is not None
    }
    compaction: Compaction = view.compaction.copy()
    if "position" in compaction:
        compaction["position"] = moved(compaction["position"])
    update: dict[str, Any] = {
        "messages": plan.tail,
        "sealed": sealed,
        "evictions": live,
        "compaction": compaction,
    }
    positions: Mapping[str, int] = state.get("boundary_positions") or {}
    if positions:
        update["boundary_positions"] = {name: moved(at) for name, at in positions.items()}
    overflow: OverflowState = view.overflow.copy()
    if "shed_position" in overflow:
        overflow["shed_position"] = moved(overflow["shed_position"])
        update["overflow"] = overflow
    usage: Usage = view.usage.copy()
    if "position" in usage:
        usage["position"] = moved(usage["position"])
    if usage.get("decisions") == view.fingerprint:
        counted = list(view.decisions.evictions)[: usage.get("evictions", 0)]
        usage["evictions"] = sum(key in live for key in counted)
        after = view_context({**state, **update}, view.policy, system=view.prompt)
        usage["decisions"] = after.fingerprint
    if usage:
        update["usage"] = usage
    return update


def count_messages(live: int, sealed: Sealed | None) -> int:
    """Return how many messages a journal holds: so many live ones, and the sealed ones."""
    return live + (sealed["count"] - len(sealed["kept"]) if sealed else 0)


def whole_journal(
    segments: list[AnyMessage], live: list[AnyMessage], sealed: Sealed
) -> list[AnyMessage]:
    """Return sealed and live messages as one, what is in both only once."""
    kept = set(sealed["kept"])
    return [*segments, *(message for message in live if message.id not in kept)]


def _end(view: ContextView) -> int:
    """Position of the first message that has to stay."""
    end = max(0, view.decisions.cut - 1)
    while end and view.journal[end].type == "system":
        end -= 1  # at the beginning of the journal it would join the system prompt
    return end


def _shown(view: ContextView) -> list[int]:
    """Positions before the end that requests still show."""
    end = _end(view)
    shown = list(range(min(end, leading_system_messages(view.journal))))
    again = view.decisions.again
    if again is not None and again < end:
        shown.append(again)
    return shown
