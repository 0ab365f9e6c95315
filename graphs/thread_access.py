"""Finding a thread from outside: what `compact_thread`, `close_thread` and others begin with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import StateSnapshot

from ..nodes.compaction import CompactionNode
from ..nodes.intake import graph_path
from ..nodes.node import Effect, Steps
from ..state.errors import ConfigurationError, LongthreadError
from ..stores.checkpointers.leases import is_worked_on, lease_on, released

__all__ = [
    "agent_at",
    "alone_on",
    "checkpoint_in",
    "end_of_branch",
    "is_busy",
    "named_in",
    "newest",
    "state_of",
    "thread_in",
]

T = TypeVar("T")


def thread_in(config: RunnableConfig) -> str:
    """Return the id of the thread that a config names.

    Raises:
        ConfigurationError: It names none, or a checkpoint of it by something that is no text.
    """
    named = named_in(config)
    thread_id = str(named.get("thread_id") or "")
    if not thread_id:
        raise ConfigurationError(f"config={config!r}: name the thread by configurable.thread_id")
    checkpoint_id = named.get("checkpoint_id")
    if checkpoint_id is not None and not isinstance(checkpoint_id, str):
        raise ConfigurationError(
            f"config: configurable.checkpoint_id={checkpoint_id!r}: pass the text that a state's "
            "config has there"
        )
    return thread_id


def named_in(config: RunnableConfig | None) -> Mapping[str, Any]:
    """Return what a config names: its `configurable`.

    Raises:
        ConfigurationError: It is no config; a thread's id alone, say.
    """
    if config is not None and not isinstance(config, Mapping):
        raise ConfigurationError(
            f"config={config!r}: pass a config, {{'configurable': {{'thread_id': …}}}}"
        )
    return (config or {}).get("configurable") or {}


def agent_at(graph: Any, config: RunnableConfig) -> Any:
    """Return the agent graph itself: the one given, or the subgraph that `checkpoint_ns` names.

    Raises:
        LongthreadError: There is no agent graph (code `SESSION_NOT_FOUND`).
    """
    namespace = named_in(config).get("checkpoint_ns")
    found = graph
    if namespace:
        path = "|".join(graph_path(namespace))
        subgraphs: Iterator[tuple[str, Any]] = graph.get_subgraphs(namespace=path, recurse=True)
        found = next((subgraph for _, subgraph in subgraphs), None)
    nodes = getattr(getattr(found, "builder", None), "nodes", {})
    if not isinstance(getattr(nodes.get("compaction"), "runnable", None), CompactionNode):
        raise LongthreadError(
            f"graph={type(graph).__name__} has no agent graph at checkpoint_ns={namespace!r}: pass "
            "the agent graph itself, or name it by configurable.checkpoint_ns",
            code="SESSION_NOT_FOUND",
        )
    return found


def state_of(graph: Any, config: RunnableConfig) -> Effect:
    """An effect: read the state of a thread, a `StateSnapshot`.

    Raises:
        ConfigurationError: The graph has no checkpointer, so it has no threads.
    """
    values = config.get("configurable") or {}
    if not values.get("__pregel_checkpointer", graph.checkpointer):
        raise ConfigurationError(
            f"graph={type(graph).__name__} has no checkpointer: compile it with the one that holds "
            "the threads"
        )
    return Effect(run=lambda: graph.get_state(config), arun=lambda: graph.aget_state(config))


def newest(config: RunnableConfig) -> RunnableConfig:
    """Return a config that names the same thread as it is now, whatever checkpoint this one names.

    The config of a state that was read a while ago names one. To write there is to go back: what
    was said since would no longer be in the thread.
    """
    configurable = dict(config.get("configurable") or {})
    for name in ("checkpoint_id", "checkpoint_map"):
        configurable.pop(name, None)
    return {**config, "configurable": configurable}


def end_of_branch(graph: Any, config: RunnableConfig) -> Steps[RunnableConfig]:
    """Return a config that names the thread as it is now, or the other branch that is meant.

    A checkpoint that the newest one goes back to is only where the thread was when somebody looked.
    One that it does not go back to lies on another branch, and whoever names it means that one.
    """
    named = named_in(config)
    wanted = named.get("checkpoint_id")
    saver = getattr(graph, "checkpointer", None)
    if not wanted or named.get("checkpoint_ns") or not isinstance(saver, BaseCheckpointSaver):
        return newest(config)
    place: RunnableConfig | None = {
        "configurable": {"thread_id": thread_in(config), "checkpoint_ns": ""}
    }
    while place is not None:
        found: CheckpointTuple | None = yield _stored(saver, place)
        if found is None or found.checkpoint["id"] < wanted:  # ids grow with time
            return config
        if found.checkpoint["id"] == wanted:
            break
        place = found.parent_config
    return newest(config) if place is not None else config


def _stored(saver: BaseCheckpointSaver[Any], place: RunnableConfig) -> Effect:
    return Effect(run=lambda: saver.get_tuple(place), arun=lambda: saver.aget_tuple(place))


def alone_on(graph: Any, thread_id: str, work: Steps[T]) -> Steps[T]:
    """Do something while nobody else works on a thread, if the graph has its own checkpointer.

    Raises:
        LongthreadError: Somebody is working on the thread (code `SESSION_BUSY`).
    """
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        return (yield from work)
    lease = yield from lease_on(saver, thread_id)
    try:
        return (yield from work)
    finally:
        yield released(lease)


def is_busy(graph: Any, thread_id: str) -> Steps[bool]:
    """Whether somebody works on a thread in a graph's own checkpointer, as far as that tells."""
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        return False
    return (yield from is_worked_on(saver, thread_id))


def checkpoint_in(snapshot: StateSnapshot) -> str | None:
    """Return the id of the checkpoint that a state was read from."""
    return (snapshot.config.get("configurable") or {}).get("checkpoint_id")
