"""The compaction graph: `compact_thread` as a graph, so that a server can run and schedule it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot
from typing_extensions import TypedDict

from ..nodes.node import Node, Run, Steps, Update
from ..state.channels import ThreadContext
from ..state.errors import ConfigurationError, LongthreadError
from .agent import context_policy
from .compiled import AgentGraph
from .manual_compaction import compaction_steps
from .sessions import Session, session_of, status_of
from .thread_access import is_busy, state_of

__all__ = [
    "CompactionGraph",
    "CompactionInput",
    "CompactionOutput",
    "compaction_error",
    "create_compaction_graph",
]

log = logging.getLogger("longthread")


class CompactionInput(TypedDict, total=False):
    """What to compact.

    Keys:
        thread_id: The thread; left out: the one that the run is on.
        instructions: Added to the summariser's prompt.
        dry_run: Say what would be done; ask no model, write nothing. Refused like a compaction.
    """

    thread_id: str
    instructions: str | None
    dry_run: bool


class CompactionError(TypedDict):
    """Why nothing was done: the code of a `LongthreadError` and its message."""

    code: str
    message: str


class CompactionOutput(TypedDict, total=False):
    """What was done, see `CompactionResult`.

    Keys:
        session: The thread afterwards.
        error: Inside a server, what `compact_thread` would have raised; the other keys are missing
            then. A run that fails would leave the thread marked as failed.
    """

    thread_id: str
    compacted_count: int
    new_size: int
    already_up_to_date: bool
    session: Session
    error: CompactionError


class _State(CompactionInput, CompactionOutput, total=False):
    pass


class _CompactThread(Node):
    def __init__(self, agent: AgentGraph) -> None:
        self.agent = agent

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        try:
            return (yield from self._compacted(state, run))
        except Exception as error:
            if getattr(run.runtime, "server_info", None) is None:
                raise
            told = error if isinstance(error, LongthreadError) else None
            log.warning("no compaction: %s", told or error, exc_info=None if told else error)
            return {"error": compaction_error(error)}

    def _compacted(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        _check_saver(self.agent)
        thread_id = _thread_of(state, run)
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        result = yield from compaction_steps(
            self.agent,
            {**run.config, "configurable": config["configurable"]},
            state.get("instructions"),
            bool(state.get("dry_run")),
            run.runtime,
        )
        snapshot: StateSnapshot = yield state_of(self.agent, config)
        busy = yield from is_busy(self.agent, thread_id)
        return {
            "thread_id": result.thread_id,
            "compacted_count": result.compacted_count,
            "new_size": result.new_size,
            "already_up_to_date": result.already_up_to_date,
            "session": session_of(
                result.thread_id,
                snapshot.values,
                "busy" if busy else status_of(snapshot),
                context_policy(self.agent),
                agent=self.agent.get_name(),
            ),
        }


class CompactionGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph over the threads of an agent, without a thread of its own.

    A server runs a graph on a thread and hands it a saver for that thread. Here this is the agent's
    thread: only one run at a time may change it, which is what keeps a compaction and a call apart.
    So the saver goes to the agent, the steps of this graph are not stored, and whoever asks for the
    state of the thread is answered by the agent.

    Args:
        agent: The agent graph.
        parts: The arguments of `CompiledStateGraph`.
    """

    def __init__(self, *, agent: AgentGraph, **parts: Any) -> None:
        super().__init__(**{**parts, "checkpointer": False})
        self.agent = agent

    def copy(self, update: dict[str, Any] | None = None) -> Self:
        """Copy as `Pregel.copy` does; a checkpointer or store is for the agent."""
        update = dict(update or {})
        given = {key: update.pop(key, None) for key in ("checkpointer", "store")}
        given = {key: value for key, value in given.items() if value is not None}
        if not given:
            return super().copy(update)
        anew: Any = create_compaction_graph(self.agent.copy(given))
        copied: Self = anew.copy({"name": self.name, "config": self.config, **update})
        return copied

    def stream(self, *args: Any, durability: Any = None, **options: Any) -> Any:  # noqa: ARG002
        """Stream as `Pregel.stream` does; how steps are stored says nothing where none are."""
        return super().stream(*args, **options)

    def astream(self, *args: Any, durability: Any = None, **options: Any) -> Any:  # noqa: ARG002
        """Stream as `Pregel.astream` does; how steps are stored says nothing where none are."""
        return super().astream(*args, **options)

    def get_state(self, *args: Any, **options: Any) -> StateSnapshot:
        """Return the state of the agent's thread."""
        return self.agent.get_state(*args, **options)

    async def aget_state(self, *args: Any, **options: Any) -> StateSnapshot:
        """Return the state of the agent's thread."""
        return await self.agent.aget_state(*args, **options)

    def get_state_history(self, *args: Any, **options: Any) -> Iterator[StateSnapshot]:
        """Return the history of the agent's thread."""
        return self.agent.get_state_history(*args, **options)

    def aget_state_history(self, *args: Any, **options: Any) -> AsyncIterator[StateSnapshot]:
        """Return the history of the agent's thread."""
        return self.agent.aget_state_history(*args, **options)

    def bulk_update_state(self, *args: Any, **options: Any) -> RunnableConfig:
        """Update the agent's thread."""
        return self.agent.bulk_update_state(*args, **options)

    async def abulk_update_state(self, *args: Any, **options: Any) -> RunnableConfig:
        """Update the agent's thread."""
        return await self.agent.abulk_update_state(*args, **options)


def create_compaction_graph(agent: AgentGraph) -> CompactionGraph:
    """Make a graph that compacts threads of an agent on demand.

    In LangGraph Server, run it on the thread itself, with `multitask_strategy="reject"`.

    Args:
        agent: The agent graph, compiled with the checkpointer that holds its threads; inside a
            server, the one that the server serves.

    Returns:
        A compiled graph: `CompactionInput` in, `CompactionOutput` out. It raises what
        `compact_thread` raises.
    """
    graph = StateGraph(
        _State,
        context_schema=ThreadContext,
        input_schema=CompactionInput,
        output_schema=CompactionOutput,
    )
    graph.add_node("compaction", _CompactThread(agent))
    graph.add_edge(START, "compaction")
    graph.add_edge("compaction", END)
    parts = vars(graph.compile(name="compaction"))
    return CompactionGraph(agent=agent, **{k: v for k, v in parts.items() if k != "__orig_class__"})


def _thread_of(state: Mapping[str, Any], run: Run) -> str:
    """Return the thread to compact: what is known of a run's user is that this thread is theirs."""
    thread_id = state.get("thread_id") or run.thread_id or ""
    user = getattr(getattr(run.runtime, "server_info", None), "user", None)
    if user is not None and thread_id != run.thread_id:
        raise LongthreadError(
            f"there is no thread {thread_id!r} for this run: run the compaction graph on the "
            "thread that it is to compact",
            code="SESSION_NOT_FOUND",
        )
    return thread_id


def _check_saver(agent: AgentGraph) -> None:
    if agent.checkpointer is None:
        raise ConfigurationError(
            "the compaction graph has no checkpointer here: run it on the thread that it is to "
            "compact, or make it of an agent graph with a checkpointer"
        )


def compaction_error(error: Exception) -> CompactionError:
    """Return what a client may know of an error: a provider's own text can hold secrets.

    Args:
        error: What `compact_thread` raised.
    """
    if isinstance(error, LongthreadError):
        return CompactionError(code=error.code, message=str(error))
    message = f"the summary could not be made ({type(error).__name__}); the server's log says more"
    return CompactionError(code="SUMMARY_FAILED", message=message)
