"""Forking a thread: its present, under another id, from where both go their own way."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Overwrite, StateSnapshot

from ..nodes.node import Effect, Steps, adrive, drive, io
from ..nodes.recall import RecallNode
from ..state.channels import DELTA_CHANNELS, ThreadState
from ..state.errors import ConfigurationError, LongthreadError
from ..state.sealing import count_messages
from ..stores.journal import ThreadKey, register_thread
from ..stores.memory.flush_cursor import FlushCursor
from ..stores.paths import safe_segment
from ..stores.segments import copy_segments
from ..stores.workspace import Owner, ScopedWorkspace
from .thread_access import agent_at, alone_on, named_in, state_of, thread_in

__all__ = ["afork_thread", "fork_thread"]

# Forgotten after a step anyway; and a fork is a new thread, that nobody has closed.
_PASSING = ("closed", "fresh_results", "maintenance", "overflow")


def fork_thread(graph: Any, config: RunnableConfig, thread_id: str) -> RunnableConfig:
    """Copy what a thread is now, or was at a checkpoint, into a new thread.

    The whole journal goes with it, and so does what was decided about it: the fork's next request
    is the original's, but for the paths of evicted texts. Sealed segments and evicted texts are
    copied, so that either thread can be erased; earlier checkpoints stay with the original. What
    the original has extracted into the ledger, the fork does not extract again. A turn that is not
    finished can be resumed in the fork too; a tool that had been begun for it is begun anew there.
    A fork of a closed thread is open.

    Args:
        graph: The compiled agent graph, with its checkpointer.
        config: Names the thread, and with `checkpoint_id` where to fork.
        thread_id: The id of the new thread.

    Returns:
        The configuration of the new thread.

    Raises:
        ConfigurationError: The thread, or the new id, cannot be used: says which, and why.
        LongthreadError: With code `SESSION_NOT_FOUND`, `SESSION_EXISTS` when there is a thread of
            the new id, or `SESSION_BUSY` when it is just being made. Nothing was written.
        WorkspaceError: What is copied in the workspace cannot be read or written. There is no new
            thread then, or one that is not in the registry until it is gone on with.
    """
    return drive(_steps(graph, config, thread_id))


async def afork_thread(graph: Any, config: RunnableConfig, thread_id: str) -> RunnableConfig:
    """Do what `fork_thread` does, asynchronously."""
    return await adrive(_steps(graph, config, thread_id))


def _steps(graph: Any, config: RunnableConfig, thread_id: str) -> Steps[RunnableConfig]:
    old_id = thread_in(config)
    if not isinstance(thread_id, str) or not thread_id.strip():
        raise ConfigurationError(f"thread_id={thread_id!r}: name the new thread by a text")
    if named_in(config).get("checkpoint_ns"):
        raise ConfigurationError(
            f"config={config!r}: an agent inside another graph is part of that graph's thread; "
            "leave checkpoint_ns out"
        )
    node = agent_at(graph, config).builder.nodes["recall"].runnable
    assert isinstance(node, RecallNode)
    new: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    work = _forked(graph, config, (old_id, new), node)
    return (yield from alone_on(graph, thread_id, work))


def _forked(
    graph: Any, config: RunnableConfig, names: tuple[str, RunnableConfig], node: RecallNode
) -> Steps[RunnableConfig]:
    old_id, new = names
    thread_id = thread_in(new)
    before: StateSnapshot = yield state_of(graph, config)
    if not (before.values or {}).get("messages"):
        raise LongthreadError(
            f"there is no thread {old_id!r} with messages in it", code="SESSION_NOT_FOUND"
        )
    if (yield state_of(graph, new)).created_at is not None:
        raise LongthreadError(
            f"there is a thread {thread_id!r} already: fork to another id", code="SESSION_EXISTS"
        )
    owner = before.values.get("owner") or {}
    files = node.workspace.scoped(Owner(owner.get("user"), owner.get("agent") or node.agent))
    own: dict[str, Any] = yield io(_files_copied, files, thread_id, before.values)
    yield _update(graph, new, _copied(before, own), _place(before))
    yield io(_recorded, files, old_id, thread_id, {**before.values, **own})
    return new


def _files_copied(files: ScopedWorkspace, new: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Copy segments and evicted texts, and return the records that name the copies.

    What is missing stays named where it was.
    """
    own: dict[str, Any] = {}
    if values.get("sealed"):
        own["sealed"] = copy_segments(files, values["sealed"], new)
    if values.get("evictions"):
        own["evictions"] = {
            message_id: {**eviction, "path": _text_copied(files, eviction["path"], new)}
            for message_id, eviction in values["evictions"].items()
        }
    return own


def _text_copied(files: ScopedWorkspace, path: str, new: str) -> str:
    folder, _, name = path.rpartition("/")
    top, _, _ = folder.rpartition("/")
    copy = "/".join(part for part in (top, safe_segment(new), name) if part)
    if not files.exists(copy):
        text = files.read_text(path)
        if text is None:
            return path
        files.write_text(copy, text)
    return copy


def _copied(before: StateSnapshot, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the update that makes an empty thread this one."""
    ours = ThreadState.__annotations__
    # Written whole, no channel makes opening the fork replay what was added to it.
    return {
        name: Overwrite(value) if name in DELTA_CHANNELS else value
        for name, value in {**before.values, **own}.items()
        if name not in _PASSING and (value is not None or name not in ours)
    }


def _place(before: StateSnapshot) -> str:
    """Return the node to write as, so that what is next in the thread is next in the fork."""
    if not before.next and not before.tasks:
        return "consolidation"  # after it comes the end, where the thread is
    last = before.values["messages"][-1]
    if isinstance(last, AIMessage) or _has_open_calls(before.values["messages"]):
        return "reasoning"
    return "recall"


def _has_open_calls(messages: list[Any]) -> bool:
    answered = set()
    for message in reversed(messages):
        if message.type == "tool":
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return any(call["id"] not in answered for call in message.tool_calls)
        else:
            return False
    return False


def _recorded(files: ScopedWorkspace, old: str, new: str, values: dict[str, Any]) -> None:
    """Copy what the workspace knows of the thread."""
    FlushCursor(files, old).copy_to(new)
    messages = values["messages"]
    register_thread(
        files,
        ThreadKey(new, ""),
        messages=messages,
        count=count_messages(len(messages), values.get("sealed")),
        moment=datetime.now(UTC),
        sealed=values.get("sealed") or None,
    )


def _update(graph: Any, config: RunnableConfig, values: dict[str, Any], as_node: str) -> Effect:
    return Effect(
        run=lambda: graph.update_state(config, values, as_node=as_node),
        arun=lambda: graph.aupdate_state(config, values, as_node=as_node),
    )
