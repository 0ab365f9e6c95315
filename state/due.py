"""What is due before the next request: the questions, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import AnyMessage, ToolMessage

from .counting import is_media
from .cut import FRAME_TOKENS, choose_cut, compaction_due, exceeds_alone, last_step
from .moves import move_pays, move_relieves, next_move
from .oversize import oversized
from .projection import ContextView
from .rolling import rolling_due

__all__ = [
    "Due",
    "can_shrink",
    "compact_is_due",
    "ends_directly",
    "evict_is_due",
    "is_answered",
    "mask_is_due",
    "next_due",
    "shape_is_due",
    "shed_through",
]

Due = Literal["evict", "mask", "compact"]


def is_answered(view: ContextView) -> bool:
    """Whether the call has its answer: a message that asks for nothing more, or direct results."""
    journal = view.journal
    if not journal or view.body.unanswered:
        return False
    if journal[-1].type == "tool":
        return ends_directly(view)
    return journal[-1].type == "ai"


def ends_directly(view: ContextView) -> bool:
    """Whether every call of the last answer is of a tool whose result is for the user.

    An error is for the model, and so are all results that came with one: it goes on from them. The
    edge of a parallel call knows no result but its own; `body.unanswered` tells.
    """
    called = view.body.called_tools()
    if not called or not view.policy.direct_tools.issuperset(called):
        return False
    return not any(isinstance(m, ToolMessage) and m.status == "error" for m in _since_calls(view))


def _since_calls(view: ContextView) -> list[AnyMessage]:
    """Return what has come in since the last answer."""
    at = len(view.journal)
    while at and view.journal[at - 1].type != "ai":
        at -= 1
    return view.journal[at:]


def shape_is_due(state: Mapping[str, Any], view: ContextView) -> bool:
    """Whether the answer is there but not yet in the shape that was asked for."""
    if not view.policy.structured or not view.journal or view.journal[-1].type != "ai":
        return False
    return is_answered(view) and state.get("structured_for") != view.journal[-1].id


def can_shrink(view: ContextView) -> bool:
    """Whether a forced compaction would make the request any shorter."""
    cut = choose_cut(view)
    if cut is not None and cut.removed > FRAME_TOKENS:
        return True
    return next_move(view) is not None or bool(oversized(view))


def shed_through(view: ContextView) -> str | None:
    """Return the id of the last message before the last step, if leaving out its bytes helps."""
    place = last_step(view)
    head = [view.again] if view.again is not None else []
    before = [*head, *view.body.messages[:place]]
    if not any(_has_bytes(message) for message in before) or not place:
        return None
    return view.journal[view.body.sources[place] - 1].id


def _has_bytes(message: AnyMessage) -> bool:
    if isinstance(message, ToolMessage):
        return True
    return not isinstance(message.content, str) and any(map(is_media, message.content))


def next_due(view: ContextView, *, after: Due | None = None) -> Due | None:
    """Return the first thing that is due, or None if the request can be made.

    Args:
        view: The projection.
        after: What has just been done: only the later questions are asked.
    """
    if after is None and evict_is_due(view):
        return "evict"
    if after in (None, "evict") and mask_is_due(view):
        return "mask"
    return "compact" if compact_is_due(view) else None


def evict_is_due(view: ContextView) -> bool:
    """Is a text oversized and not yet evicted?"""
    return bool(oversized(view))


def mask_is_due(view: ContextView) -> bool:
    """Does moving the mask or argument boundary pay, or does it spare a compaction?"""
    move = next_move(view)
    if move is None:
        return False
    if exceeds_alone(view):
        return True  # shorter arguments may be enough to keep what would be summarised otherwise
    if compact_is_due(view):
        # A compaction moves the boundaries with it, and needs the cached prompt as it is.
        return move_relieves(view, move)
    return move_pays(view, move) or view.tokens > view.budget.request_limit


def compact_is_due(view: ContextView) -> bool:
    """Is compaction due, of itself or because the context has reached the rolling threshold?"""
    return compaction_due(view) is not None or rolling_due(view) is not None
