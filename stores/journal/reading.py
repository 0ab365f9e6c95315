"""Reading what a thread holds: all of it, or what came since a checkpoint that is known.

LangGraph's own `get_state_history` rebuilds the state for every checkpoint. Here one walk along
the ancestors of the newest checkpoint collects what was written to `messages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Overwrite

from ...state.channels import replace_record
from ...state.decisions import Sealed, ThreadOwner
from ...state.journal import Journal, append_messages, as_journal
from ...state.sealing import whole_journal
from ..effects import Steps, io
from ..segments import read_segments, segments_newest_first
from ..workspace import ScopedWorkspace
from .keys import ThreadKey
from .saver_calls import get_tuple, read_deltas

__all__ = [
    "Journaled",
    "Known",
    "all_messages",
    "newest_checkpoint",
    "owner_in",
    "read_journal",
    "replayed",
    "with_writes",
    "writes_since",
]

MESSAGES, SEALED = "messages", "sealed"


def newest_checkpoint(
    saver: BaseCheckpointSaver[Any], key: ThreadKey
) -> Steps[CheckpointTuple | None]:
    """Return a thread's newest checkpoint, or None when there is no such thread."""
    stored: CheckpointTuple | None = yield get_tuple(saver, key.config())
    return stored


def owner_in(stored: CheckpointTuple) -> ThreadOwner | None:
    """Return whose thread it is; None for one that no agent of ours has worked on."""
    return cast("ThreadOwner | None", stored.checkpoint["channel_values"].get("owner"))


@dataclass(frozen=True, slots=True)
class Journaled:
    """The messages of a thread: what is live in the checkpointer, and where the rest is.

    Attributes:
        live: The messages after the sealed part, oldest first.
        sealed: Where the sealed part is; None: nothing is sealed.
    """

    live: list[AnyMessage]
    sealed: Sealed | None

    @property
    def start(self) -> int:
        """Position of the first live message in the whole journal."""
        return self.sealed["count"] if self.sealed else 0

    @property
    def total(self) -> int:
        """How many messages there are."""
        return self.start + len(self.live)

    def before(self, files: ScopedWorkspace) -> Iterator[list[AnyMessage]]:
        """Read the sealed part, a segment at a time, the newest first.

        Raises:
            WorkspaceError: A segment is missing or damaged.
        """
        return segments_newest_first(files, self.sealed) if self.sealed else iter(())


def read_journal(saver: BaseCheckpointSaver[Any], stored: CheckpointTuple) -> Steps[Journaled]:
    """Return the messages of a thread as of a checkpoint.

    History, search and export all read a thread through here, whatever it is made of: a channel of
    writes, one with snapshots, or the plain list of an `add_messages` graph.

    Args:
        saver: The checkpointer.
        stored: One of its checkpoints.
    """
    values = stored.checkpoint["channel_values"]
    versions = stored.checkpoint["channel_versions"]
    asked = [name for name in (MESSAGES, SEALED) if name in versions and name not in values]
    found = (yield read_deltas(saver, stored.config, asked)) if asked else {}
    live = as_journal(replayed(append_messages, values, found, MESSAGES, list))
    sealed = cast("Sealed", replayed(replace_record, values, found, SEALED, dict))
    if not sealed:
        return Journaled(live, None)
    return Journaled(whole_journal([], live, sealed), sealed)


def all_messages(
    saver: BaseCheckpointSaver[Any], stored: CheckpointTuple, files: ScopedWorkspace
) -> Steps[list[AnyMessage]]:
    """Return every message of a thread as of a checkpoint, oldest first.

    Args:
        saver: The checkpointer.
        stored: One of its checkpoints.
        files: The files of whom the thread belongs to, where the sealed part is.

    Raises:
        WorkspaceError: A sealed part is missing or damaged.
    """
    journaled = yield from read_journal(saver, stored)
    if journaled.sealed is None:
        return journaled.live
    segments: list[AnyMessage] = yield io(read_segments, files, journaled.sealed)
    return [*segments, *journaled.live]


def replayed(
    reducer: Any, values: Mapping[str, Any], found: Mapping[str, Any], name: str, kind: type[Any]
) -> Any:
    """Return a channel's value, whether it is in the checkpoint or in what led to it."""
    channel: DeltaChannel[Any] = DeltaChannel(reducer, kind)
    if name in values:
        return channel.from_checkpoint(values[name]).get()
    history = found.get(name) or {"writes": []}
    channel = channel.from_checkpoint(history.get("seed"))
    channel.replay_writes(history["writes"])
    return channel.get()


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


def with_writes(
    ids: Sequence[str], kept: Sequence[str], start: int, writes: Sequence[Any]
) -> list[AnyMessage | Known] | None:
    """Return live messages of which only the ids are known, as they are after some more writes.

    Args:
        ids: The ids of the live messages, in order.
        kept: Ids of what is sealed, and stands before them in the channel as well.
        start: Position of the first of them in the whole journal.
        writes: What was written, as `writes_since` returns it.

    Returns:
        A stand-in for each message that stayed as it was and where it was, the message itself for
        each that is new or was replaced. None when a removal has moved messages, or the channel was
        overwritten: then everything has to be read.
    """
    if any(_is_overwrite(write) for write in writes):
        return None
    known = [Known(name, at) for at, name in enumerate([*kept, *ids], start - len(kept))]
    journal = append_messages(Journal(cast("list[AnyMessage]", known)), writes)
    messages = cast("list[AnyMessage | Known]", list(journal))
    places = enumerate(messages, start - len(kept))
    if any(isinstance(m, Known) and m.position != at for at, m in places):
        return None
    return messages[len(kept) :]


def _is_overwrite(write: Any) -> bool:
    """Whether the channel is set, not extended; JSON between server and saver keeps the marker."""
    if isinstance(write, dict):
        return "__overwrite__" in write or write.get("type") == "__overwrite__"
    return isinstance(write, Overwrite)
