"""A compiled graph whose steps are on disk before the next one starts."""

from __future__ import annotations

from typing import Any, Self

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

    def stream(self, *args: Any, **kwargs: Any) -> Any:
        """Stream as `CompiledStateGraph.stream` does, durably."""
        return super().stream(*args, **self._durable(kwargs))

    def astream(self, *args: Any, **kwargs: Any) -> Any:
        """Stream as `CompiledStateGraph.astream` does, durably."""
        return super().astream(*args, **self._durable(kwargs))

    def _durable(self, options: dict[str, Any]) -> dict[str, Any]:
        if options.get("durability") is None and isinstance(self.checkpointer, BaseCheckpointSaver):
            return {**options, "durability": "sync"}
        return options
