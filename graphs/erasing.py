"""Erasing threads and users: `erase_thread`, `erase_user` and their asynchronous twins.

What belongs to a thread goes in an order in which a crash leaves nothing that cannot be found
again: its checkpoints, which say whose it is, go last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.runtime import Runtime
from langgraph.types import StateSnapshot

from ..nodes.background import BackgroundJob, drop
from ..nodes.end_of_call import EndOfCall
from ..nodes.identity import owner_of
from ..nodes.node import Run, Steps, adrive, drive, io
from ..nodes.recall import RecallNode
from ..state.channels import ThreadContext
from ..state.errors import ConfigurationError, LongthreadError
from ..stores.checkpointers.leases import forget_thread_lease
from ..stores.erasing import Remains, erase_remains, remains_of, without_shared
from ..stores.journal import ThreadKey
from ..stores.journal.forgetting import forget_all_threads, forget_in_journal
from ..stores.journal.heads import StoredThread, stored_threads
from ..stores.journal.saver_calls import get_tuple
from ..stores.journal.sharing import names_in, other_threads
from ..stores.journal.stored import clean_log, delete_checkpoints, stored_keys
from ..stores.workspace import Owner, Workspace
from .thread_access import agent_at, alone_on, state_of, thread_in

__all__ = ["ErasureResult", "aerase_thread", "aerase_user", "erase_thread", "erase_user"]


@dataclass(frozen=True, slots=True)
class ErasureResult:
    """What was erased, or in a dry run would be.

    Attributes:
        threads: The threads.
        checkpoints: Their checkpoints.
        files: Paths of evicted texts; of a user, of all files.
        records: Bookkeeping records: sealed parts of journals, flush cursors.
        ledger_entries: Entries of daily ledgers that were made from the threads.
        kept: Evicted texts and segments of the threads that stay: other threads, copied from them
            by others than `fork_thread`, need them. They go with the last of those.
        kept_for: The ids of those other threads.
    """

    threads: tuple[str, ...] = ()
    checkpoints: int = 0
    files: tuple[str, ...] = ()
    records: int = 0
    ledger_entries: int = 0
    kept: tuple[str, ...] = ()
    kept_for: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there was nothing to erase."""
        return replace(self, kept=(), kept_for=()) == ErasureResult()


def erase_thread(
    graph: Any,
    config: RunnableConfig,
    *,
    context: ThreadContext | Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> ErasureResult:
    """Remove a thread and what it has left: checkpoints, evicted texts, ledger entries, registry.

    Pending memory work of this process for the thread is dropped. What was merged into MEMORY.md,
    or saved there by the agent, cannot be traced to a thread and stays; `erase_user` removes it.
    Safe to do again: after a crash in the middle, the second time finishes.

    Args:
        graph: The compiled agent graph, or one that holds agents, with its checkpointer.
        config: Names the thread by `configurable.thread_id`; agents inside go with it.
        context: Whose thread it has to be; None: whoever's it is.
        dry_run: Only say what there is.

    Raises:
        LongthreadError: With code `SESSION_NOT_FOUND` if the thread is another user's, or
            `SESSION_BUSY` if somebody is working on it.
        WorkspaceError: A file cannot be changed; the thread is still there.
    """
    return drive(_erase_thread(graph, thread_in(config), context, dry_run))


async def aerase_thread(
    graph: Any,
    config: RunnableConfig,
    *,
    context: ThreadContext | Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> ErasureResult:
    """Do what `erase_thread` does, asynchronously."""
    return await adrive(_erase_thread(graph, thread_in(config), context, dry_run))


def erase_user(graph: Any, user: str | None, *, dry_run: bool = False) -> ErasureResult:
    """Remove all threads of a user and everything remembered of them, MEMORY.md included.

    Args:
        graph: The compiled agent graph, or one that holds agents, with its checkpointer.
        user: The user's id; None: the default user.
        dry_run: Only say what there is.

    Raises:
        LongthreadError: With code `SESSION_BUSY` if somebody is working on one of the threads: what
            was not erased by then is erased the next time.
        WorkspaceError: A file cannot be removed.
    """
    return drive(_erase_user(graph, user, dry_run))


async def aerase_user(graph: Any, user: str | None, *, dry_run: bool = False) -> ErasureResult:
    """Do what `erase_user` does, asynchronously."""
    return await adrive(_erase_user(graph, user, dry_run))


@dataclass(frozen=True, slots=True)
class _Part:
    """One agent's part of a thread."""

    key: ThreadKey
    recall: RecallNode
    owner: Owner
    remains: Remains


def _erase_thread(
    graph: Any,
    thread: str,
    context: ThreadContext | Mapping[str, Any] | None,
    dry_run: bool,
    *,
    whole_user: bool = False,
) -> Steps[ErasureResult]:
    saver = _saver_of(graph)
    if dry_run:
        found, _ = yield from _found(graph, saver, thread, context, whole_user=whole_user)
        return found
    work = _erased(graph, saver, thread, context, whole_user=whole_user)
    result = yield from alone_on(graph, thread, work)
    yield io(forget_thread_lease, saver, thread)
    return result


def _erased(
    graph: Any,
    saver: BaseCheckpointSaver[Any],
    thread: str,
    context: ThreadContext | Mapping[str, Any] | None,
    *,
    whole_user: bool,
) -> Steps[ErasureResult]:
    result, parts = yield from _found(
        graph, saver, thread, context, quiet=True, whole_user=whole_user
    )
    for part in parts:
        files = part.recall.workspace.scoped(part.owner)
        yield io(erase_remains, files, thread, part.remains)
        yield from forget_in_journal(saver, files, part.owner, thread, scrub=not whole_user)
    yield from delete_checkpoints(saver, thread)
    return result


def _found(
    graph: Any,
    saver: BaseCheckpointSaver[Any],
    thread: str,
    context: ThreadContext | Mapping[str, Any] | None,
    *,
    quiet: bool = False,
    whole_user: bool,
) -> Steps[tuple[ErasureResult, list[_Part]]]:
    """Find what a thread has left, and check whose it is.

    With `quiet`, nothing in the background adds to it any more.
    """
    keys = yield from stored_keys(saver, thread)
    parts: list[_Part] = []
    for key in keys or {ThreadKey(thread): 0}:
        recall = _recall_at(graph, key)
        if recall is None:
            continue  # not an agent's
        asked = owner_of(Run({}, Runtime(context=context)), recall.agent)
        snapshot: StateSnapshot = yield state_of(graph, key.config())
        recorded = (snapshot.values or {}).get("owner")
        owner = Owner(recorded["user"], recorded["agent"]) if recorded else asked
        if context is not None and owner.user != asked.user:
            raise LongthreadError(
                f"user {asked.user!r} has no thread {thread!r}", code="SESSION_NOT_FOUND"
            )
        if quiet:
            yield from _without_background(_jobs_of(recall.workspace, thread), f"thread {thread!r}")
        files = recall.workspace.scoped(owner)
        eviction = recall.policy.eviction
        remains: Remains = yield io(
            remains_of,
            files,
            thread,
            eviction.path if eviction is not None else "large_tool_results",
            (yield io(names_in, files, snapshot.values or {})),
        )
        if remains.shareable and not whole_user:
            others = yield from other_threads(saver, files, owner, thread)
            remains = without_shared(remains, thread, others)
        parts.append(_Part(key, recall, owner, remains))
    return _summed(thread, sum(keys.values()), parts), parts


def _summed(thread: str, checkpoints: int, parts: list[_Part]) -> ErasureResult:
    files, kept, kept_for = (
        tuple(sorted({name for part in parts for name in getattr(part.remains, what)}))
        for what in ("files", "kept", "kept_for")
    )
    result = ErasureResult(
        (thread,),
        checkpoints,
        files,
        sum(len(part.remains.records) for part in parts),
        sum(sum(part.remains.entries.values()) for part in parts),
        kept,
        kept_for,
    )
    without = replace(result, threads=())
    return without if without.nothing else result


def _jobs_of(workspace: Workspace, thread: str) -> Callable[[Any, BackgroundJob], bool]:
    """Return what tells the background work of a thread from other work."""
    return lambda _, job: (
        isinstance(job, EndOfCall) and job.holds is workspace and job.talk.cursor.thread == thread
    )


def _without_background(doomed: Any, whose: str) -> Steps[None]:
    if not (yield io(drop, doomed)):
        raise LongthreadError(
            f"facts are still being extracted from {whose}: try again when that has ended",
            code="SESSION_BUSY",
        )


def _erase_user(graph: Any, user: str | None, dry_run: bool) -> Steps[ErasureResult]:
    saver = _saver_of(graph)
    owners: list[tuple[RecallNode, Owner]] = [
        (recall, Owner(user, recall.agent)) for recall in _recalls_in(graph)
    ]
    threads = yield from _threads_of(saver, user)
    known: set[Owner] = set().union(*threads.values())
    owners += [(recall, owner) for recall in _recalls_in(graph) for owner in sorted(known, key=str)]
    total = ErasureResult(files=tuple((yield io(_all_files, owners))))
    for thread in threads:
        one = yield from _erase_thread(graph, thread, None, dry_run, whole_user=True)
        total = replace(
            total,
            threads=(*total.threads, thread),
            checkpoints=total.checkpoints + one.checkpoints,
            records=total.records + one.records,
            ledger_entries=total.ledger_entries + one.ledger_entries,
        )
    if dry_run:
        return total
    workspaces = {id(recall.workspace): recall.workspace for recall, _ in owners}.values()

    def doomed(key: Any, job: BackgroundJob) -> bool:
        return isinstance(job, EndOfCall) and key[1].user == user and job.holds in workspaces

    yield from _without_background(doomed, f"threads of user {user!r}")
    for recall, owner in dict.fromkeys(owners):
        yield from forget_all_threads(saver, recall.workspace.scoped(owner), owner)
    for workspace in workspaces:
        yield io(workspace.erase_user, user)
    yield from clean_log(saver)  # a thread may have been deleted in a call that a crash ended
    return total


def _threads_of(saver: BaseCheckpointSaver[Any], user: str | None) -> Steps[dict[str, set[Owner]]]:
    """Return the threads that say that they are a user's, from the checkpointer: the truth."""
    found: dict[str, set[Owner]] = {}
    stored: list[StoredThread] = yield from stored_threads(saver)
    for one in stored:
        newest: CheckpointTuple | None = yield get_tuple(saver, one.key.config(one.last))
        recorded = newest.checkpoint["channel_values"].get("owner") if newest else None
        if recorded and recorded["user"] == user:
            owners = found.setdefault(one.key.thread_id, set())
            owners.add(Owner(recorded["user"], recorded["agent"]))
    return found


def _all_files(owners: list[tuple[RecallNode, Owner]]) -> list[str]:
    found: set[str] = set()
    for recall, owner in owners:
        files = recall.workspace.scoped(owner)
        found.update(files.list_files(), files.list_files("global"))
    return sorted(found)


def _saver_of(graph: Any) -> BaseCheckpointSaver[Any]:
    saver = getattr(graph, "checkpointer", None)
    if not isinstance(saver, BaseCheckpointSaver):
        raise ConfigurationError(
            f"graph={type(graph).__name__} has no checkpointer of its own: compile it with the one "
            "that holds the threads"
        )
    return saver


def _recall_at(graph: Any, key: ThreadKey) -> RecallNode | None:
    try:
        agent = agent_at(graph, key.config())
    except LongthreadError:
        return None
    recall: RecallNode = agent.builder.nodes["recall"].runnable
    return recall


def _recalls_in(graph: Any) -> Iterator[RecallNode]:
    """Yield the `recall` node of every agent in a graph."""
    for one in (graph, *(inner for _, inner in graph.get_subgraphs(recurse=True))):
        nodes = getattr(getattr(one, "builder", None), "nodes", {})
        recall = getattr(nodes.get("recall"), "runnable", None)
        if isinstance(recall, RecallNode):
            yield recall
