"""What a search index has to offer, and how it is kept up with the threads.

An index is derived from the checkpointer and never the truth: before every search each thread's
newest checkpoint is compared with the one that is indexed, and what moved is read again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from langchain_core.messages import AnyMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...state.errors import LongthreadError
from ..effects import Steps
from ..matching import Query
from ..workspace import Owner
from .entries import Entry, entry_of
from .heads import newest_checkpoints
from .keys import ThreadKey
from .reading import Known, all_messages, newest_checkpoint, owner_in, with_writes, writes_since

__all__ = ["Found", "IndexUnavailable", "Indexed", "SearchIndex", "catch_up", "owned_by"]

_NEAR = 16
"""Checkpoints that are walked at least before a thread is read whole; longer threads, more."""


class IndexUnavailable(LongthreadError):
    """An index cannot be written where it should be: another place has to do."""

    code = "INDEX_UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Indexed:
    """How far a thread is indexed.

    Attributes:
        checkpoint_id: The checkpoint whose messages are indexed.
        count: How many they are.
        ours: Whether the thread belongs to the owner of the index; if not, nothing of it is there.
    """

    checkpoint_id: str
    count: int
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Found:
    """A message that a search has found."""

    key: ThreadKey
    position: int
    message_id: str
    role: str
    text: str


class SearchIndex(Protocol):
    """The messages of one owner's threads. All methods are cores, see `stores.effects`.

    Raises:
        IndexUnavailable: It cannot be opened or written here.
    """

    def threads(self) -> Steps[dict[ThreadKey, Indexed]]:
        """Return how far each thread is indexed."""
        ...

    def contents(self, key: ThreadKey) -> Steps[list[tuple[str, bytes]]]:
        """Return id and digest of each indexed message of a thread, in order."""
        ...

    def write(
        self, key: ThreadKey, before: Indexed | None, after: Indexed, entries: Sequence[Entry]
    ) -> Steps[bool]:
        """Bring one thread up to date, in one transaction.

        Args:
            key: The thread.
            before: What the entries were worked out from.
            after: How far it is indexed then; what stands at `after.count` or later is removed.
            entries: What is new, or stands in the place of what was indexed there.

        Returns:
            Whether it was done; False when somebody else has written the thread meanwhile.
        """
        ...

    def forget(self, keys: Iterable[ThreadKey]) -> Steps[None]:
        """Remove threads."""
        ...

    def search(
        self, query: Query, limit: int, within: Collection[ThreadKey] | None
    ) -> Steps[list[Found]]:
        """Return the newest messages that match, the newest first.

        Args:
            query: What to look for.
            limit: Most messages to return.
            within: Only in these threads; None: in all.
        """
        ...

    def clear(self) -> Steps[None]:
        """Remove everything, to be built anew."""
        ...


def catch_up(
    saver: BaseCheckpointSaver[Any],
    index: SearchIndex,
    keys: Collection[ThreadKey],
    owner: Owner,
) -> Steps[dict[ThreadKey, Indexed]]:
    """Bring an index up to date with the threads of its owner.

    Args:
        saver: The checkpointer: the truth.
        index: The index.
        keys: The owner's threads, as the registry has them.
        owner: Whose they are; a thread that turns out to be another's is left out.

    Returns:
        How far each thread is indexed that the checkpointer holds.
    """
    indexed = yield from index.threads()
    heads = yield from newest_checkpoints(saver, sorted({*keys, *indexed}))
    gone = [key for key in indexed if key not in heads]
    if gone:
        yield from index.forget(gone)
        indexed = {key: entry for key, entry in indexed.items() if key in heads}
    moved = [
        key
        for key, head in heads.items()
        if key not in indexed or head != indexed[key].checkpoint_id
    ]
    # The ids of checkpoints grow with time: what is indexed last was said last.
    for key in sorted(moved, key=lambda key: heads[key]):
        entry = yield from _follow(saver, index, key, indexed.get(key), owner)
        if entry is not None:
            indexed[key] = entry
        else:
            indexed.pop(key, None)
    return indexed


def owned_by(owner: Owner, stored: CheckpointTuple) -> bool:
    """Whether a thread belongs to an owner.

    One that no agent of ours has worked on yet belongs to whoever is no particular user.
    """
    recorded = owner_in(stored)
    if recorded is None:
        return owner.user is None
    return (recorded["user"], recorded["agent"]) == (owner.user, owner.agent)


def _follow(
    saver: BaseCheckpointSaver[Any],
    index: SearchIndex,
    key: ThreadKey,
    before: Indexed | None,
    owner: Owner,
) -> Steps[Indexed | None]:
    """Index what is new in one thread; None when there is no such thread any more."""
    while True:
        stored = yield from newest_checkpoint(saver, key)
        if stored is None:
            yield from index.forget([key])
            return None
        head = stored.checkpoint["id"]
        if before is not None and before.checkpoint_id == head:
            return before
        entries: list[Entry] = []
        if owned_by(owner, stored):
            known = [] if before is None else (yield from index.contents(key))
            messages = yield from _messages(saver, stored, before, known)
            entries = _differing(messages, known)
            after = Indexed(head, len(messages))
        else:
            after = Indexed(head, 0, ours=False)
        if (yield from index.write(key, before, after, entries)):
            return after
        before = (yield from index.threads()).get(key)


def _messages(
    saver: BaseCheckpointSaver[Any],
    stored: CheckpointTuple,
    before: Indexed | None,
    known: Sequence[tuple[str, bytes]],
) -> Steps[Sequence[BaseMessage | Known]]:
    """Return a thread's messages, or stand-ins for those that need not be read again."""
    if before is not None and before.ours and len(known) == before.count:
        limit = _NEAR + before.count // 8
        writes = yield from writes_since(saver, stored, before.checkpoint_id, limit)
        if writes is not None:
            messages = with_writes([message_id for message_id, _ in known], writes)
            if messages is not None:
                return messages
    return (yield from all_messages(saver, stored))


def _differing(
    messages: Sequence[BaseMessage | Known], known: Sequence[tuple[str, bytes]]
) -> list[Entry]:
    """Return the entries of the messages that are not indexed as they are."""
    entries = []
    for at, message in enumerate(messages):
        if isinstance(message, Known):
            continue
        entry = entry_of(at, cast(AnyMessage, message))
        if at >= len(known) or known[at][1] != entry.digest:
            entries.append(entry)
    return entries
