"""Threads that the graph keeps itself, with a checkpointer of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot
from starlette.requests import Request

from ...graphs.agent import context_policy
from ...graphs.closing import aclose_thread, close_thread
from ...graphs.compaction import (
    CompactionInput,
    CompactionOutput,
    compaction_error,
    create_compaction_graph,
)
from ...graphs.compiled import AgentGraph
from ...graphs.sessions import Session, session_of
from ...state.channels import ThreadContext
from ...state.errors import LongthreadError
from .identity import user_of

__all__ = ["OwnSessions"]

T = TypeVar("T")


class OwnSessions:
    """The threads of a graph with a checkpointer.

    Args:
        graph: The agent graph.
    """

    def __init__(self, graph: AgentGraph) -> None:
        self._graph = graph
        self._compaction = create_compaction_graph(graph)

    async def compact(
        self, request: Request, thread_id: str, asked: CompactionInput
    ) -> CompactionOutput:
        """Summarise the next part of a thread."""
        user = user_of(request)
        await self._check_owner(thread_id, user)
        given = CompactionInput(**asked, thread_id=thread_id)
        context = ThreadContext(user_id=user)
        try:
            done: Any = await _either(
                lambda: self._compaction.ainvoke(given, context=context),
                lambda: self._compaction.invoke(given, context=context),
            )
        except LongthreadError:
            raise
        except Exception as error:
            raise LongthreadError(**compaction_error(error)) from error
        result: CompactionOutput = done
        return result

    async def close(self, request: Request, thread_id: str) -> tuple[bool, Session]:
        """End a thread; return whether that was new, and the thread."""
        await self._check_owner(thread_id, user_of(request))
        config = _config(thread_id)
        new = await _either(
            lambda: aclose_thread(self._graph, config), lambda: close_thread(self._graph, config)
        )
        state = (await self._snapshot(thread_id)).values
        policy, name = context_policy(self._graph), self._graph.get_name()
        return new, session_of(thread_id, state, "closed", policy, agent=name)

    async def _snapshot(self, thread_id: str) -> StateSnapshot:
        config = _config(thread_id)
        return await _either(
            lambda: self._graph.aget_state(config), lambda: self._graph.get_state(config)
        )

    async def _check_owner(self, thread_id: str, user: str | None) -> None:
        """Raise as if a thread were not there if it is not the user's."""
        if not thread_id or "\0" in thread_id:  # PostgreSQL takes no question with a NUL in it
            raise LongthreadError(f"there is no thread {thread_id!r}", code="SESSION_NOT_FOUND")
        snapshot = await self._snapshot(thread_id)
        owner = (snapshot.values or {}).get("owner")
        # A thread that does not say whose it is can only be the default user's.
        if user != (owner["user"] if owner else None):
            raise LongthreadError(f"there is no thread {thread_id!r}", code="SESSION_NOT_FOUND")


def _config(thread_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id}}


async def _either(arun: Callable[[], Awaitable[T]], run: Callable[[], T]) -> T:
    """Do something asynchronously, or in a thread where the saver knows no other way."""
    try:
        return await arun()
    except NotImplementedError:
        return await asyncio.to_thread(run)
