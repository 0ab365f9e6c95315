"""The context policy for an agent whose loop is somebody else's.

The nodes of the agent graph do the work, one after the other; what they record is one dict, so that
the other graph needs one channel for it. All methods are cores, see `stores.effects`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.runnables import Runnable
from langgraph.graph import StateGraph
from langgraph.types import Overwrite

from ..nodes.node import Node, Run, Steps, Update
from ..nodes.reasoning import ReasoningNode
from ..state.due import evict_is_due, next_due
from ..state.journal import append_messages, as_journal
from ..state.policy import ContextPolicy
from ..state.projection import view_context

__all__ = ["ContextSteps", "merge_decisions", "recorded"]

_NODES = {"evict": "eviction", "mask": "masking", "compact": "compaction"}


def merge_decisions(
    state: Mapping[str, Any] | None, writes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Reducer of the one channel: later records win, evictions add up. Never changes `state`."""
    merged = dict(state or {})
    for write in writes:
        evictions = {**(merged.get("evictions") or {}), **(write.get("evictions") or {})}
        merged |= write
        if evictions:
            merged["evictions"] = evictions
    return merged


def recorded(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of an update goes into the one channel, as plain values."""
    return {
        name: value.value if isinstance(value, Overwrite) else value
        for name, value in update.items()
        if name not in ("messages", "maintenance", "fresh_results")
    }


class ContextSteps:
    """What the nodes of an agent graph do, for a loop that has other nodes.

    Args:
        builder: The agent graph whose nodes do it.
        policy: Its policy.
    """

    def __init__(self, builder: StateGraph[Any, Any, Any, Any], policy: ContextPolicy) -> None:
        self.policy = policy
        self._nodes: dict[str, Any] = {name: spec.runnable for name, spec in builder.nodes.items()}
        # The other loop's model and tools make its prompt: nobody has cached what ours would be.
        compaction = copy.copy(self._nodes["compaction"])
        compaction.summariser = compaction.summariser.apart()
        self._nodes["compaction"] = compaction

    def begin(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Load memory and reference material; settle what an interrupted call left behind."""
        # The thread is not one of ours, so it is not registered: to the node, nothing keeps it.
        configurable = dict(run.config.get("configurable") or {})
        configurable.pop("__pregel_checkpointer", None)
        apart = Run({**run.config, "configurable": configurable}, run.runtime)
        update: Update = yield from self._node("recall", self.policy).steps(state, apart)
        return update

    def shape(self, state: Mapping[str, Any], run: Run, policy: ContextPolicy) -> Steps[Update]:
        """Evict, mask and compact what is due, and return all that this records."""
        settled = _interrupted(state, policy)
        state = _after(state, {"messages": settled})
        done: Any = None
        total: Update = {}
        while done != "compact":
            due = next_due(view_context(state, policy), after=done)
            if due is None:
                break
            if due == "compact" and policy.flushes:
                yield from self._node("flush", policy).steps(state, run)
            update = yield from self._node(_NODES[due], policy).steps(state, run)
            state, total = _after(state, update), _joined(total, update)
            done = due
        return {**total, "messages": settled} if settled else total

    def ask(
        self,
        state: Mapping[str, Any],
        run: Run,
        policy: ContextPolicy,
        model: Runnable[Any, AIMessage],
        *,
        cache_hints: bool,
    ) -> Steps[tuple[AIMessage, Update]]:
        """Make a request that fits, and once more if the provider finds that it does not.

        Returns:
            The answer, and what was recorded on the way.
        """
        reasoning = ReasoningNode(policy, model, cache_hints=cache_hints)
        total: Update = yield from self.shape(state, run, policy)
        state = _after(state, {**total, "messages": _interrupted(_after(state, total), policy)})
        while True:  # twice at most: a second overflow is raised by the node
            update = yield from reasoning.steps(state, run)
            state, total = _after(state, update), _joined(total, update)
            if "messages" in update:
                return update["messages"][0], total
            update = yield from self._make_fit(state, run, policy)
            state, total = _after(state, update), _joined(total, update)

    def end(self, state: Mapping[str, Any], run: Run) -> Steps[None]:
        """Extract from the conversation what is worth remembering."""
        if self.policy.remembers:
            update = yield from self._node("flush", self.policy).steps(state, run)
            if update.get("maintenance"):
                yield from self._node("consolidation", self.policy).steps(state, run)

    def _make_fit(self, state: Mapping[str, Any], run: Run, policy: ContextPolicy) -> Steps[Update]:
        """Do what an overflow asks for, as the agent graph does after `overflow_retry`."""
        total: Update = yield from self._node("overflow_retry", policy).steps(state, run)
        state = _after(state, total)
        if not (state.get("overflow") or {}).get("pending"):
            return total
        names = ["eviction"] if evict_is_due(view_context(state, policy)) else []
        for name in (*names, *(["flush"] if policy.flushes else []), "compaction"):
            update = yield from self._node(name, policy).steps(state, run)
            state, total = _after(state, update), _joined(total, update)
        return total

    def _node(self, name: str, policy: ContextPolicy) -> Node:
        """Return a node that goes by this policy."""
        node: Any = copy.copy(self._nodes[name])
        node.policy = policy
        found: Node = node
        return found


def _interrupted(state: Mapping[str, Any], policy: ContextPolicy) -> list[AnyMessage]:
    """Return results for calls at the end that have none: no provider takes those."""
    body = view_context(state, policy).body
    return body.interrupted() if body.unanswered else []


def _after(state: Mapping[str, Any], update: Update) -> dict[str, Any]:
    """Return the state once an update is applied."""
    new = merge_decisions(state, [recorded(update)])
    journal = as_journal(state.get("messages"))
    told = update.get("messages")
    return {**new, "messages": append_messages(journal, [told]) if told else journal}


def _joined(total: Update, update: Update) -> Update:
    """Return two updates as one."""
    return merge_decisions(total, [recorded(update)])
