"""Reading what a thread holds: all of it, or what came since a checkpoint that is known.

LangGraph's own `get_state_history` rebuilds the state for every checkpoint. Here one walk along
the ancestors of the newest checkpoint collects what was written to `messages`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Overwrite

from ...state.decisions import ThreadOwner
from ...state.journal import Journal, append_messages, as_journal
from ..effects import Steps
from .keys import ThreadKey
from .saver_calls import get_tuple, read_deltas

__all__ = ["Known", "all_messages", "newest_checkpoint", "owner_in", "with_writes", "writes_since"]

MESSAGES = "messages"


def newest_checkpoint(
    saver: BaseCheckpointSaver[Any], key: ThreadKey
) -> Steps[CheckpointTuple | None]:
    """Return a thread's newest checkpoint, or None when there is no such thread."""
    stored: CheckpointTuple | None = yield get_tuple(saver, key.config())
    return stored


def owner_in(stored: CheckpointTuple) -> ThreadOwner | None:
    """Return whose thread it is; None for one that no agent of ours has worked on."""
    return cast("ThreadOwner | None", stored.checkpoint["channel_values"].get("owner"))


def all_messages(saver: BaseCheckpointSaver[Any], stored: CheckpointTuple) -> Steps[Journal]:
    """Return every message of a thread as of a checkpoint, oldest first.

    History, search and export all read a thread through here, whatever it is made of: a channel of
    writes, one with snapshots, or the plain list of an `add_messages` graph.

    Args:
        saver: The checkpointer.
        stored: One of its checkpoints.
    """
    values = stored.checkpoint["channel_values"]
    channel: DeltaChannel[Any] = DeltaChannel(append_messages, list)
    if MESSAGES in values:
        return as_journal(channel.from_checkpoint(values[MESSAGES]).get())
    if MESSAGES not in stored.checkpoint["channel_versions"]:
        return Journal()
    history = (yield read_deltas(saver, stored.config, [MESSAGES]))[MESSAGES]
    channel = channel.from_checkpoint(history.get("seed"))
    channel.replay_writes(history["writes"])
    return as_journal(channel.get())


def writes_since(
    saver: BaseCheckpointSaver[Any], stored: CheckpointTuple, known: str, limit: int
) -> Steps[list[Any] | None]:
    """Return what was written to `messages` after a checkpoint, oldest first.

    Args:
        saver: The checkpointer.
        stored: The newest checkpoint.
        known: Id of the checkpoint whose messages are known.
        limit: Most checkpoints to look at: beyond that, reading everything is cheaper.

    Returns:
        The writes, or None when everything has to be read: the known checkpoint is no ancestor, is
        too far away, or the channel was written whole since then.
    """
    if MESSAGES in stored.checkpoint["channel_values"]:
        return None
    writes: list[Any] = []
    place = stored.parent_config
    for _ in range(limit):
        before: CheckpointTuple | None = None if place is None else (yield get_tuple(saver, place))
        if before is None:
            return None
        new = [value for _, name, value in before.pending_writes or () if name == MESSAGES]
        writes += reversed(new)
        if before.checkpoint["id"] == known:
            return writes[::-1]
        if MESSAGES in before.checkpoint["channel_values"]:
            return None
        place = before.parent_config
    return None


class Known:
    """Stands for a message that is indexed and has not been read again.

    Args:
        id: Its id.
        position: Where it stood.
    """

    __slots__ = ("id", "position")

    def __init__(self, id: str, position: int) -> None:
        self.id = id
        self.position = position


def with_writes(ids: Sequence[str], writes: Sequence[Any]) -> list[BaseMessage | Known] | None:
    """Return a journal of which only the ids are known, as it is after some more writes.

    Args:
        ids: The ids of its messages, in order.
        writes: What was written, as `writes_since` returns it.

    Returns:
        A stand-in for each message that stayed as it was and where it was, the message itself for
        each that is new or was replaced. None when a removal has moved messages, or the channel was
        overwritten: then everything has to be read.
    """
    if any(_is_overwrite(write) for write in writes):
        return None
    known = [Known(message_id, at) for at, message_id in enumerate(ids)]
    journal = append_messages(Journal(cast("list[AnyMessage]", known)), writes)
    messages = cast("list[BaseMessage | Known]", list(journal))
    if any(isinstance(m, Known) and m.position != at for at, m in enumerate(messages)):
        return None
    return messages


def _is_overwrite(write: Any) -> bool:
    """Whether the channel is set, not extended; JSON between server and saver keeps the marker."""
    if isinstance(write, dict):
        return "__overwrite__" in write or write.get("type") == "__overwrite__"
    return isinstance(write, Overwrite)
