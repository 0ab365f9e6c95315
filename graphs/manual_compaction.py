"""Compacting a thread on demand: `compact_thread` and its asynchronous twin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from langgraph.types import Overwrite, StateSnapshot

from ..nodes.closed import refuse_closed
from ..nodes.compaction import CompactionNode, Plan
from ..nodes.flush import FlushNode
from ..nodes.identity import now
from ..nodes.node import Effect, Run, Steps, adrive, drive, io
from ..state.decisions import Compaction
from ..state.errors import ConfigurationError, LongthreadError
from ..state.projection import view_context
from ..state.rolling import rolling_record
from ..stores.workspace import Owner
from .thread_access import (
    agent_at,
    alone_on,
    checkpoint_in,
    end_of_branch,
    is_busy,
    state_of,
    thread_in,
)

__all__ = [
    "CompactionResult",
    "acompact_thread",
    "compact_thread",
    "compaction_steps",
]


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction on demand did.

    Attributes:
        thread_id: The thread.
        compacted_count: Messages that this run summarised (or would, in a dry run).
        new_size: Messages summarised so far, this run included.
        already_up_to_date: Whether there was nothing to compact; then no model was asked.
    """

    thread_id: str
    compacted_count: int
    new_size: int
    already_up_to_date: bool


def compact_thread(
    graph: Any,
    config: RunnableConfig,
    instructions: str | None = None,
    dry_run: bool = False,
) -> CompactionResult:
    """Summarise the next part of a thread, from its beginning (`RollingCompactionConfig`).

    Args:
        graph: The compiled agent graph, or one that holds it, with its checkpointer.
        config: Names the thread (`configurable.thread_id`), and with `checkpoint_ns` a subgraph's.
            It is compacted as it is now, also when the config is that of a state read earlier;
            a checkpoint on another branch (time travel) names that branch.
        instructions: Added to the summariser's prompt for this run.
        dry_run: Say what would be done; ask no model, write nothing. It is refused where the
            compaction itself would be.

    Returns:
        What was done.

    Raises:
        LongthreadError: With code `SESSION_NOT_FOUND`, `SESSION_CLOSED`, `COMPACTION_DISABLED`, or
            `SESSION_BUSY` when the thread waits in an interrupt, is in the middle of a call, or
            moved on while the summary was made. Nothing was written.
        SummaryRefused: The summary cannot stand in for the messages. Nothing was written.
    """
    return drive(compaction_steps(graph, config, instructions, dry_run))


async def acompact_thread(
    graph: Any,
    config: RunnableConfig,
    instructions: str | None = None,
    dry_run: bool = False,
) -> CompactionResult:
    """Do what `compact_thread` does, asynchronously."""
    return await adrive(compaction_steps(graph, config, instructions, dry_run))


def compaction_steps(
    graph: Any,
    config: RunnableConfig,
    instructions: str | None,
    dry_run: bool,
    runtime: Runtime[Any] | ToolRuntime[Any, Any] | None = None,
) -> Steps[CompactionResult]:
    """The core of `compact_thread`, for callers that perform the effects themselves."""
    thread_id = thread_in(config)
    if instructions is not None and not isinstance(instructions, str):
        raise ConfigurationError(f"instructions={instructions!r}: pass a text, or None")
    config = yield from end_of_branch(graph, config)
    agent = agent_at(graph, config)
    compaction: CompactionNode = agent.builder.nodes["compaction"].runnable
    before: StateSnapshot = yield state_of(graph, config)
    state = _open_state(before, compaction, thread_id)
    as_node = _place_to_write_from(before, thread_id)
    yield from _check_rest(graph, thread_id)
    view, plan = compaction.manual(state, instructions)
    size = view.decisions.size
    if plan is None:
        return CompactionResult(thread_id, 0, size, already_up_to_date=True)
    result = CompactionResult(
        thread_id, plan.cut.size - size, plan.cut.size, already_up_to_date=False
    )
    if dry_run:
        return result
    run = Run(config, runtime)
    yield from _flushed(agent, state, plan, run)
    record = yield from compaction.carried_out(plan, state, run)
    yield from alone_on(graph, thread_id, _committed(graph, config, before, record, as_node))
    return result


def _open_state(before: StateSnapshot, node: CompactionNode, thread_id: str) -> dict[str, Any]:
    """Return the thread's state if it may be compacted at all."""
    state: dict[str, Any] = dict(before.values or {})
    if not state.get("messages"):
        raise LongthreadError(
            f"there is no thread {thread_id!r} with messages in it", code="SESSION_NOT_FOUND"
        )
    refuse_closed(state, thread_id)
    state["rolling"] = state.get("rolling") or rolling_record(node.policy.rolling)
    if not state["rolling"]["enabled"]:
        raise LongthreadError(
            f"rolling compaction is turned off for thread {thread_id!r} "
            "(RollingCompactionConfig.enabled=False when it was created)",
            code="COMPACTION_DISABLED",
        )
    return state


def _place_to_write_from(
    before: StateSnapshot, thread_id: str
) -> Literal["consolidation", "compaction"]:
    """Return the node to write as, so that what is next in the thread stays next."""
    if not before.interrupts:
        if before.next == () and not before.tasks:  # a finished task is not next, and not over
            return "consolidation"  # after it comes the end, where the thread is
        if before.next == ("reasoning",) and _has_failed(before):
            return "compaction"  # it is still what comes next
    raise LongthreadError(
        f"thread {thread_id!r} is in the middle of a call (next: {', '.join(before.next)}): let it "
        "finish or resume it first",
        code="SESSION_BUSY",
    )


def _check_rest(graph: Any, thread_id: str) -> Steps[None]:
    """Raise if somebody works on a thread: the checkpoints do not tell of every call.

    One that has only just begun, or that repeats a model call that failed, has stored nothing yet.
    """
    if (yield from is_busy(graph, thread_id)):
        raise LongthreadError(
            f"thread {thread_id!r} is being worked on: try again when that call has ended",
            code="SESSION_BUSY",
        )


def _has_failed(before: StateSnapshot) -> bool:
    """Whether the model call that is next has failed, and is not just being made."""
    updated = (before.metadata or {}).get("source") == "update"  # by us, after it failed
    return updated or all(task.error for task in before.tasks)


def _flushed(agent: Any, state: dict[str, Any], plan: Plan, run: Run) -> Steps[None]:
    """Extract facts from what is about to be summarised, as before any other compaction."""
    flush: FlushNode = agent.builder.nodes["flush"].runnable
    if not flush.policy.flushes:
        return
    moment: datetime = yield io(now, run)
    view = view_context(state, flush.policy)
    owner = state.get("owner")  # no call says here whose thread it is; its first one did
    files = flush.workspace.scoped(Owner(**owner)) if owner else flush.files(run)
    yield from flush.extracted(view, plan.cut.position, files, moment, run)


def _committed(
    graph: Any, config: RunnableConfig, before: StateSnapshot, record: Compaction, as_node: str
) -> Steps[None]:
    """Write the record, unless the thread has moved on since."""
    after: StateSnapshot = yield state_of(graph, config)
    if checkpoint_in(after) != checkpoint_in(before):
        raise LongthreadError(
            f"thread {thread_in(config)!r} moved on while its summary was made: nothing was "
            "written; try again when it rests",
            code="SESSION_BUSY",
        )
    update: dict[str, Any] = {"compaction": Overwrite(record)}
    yield Effect(
        run=lambda: graph.update_state(before.config, update, as_node=as_node),
        arun=lambda: graph.aupdate_state(before.config, update, as_node=as_node),
    )
