"""What a search index has to offer, and how it is kept up with the threads.

An index is derived from the checkpointer and never the truth: before every search each thread's
newest checkpoint is compared with the one that is indexed, and what moved is read again.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...state.errors import LongthreadError, WorkspaceError
from ..effects import Steps, io
from ..matching import Query
from ..segments import read_segments
from ..workspace import Owner, ScopedWorkspace
from .entries import Entry, entry_of
from .heads import newest_checkpoints
from .keys import ThreadKey
from .reading import Known, newest_checkpoint, owner_in, read_journal, with_writes, writes_since

__all__ = ["Found", "IndexUnavailable", "Indexed", "SearchIndex", "catch_up", "owned_by"]

log = logging.getLogger("longthread")

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
        sealed: How many of them are sealed; those can neither be edited nor removed.
        kept: Ids of sealed messages that are live as well.
    """

    checkpoint_id: str
    count: int
    ours: bool = True
    sealed: int = 0
    kept: tuple[str, ...] = ()


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

    def size(self) -> Steps[int]:
        """Return how many threads are in it."""
        ...

    def contents(self, key: ThreadKey, start: int) -> Steps[list[tuple[str, bytes]]]:
        """Return id and digest of each indexed message of a thread from a position on."""
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
    files: ScopedWorkspace,
) -> Steps[dict[ThreadKey, Indexed]]:
    """Bring an index up to date with the threads of its owner.

    Args:
        saver: The checkpointer: the truth.
        index: The index.
        keys: The owner's threads, as the registry has them.
        owner: Whose they are; a thread that turns out to be another's is left out.
        files: The owner's files, where sealed parts are.

    Returns:
        How far each thread is indexed that the checkpointer holds, another's included.
    """
    indexed = yield from index.threads()
    heads = yield from newest_checkpoints(saver, list({*keys, *indexed}))
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
        entry = yield from _follow(saver, index, key, indexed.get(key), owner, files)
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
    files: ScopedWorkspace,
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
        after = Indexed(head, 0, ours=False)
        if owned_by(owner, stored):
            change = yield from _new_writes(saver, index, key, stored, before)
            change = change or (yield from _everything(saver, index, key, stored, files))
            after, entries = change
        if (yield from index.write(key, before, after, entries)):
            return after
        before = (yield from index.threads()).get(key)


def _new_writes(
    saver: BaseCheckpointSaver[Any],
    index: SearchIndex,
    key: ThreadKey,
    stored: CheckpointTuple,
    before: Indexed | None,
) -> Steps[tuple[Indexed, list[Entry]] | None]:
    """Return what changed, from what was written since; None: everything has to be read."""
    if before is None or not before.ours:
        return None
    live = before.count - before.sealed
    limit = _NEAR + live // 8
    writes = yield from writes_since(saver, stored, before.checkpoint_id, limit)
    if writes is None:
        return None
    known = yield from index.contents(key, before.sealed)
    if len(known) != live:
        return None
    ids = [message_id for message_id, _ in known]
    messages = with_writes(ids, before.kept, before.sealed, writes)
    if messages is None:
        return None
    after = replace(
        before, checkpoint_id=stored.checkpoint["id"], count=before.sealed + len(messages)
    )
    return after, _differing(messages, known, before.sealed)


def _everything(
    saver: BaseCheckpointSaver[Any],
    index: SearchIndex,
    key: ThreadKey,
    stored: CheckpointTuple,
    files: ScopedWorkspace,
) -> Steps[tuple[Indexed, list[Entry]]]:
    """Return what changed, from all messages of a thread."""
    journaled = yield from read_journal(saver, stored)
    segments: Sequence[AnyMessage | Known] = ()
    sealed = journaled.sealed
    if sealed is not None:
        try:
            segments = yield io(read_segments, files, sealed)
        except WorkspaceError as error:
            log.warning("a sealed part of a thread cannot be searched: %s", error)
            segments = [Known("", at) for at in range(sealed["count"])]
    known = yield from index.contents(key, 0)
    after = Indexed(
        stored.checkpoint["id"],
        journaled.total,
        sealed=journaled.start,
        kept=tuple(sealed["kept"]) if sealed else (),
    )
    return after, _differing([*segments, *journaled.live], known, 0)


def _differing(
    messages: Sequence[AnyMessage | Known], known: Sequence[tuple[str, bytes]], start: int
) -> list[Entry]:
    """Return the entries of the messages that are not indexed as they are."""
    entries = []
    for at, message in enumerate(messages):
        if isinstance(message, Known):
            continue
        entry = entry_of(start + at, message)
        if at >= len(known) or known[at][1] != entry.digest:
            entries.append(entry)
    return entries
