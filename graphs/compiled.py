"""A compiled graph whose steps are on disk before the next one starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Self

from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from ..nodes.dispatch import ANSWERED
from .unfinished import is_new_input, with_finished

__all__ = ["AgentGraph"]


class AgentGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A `CompiledStateGraph` that runs with `durability="sync"` unless told otherwise.

    And one that keeps what finished tasks of an interrupted call have said, when a new message
    comes.

    LangGraph's default, `"async"`, writes a step while the next one runs: a kill right after a fast
    step loses it, and a tool that has run is run again. Only a graph with a saver of its own
    chooses; as part of another graph, and inside LangGraph Server, the outer one does.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph as an `AgentGraph`, the way that its `copy` copies."""
        return cls(**{k: v for k, v in vars(graph).items() if k != "__orig_class__"})

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Stream as `CompiledStateGraph.stream` does, durably and losing nothing."""
        newest = self._newest(config)
        if newest is not None and is_new_input(input):
            assert isinstance(self.checkpointer, BaseCheckpointSaver)
            input = with_finished(input, self.checkpointer.get_tuple(newest))
        options = self._durable(config, options)
        return super().stream(input, self._with_answered(config), **options)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Stream as `CompiledStateGraph.astream` does, durably and losing nothing."""
        newest = self._newest(config)
        if newest is not None and is_new_input(input):
            assert isinstance(self.checkpointer, BaseCheckpointSaver)
            input = with_finished(input, await self.checkpointer.aget_tuple(newest))
        options = self._durable(config, options)
        chunks: Any = super().astream(input, self._with_answered(config), **options)
        async with aclosing(chunks):  # whoever stops listening stops the run
            async for chunk in chunks:
                yield chunk

    def _keeps_its_thread(self, config: RunnableConfig | None) -> bool:
        """Whether this graph's own saver holds the thread, not an outer graph's."""
        return isinstance(self.checkpointer, BaseCheckpointSaver) and not _inside_a_graph(config)

    def _newest(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return where the thread's newest checkpoint is, or None if the call is not about that.

        A call on an older checkpoint begins a branch: what follows that checkpoint is another
        one's.
        """
        merged = ensure_config(merge_configs(self.config, config))
        configurable = merged.get("configurable") or {}
        if not self._keeps_its_thread(config) or configurable.get("checkpoint_id"):
            return None
        return merged if configurable.get("thread_id") is not None else None

    def _with_answered(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Give a call on a thread a place of its own for what the model has asked for in it."""
        values = ensure_config(merge_configs(self.config, config)).get("configurable") or {}
        if values.get("thread_id") is None:
            return config
        return merge_configs(config, {"configurable": {ANSWERED: set()}})

    def _durable(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        if self._keeps_its_thread(config) and options.get("durability") is None:
            return {**options, "durability": "sync"}
        return options


def _inside_a_graph(config: RunnableConfig | None) -> bool:
    """Whether this run is part of another graph's: LangGraph passes its own keys down."""
    configurable = ensure_config(config).get("configurable") or {}
    return any(str(key).startswith("__pregel_") for key in configurable)
