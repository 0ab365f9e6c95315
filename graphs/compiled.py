"""A compiled graph whose steps are on disk before the next one starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Self

from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import merge_configs
from langgraph.graph.state import CompiledStateGraph

from ..nodes.dispatch import ANSWERED
from .subthread import newest_checkpoint, saver_of
from .unfinished import is_new_input, with_finished

__all__ = ["AgentGraph"]


class AgentGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A `CompiledStateGraph` that runs with `durability="sync"` unless told otherwise.

    And one that keeps what finished tasks of an interrupted call have said, when a new message
    comes.

    LangGraph's default, `"async"`, writes a step while the next one runs: a kill right after a fast
    step loses it, and a tool that has run is run again. Both hold wherever the graph keeps a
    thread: with a saver of its own, inside LangGraph Server, and inside another graph.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph as an `AgentGraph`, the way that its `copy` copies."""
        return cls(**{k: v for k, v in vars(graph).items() if k != "__orig_class__"})

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Stream as `CompiledStateGraph.stream` does, durably and losing nothing."""
        called = ensure_config(merge_configs(self.config, config))
        newest = newest_checkpoint(self, called)
        if newest is not None and is_new_input(input):
            saver, place = newest
            input = with_finished(input, saver.get_tuple(place))
        options = self._durable(called, options)
        return super().stream(input, _with_answered(called, config), **options)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Stream as `CompiledStateGraph.astream` does, durably and losing nothing."""
        called = ensure_config(merge_configs(self.config, config))
        newest = newest_checkpoint(self, called)
        if newest is not None and is_new_input(input):
            saver, place = newest
            input = with_finished(input, await saver.aget_tuple(place))
        options = self._durable(called, options)
        chunks: Any = super().astream(input, _with_answered(called, config), **options)
        async with aclosing(chunks):  # whoever stops listening stops the run
            async for chunk in chunks:
                yield chunk

    def _durable(self, called: RunnableConfig, options: dict[str, Any]) -> dict[str, Any]:
        """Choose how steps are stored, where nobody has: not the caller, not an outer graph's."""
        if options.get("durability") is not None or saver_of(self, called) is None:
            return options
        chosen = "__pregel_durability" in (called.get("configurable") or {})
        return options if chosen else {**options, "durability": "sync"}


def _with_answered(called: RunnableConfig, config: RunnableConfig | None) -> RunnableConfig | None:
    """Give a call on a thread a place of its own for what the model has asked for in it."""
    if (called.get("configurable") or {}).get("thread_id") is None:
        return config
    return merge_configs(config, {"configurable": {ANSWERED: set()}})
