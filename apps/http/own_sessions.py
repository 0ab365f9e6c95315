"""Threads that the graph keeps itself, with a checkpointer of its own."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request

from ...graphs.compaction import (
    CompactionInput,
    CompactionOutput,
    compaction_error,
    create_compaction_graph,
)
from ...graphs.compiled import AgentGraph
from ...state.channels import ThreadContext
from ...state.errors import LongthreadError
from .identity import user_of

__all__ = ["OwnSessions"]


class OwnSessions:
    """The threads of a graph with a checkpointer.

    Args:
        graph: The agent graph.
    """

    def __init__(self, graph: AgentGraph) -> None:
        self._compaction = create_compaction_graph(graph)

    async def compact(
        self, request: Request, thread_id: str, asked: CompactionInput
    ) -> CompactionOutput:
        """Summarise the next part of a thread."""
        given = CompactionInput(**asked, thread_id=thread_id)
        context = ThreadContext(user_id=user_of(request))
        try:
            try:
                done: Any = await self._compaction.ainvoke(given, context=context)
            except NotImplementedError:  # a saver without asynchronous methods
                done = await asyncio.to_thread(self._compaction.invoke, given, context=context)
        except LongthreadError:
            raise
        except Exception as error:
            raise LongthreadError(**compaction_error(error)) from error
        result: CompactionOutput = done
        return result
