"""Ending a thread: `close_thread` and its asynchronous twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from ..nodes.node import Effect, Steps, adrive, drive
from ..state.errors import LongthreadError
from .thread_access import agent_at, alone_on, newest, state_of, thread_in

__all__ = ["aclose_thread", "close_thread"]


def close_thread(graph: Any, config: RunnableConfig) -> bool:
    """End a thread: whoever calls the agent in it again gets an error.

    What was said stays where it is and can be read. A call that waits in an interrupt, or that
    failed, ends without an answer; what its tools have already returned is kept.

    Args:
        graph: The compiled agent graph, or one that holds it, with its checkpointer.
        config: Names the thread (`configurable.thread_id`), and with `checkpoint_ns` a subgraph's.

    Returns:
        Whether this closed it; False: it was closed already.

    Raises:
        LongthreadError: With code `SESSION_NOT_FOUND`, or `SESSION_BUSY` when somebody is working
            on it.
    """
    return drive(_steps(graph, config))


async def aclose_thread(graph: Any, config: RunnableConfig) -> bool:
    """Do what `close_thread` does, asynchronously."""
    return await adrive(_steps(graph, config))


def _steps(graph: Any, config: RunnableConfig) -> Steps[bool]:
    thread_id = thread_in(config)
    agent_at(graph, config)
    return (yield from alone_on(graph, thread_id, _closed(graph, config, thread_id)))


def _closed(graph: Any, config: RunnableConfig, thread_id: str) -> Steps[bool]:
    before: StateSnapshot = yield state_of(graph, newest(config))
    if before.created_at is None:
        raise LongthreadError(f"there is no thread {thread_id!r}", code="SESSION_NOT_FOUND")
    if before.values.get("closed"):
        return False
    # Written as the last node of a call: nothing comes next.
    update = {"closed": True, "messages": _finished(before)}
    place, last = before.config, "consolidation"
    yield Effect(
        run=lambda: graph.update_state(place, update, as_node=last),
        arun=lambda: graph.aupdate_state(place, update, as_node=last),
    )
    return True


def _finished(before: StateSnapshot) -> list[BaseMessage]:
    """Return what finished tasks of an unfinished step have said."""
    results = [task.result for task in before.tasks if isinstance(task.result, Mapping)]
    return [message for result in results for message in _messages_in(result.get("messages"))]


def _messages_in(value: Any) -> Iterator[BaseMessage]:
    """Yield messages however deep they are: LangGraph gathers a task's writes to one channel."""
    if isinstance(value, BaseMessage):
        yield value
    elif isinstance(value, Mapping):
        yield from _messages_in(value.get("$writes"))
    elif isinstance(value, list):
        for item in value:
            yield from _messages_in(item)
