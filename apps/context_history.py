"""What of a thread's context was what, checkpoint by checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..graphs.agent import context_policy
from ..graphs.thread_access import agent_at, named_in
from ..state.counting import count_message
from ..state.errors import ConfigurationError
from ..state.policy import ContextPolicy
from ..state.projection import view_context

__all__ = ["ContextPoint", "acontext_history", "context_history"]


_MODEL_NODE = "reasoning"


@dataclass(frozen=True, slots=True)
class ContextPoint:
    """The context as it was before one request; all figures are estimated tokens.

    Attributes:
        checkpoint_id: The checkpoint.
        step: LangGraph's number of the step.
        journal_messages: Messages said so far, sealed ones included.
        parts: Tokens of the request by part: `system`, `tools`, `reference`, `summary`, `messages`.
        masked: Tokens that masks and cut arguments keep out of it.
        evicted: Tokens that evictions keep out of it.
        whole: Tokens that the request would take if everything live were sent as it was said.
        window: The context window in force.
        generation: Compactions committed so far.
    """

    checkpoint_id: str
    step: int
    journal_messages: int
    parts: dict[str, int]
    masked: int
    evicted: int
    whole: int
    window: int
    generation: int

    @property
    def tokens(self) -> int:
        """Tokens of the request."""
        return sum(self.parts.values())

    @property
    def summarised(self) -> int:
        """Tokens that the summary keeps out of it, less its own."""
        return max(0, self.whole - self.tokens - self.masked - self.evicted)


def context_history(
    graph: Any, config: RunnableConfig, *, limit: int = 80, policy: ContextPolicy | None = None
) -> list[ContextPoint]:
    """Return the context before up to `limit` requests of a thread, and as it is now, in order.

    Args:
        graph: An agent graph with a checkpointer; or, with `policy`, any graph with `messages`.
        config: `{"configurable": {"thread_id": …}}`; with `checkpoint_ns`, the thread of an agent
            inside the graph, see `agent_node`.
        limit: Most requests to look at; they are taken evenly over the thread's life.
        policy: Whose projection to compute; None: the graph's own.

    Raises:
        ConfigurationError: The graph has no checkpointer, or is no agent graph and no policy is
            given.
    """
    policy = policy or _policy_of(graph, config)
    known = list(_saver(graph).list(config))
    states = [graph.get_state(place) for place in _evenly(_before_requests(known), limit)]
    return _points(states, policy)


async def acontext_history(
    graph: Any, config: RunnableConfig, *, limit: int = 80, policy: ContextPolicy | None = None
) -> list[ContextPoint]:
    """Do what `context_history` does, asynchronously."""
    policy = policy or _policy_of(graph, config)
    known = [found async for found in _saver(graph).alist(config)]
    places = _evenly(_before_requests(known), limit)
    states = [await graph.aget_state(place) for place in places]
    return _points(states, policy)


def _policy_of(graph: Any, config: RunnableConfig) -> ContextPolicy:
    nested = named_in(config).get("checkpoint_ns")
    return context_policy(agent_at(graph, config) if nested else graph)


def _saver(graph: Any) -> BaseCheckpointSaver[Any]:
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        raise ConfigurationError(
            f"graph={graph!r} has no checkpointer of its own: there is no history to read"
        )
    return saver


def _before_requests(known: Sequence[CheckpointTuple]) -> list[RunnableConfig]:
    """Return the checkpoints that a request follows, the oldest first, and the newest.

    What comes between (a result that is not evicted yet, say) no model is ever sent. Where no
    checkpoint tells what follows it, all of them count.
    """
    oldest_first = known[::-1]
    asked = [
        found.config
        for found in oldest_first[:-1]
        if any(name.endswith(f":{_MODEL_NODE}") for name in found.checkpoint["channel_values"])
    ]
    newest = [found.config for found in oldest_first[-1:]]
    return [*asked, *newest] if asked else [found.config for found in oldest_first]


def _evenly(places: Sequence[RunnableConfig], limit: int) -> list[RunnableConfig]:
    if len(places) <= limit:
        return list(places)
    last = len(places) - 1
    return [places[round(number * last / max(1, limit - 1))] for number in range(limit)]


def _points(states: Sequence[Any], policy: ContextPolicy) -> list[ContextPoint]:
    counts: dict[str, int] = {}
    points = []
    for state in states:
        view = view_context(state.values, policy)
        if not view.journal:
            continue
        for message in view.journal:
            if message.id and message.id not in counts:
                counts[message.id] = count_message(message)
        said = sum(counts.get(message.id or "", 0) for message in view.journal)
        sealed = state.values.get("sealed") or {}
        both = len(sealed.get("kept", ()))
        points.append(
            ContextPoint(
                checkpoint_id=state.config["configurable"]["checkpoint_id"],
                step=(state.metadata or {}).get("step", 0),
                journal_messages=len(view.journal) + sealed.get("count", 0) - both,
                parts=dict(view.parts),
                masked=view.body.masked,
                evicted=view.body.evicted,
                whole=said + sum(view.parts[name] for name in ("system", "tools", "reference")),
                window=view.window,
                generation=view.decisions.generation,
            )
        )
    return points
