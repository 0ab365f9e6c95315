"""A compiled graph whose steps are on disk before the next one starts."""

from __future__ import annotations

from typing import Any, Self

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

__all__ = ["AgentGraph"]


class AgentGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A `CompiledStateGraph` that runs with `durability="sync"` unless told otherwise.

    LangGraph's default, `"async"`, writes a step while the next one runs: a kill right after a fast
    step loses it, and a tool that has run is run again. Only a graph with a saver of its own
    chooses; as part of another graph, and inside LangGraph Server, the outer one does.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph as an `AgentGraph`, the way that its `copy` copies."""
        return cls(**{k: v for k, v in vars(graph).items() if k != "__orig_class__"})

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Stream as `CompiledStateGraph.stream` does, durably."""
        return super().stream(input, config, **self._durable(config, options))

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Stream as `CompiledStateGraph.astream` does, durably."""
        return super().astream(input, config, **self._durable(config, options))

    def _durable(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        chooses = isinstance(self.checkpointer, BaseCheckpointSaver) and not _inside_a_graph(config)
        if chooses and options.get("durability") is None:
            return {**options, "durability": "sync"}
        return options


def _inside_a_graph(config: RunnableConfig | None) -> bool:
    """Whether this run is part of another graph's: LangGraph passes its own keys down."""
    configurable = ensure_config(config).get("configurable") or {}
    return any(str(key).startswith("__pregel_") for key in configurable)
