"""Why a node is visited, in plain words, from the state that its trigger saw."""

from __future__ import annotations

from collections.abc import Callable

from ...state.due import is_answered, next_due
from ...state.moves import move_pays, next_move
from ...state.oversize import oversized
from ...state.projection import ContextView

__all__ = ["why"]


def why(node: str, view: ContextView, *, fresh: bool = False) -> str:
    """Say why a node is visited.

    Args:
        node: Its name.
        view: The context when it starts.
        fresh: Whether tool results came in with the step before.
    """
    if node == "reasoning" and fresh and (due := next_due(view)):
        return f"results came in side by side and are too much together: {due} first"
    return _REASONS[node](view)


def _recall(_view: ContextView) -> str:
    return "a call begins: memory is read, once"


def _eviction(view: ContextView) -> str:
    found = [
        f"{getattr(m, 'name', None) or 'the user'} gave {len(str(m.content)):,} characters"
        for m in oversized(view)
    ]
    if view.overflow.get("pending"):
        return f"what has to stay is too large; {', '.join(found)}"
    return f"{', '.join(found)}: too much for a window of {view.window:,} tokens"


def _masking(view: ContextView) -> str:
    move = next_move(view)
    assert move is not None, "the trigger saw a move"
    if move_pays(view, move):
        return (
            f"old results take {move.freed:,} tokens, {move.rewritten:,} stand after them: it pays"
        )
    return f"old results take {move.freed:,} tokens: hiding them puts a summary off"


def _compaction(view: ContextView) -> str:
    if view.overflow.get("pending"):
        return "the provider refused the request: a summary for old messages, now"
    return f"{view.tokens:,} of {view.window:,} tokens taken: a summary for old messages"


def _flush(view: ContextView) -> str:
    if is_answered(view):
        return "the call is answered: facts go to the day's ledger"
    return "a summary is about to come: facts go to the day's ledger first"


def _reasoning(view: ContextView) -> str:
    if view.overflow.get("attempts"):
        return "the same step again, once, with a smaller request"
    return "the model is asked for the next step"


def _overflow_retry(view: ContextView) -> str:
    return f"the provider takes {view.window:,} tokens: compact, then one more try"


def _consolidation(_view: ContextView) -> str:
    return "the ledger has facts that MEMORY.md lacks"


_REASONS: dict[str, Callable[[ContextView], str]] = {
    "recall": _recall,
    "eviction": _eviction,
    "masking": _masking,
    "compaction": _compaction,
    "flush": _flush,
    "reasoning": _reasoning,
    "overflow_retry": _overflow_retry,
    "consolidation": _consolidation,
}
