"""The triggers: which node is due next. Pure functions of the state and the agent's policy.

A cascade asks its questions in order and goes to the first node that is due, so that a node with
nothing to do costs no superstep.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from langgraph.graph import END
from langgraph.types import Send

from ..state.due import Due, ends_directly, evict_is_due, is_answered, next_due, shape_is_due
from ..state.policy import ContextPolicy
from ..state.projection import ContextView, view_context
from ..state.rolling import rolling_due
from ..state.sealing import seal_is_due

__all__ = [
    "ANSWERED",
    "COMPACT",
    "COMPACTED",
    "EVICT",
    "FLUSHED",
    "MASK",
    "OVERFLOWED",
    "RESULTS",
    "SEAL",
    "Triggers",
]

State = Mapping[str, Any]
Paths = dict[Hashable, str]

# Labels of the drawn edges, and where each leads. There is one label for a pair of nodes.
READY = "ready"
LONG = "long journal"
LATER: Paths = {"flush first": "flush", "compaction due": "compaction"}
COMPACT: Paths = {**LATER, READY: "reasoning"}
MASK: Paths = {"masking pays": "masking", **COMPACT}
EVICT: Paths = {"oversized result": "eviction", **MASK}
SEAL: Paths = {LONG: "seal", **EVICT}
RESULTS: Paths = {**EVICT, "returned": END}
ANSWERED: Paths = {
    "calls": "tools",
    "overflow": "overflow_retry",
    "done, or flush first": "flush",
    "memory off": END,
    "oversized result": "eviction",
    "masking pays": "masking",
    "compaction due": "compaction",
    READY: "reasoning",
}
OVERFLOWED: Paths = {"large results": "eviction", **LATER, "retry": "reasoning"}
COMPACTED: Paths = {READY: "reasoning", "maintenance due": "consolidation", "end": END}
FLUSHED: Paths = {"compaction due": "compaction", "maintenance due": "consolidation", "end": END}


class Triggers:
    """The questions that the agent graph's conditional edges ask.

    Args:
        policy: The agent's policy.
    """

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy

    def recalled(self, state: State) -> str:
        """Is the journal too long to be carried whole? Else: what is due before the request?"""
        view = self._view(state)
        return LONG if seal_is_due(view) else self._label(next_due(view))

    def sealed(self, state: State) -> str:
        """What is due before the first request of a call?"""
        return self._label(next_due(self._view(state)))

    def evicted(self, state: State) -> str:
        """What is due now that oversized texts are out of the way?"""
        view = self._view(state)
        if view.overflow.get("pending"):
            return self._label("compact")
        return self._label(next_due(view, after="evict"))

    def masked(self, state: State) -> str:
        """Is compaction due, now that all is masked that may be?"""
        return self._label(next_due(self._view(state), after="mask"))

    def results_in(self, state: State) -> str:
        """What is due now that a result is there?

        The edge of a parallel call sees no result but its own; then `reasoning` asks, with all of
        them in view, and whether they end the call.
        """
        view = self._view(state)
        if view.body.unanswered:
            return READY
        if ends_directly(view):
            return "flush first" if self.policy.remembers else "returned"
        return self._label(next_due(view))

    def answered(self, state: State) -> str | list[Send]:
        """What did the model do: call tools, overflow, finish? Or was something due before it?"""
        view = self._view(state)
        if view.overflow.get("attempts"):
            return "overflow"
        calls = view.body.open_calls()
        if calls:
            return [Send("tools", [call]) for call in calls]
        if shape_is_due(state, view):
            return READY
        if is_answered(view):
            if self.policy.remembers:
                return "done, or flush first"
            return "memory off" if rolling_due(view) is None else "compaction due"
        label = self._label(next_due(view))
        return "done, or flush first" if label == "flush first" else label

    def overflowed(self, state: State) -> str:
        """Is a forced compaction due, with large results out of its tail first? Else: try again."""
        view = self._view(state)
        if not view.overflow.get("pending"):
            return "retry"
        return "large results" if evict_is_due(view) else self._label("compact")

    def flushed(self, state: State) -> str:
        """Was it the end of the call, and is maintenance due?"""
        view = self._view(state)
        if not is_answered(view) or rolling_due(view) is not None:
            return "compaction due"
        return self._ended(state)

    def compacted(self, state: State) -> str:
        """Does the call go on, or was the answer its last?"""
        return self._ended(state) if is_answered(self._view(state)) else READY

    def _ended(self, state: State) -> str:
        return "maintenance due" if state.get("maintenance") else "end"

    def _view(self, state: State) -> ContextView:
        return view_context(state, self.policy)

    def _label(self, due: Due | None) -> str:
        match due:
            case "evict":
                return "oversized result"
            case "mask":
                return "masking pays"
            case "compact":
                return "flush first" if self.policy.flushes else "compaction due"
            case None:
                return READY
