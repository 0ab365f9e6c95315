"""The threads of one user and agent: what the registry, the index and the checkpointer know."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...state.errors import LongthreadError, ToolInputError, WorkspaceError
from ..effects import Steps, io
from ..local.scope import LocalScope
from ..matching import compile_query, excerpt
from ..workspace import Owner, Workspace
from .heads import newest_checkpoints, stored_threads
from .index import Found, Indexed, IndexUnavailable, SearchIndex, catch_up, owned_by
from .keys import ThreadKey, moment_of
from .pages import read_page
from .postgres_index import PostgresIndex
from .reading import all_messages, newest_checkpoint, read_journal
from .registry import (
    ThreadRecord,
    first_words,
    read_record,
    read_records,
    record_names,
    register_thread,
)
from .results import HistoryPage, Reindexed, ThreadHit, ThreadInfo
from .scripts import dialect_of
from .sqlite_file import index_file, memory_file
from .sqlite_index import SqliteIndex

__all__ = ["OwnedThreads"]

log = logging.getLogger("longthread")

_EXCERPT = 300


class OwnedThreads:
    """All methods are cores, see `stores.effects`.

    Args:
        saver: The checkpointer.
        workspace: Where the registry is, and the embedded index.
        owner: Whose threads these are; nobody else's are ever seen.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], workspace: Workspace, owner: Owner) -> None:
        self._saver = saver
        self._owner = owner
        self._files = workspace.scoped(owner)
        self._keys: dict[str, ThreadKey] = {}
        self._in_memory = SqliteIndex(memory_file(workspace, owner))

    def threads(self) -> Steps[list[ThreadInfo]]:
        """List them, the one that moved last first."""
        _, indexed = yield from self._caught_up()
        records: dict[ThreadKey, ThreadRecord] = yield io(self._records)
        infos = []
        for key, entry in indexed.items():
            record = records.get(key) or (yield from self._registered_late(key))
            infos.append(
                ThreadInfo(
                    key.thread_id,
                    key.checkpoint_ns,
                    self._owner.user,
                    self._owner.agent,
                    record.first_words,
                    record.created,
                    moment_of(entry.checkpoint_id) or record.updated,
                    entry.count,
                )
            )
        never = datetime.min.replace(tzinfo=UTC)
        return sorted(infos, key=lambda info: info.updated or never, reverse=True)

    def page(
        self,
        thread_id: str,
        last_n: int,
        before: int | str | None,
        checkpoint_ns: str | None,
        *,
        trusted: bool = False,
    ) -> Steps[HistoryPage]:
        """Read a part of a thread; `trusted`: the one that the caller is in, whoever began it."""
        _check_count("last_n", last_n, "message")
        key = yield from self._resolved(thread_id, checkpoint_ns)
        stored = yield from newest_checkpoint(self._saver, key)
        if stored is None or not (trusted or owned_by(self._owner, stored)):
            raise _not_found(key)
        journaled = yield from read_journal(self._saver, stored)
        page: HistoryPage = yield io(read_page, key, journaled, self._files, last_n, before)
        return page

    def search(
        self,
        query: str,
        match_mode: object,
        max_results: int,
        thread_id: str | None,
        checkpoint_ns: str | None,
    ) -> Steps[list[ThreadHit]]:
        """Find messages."""
        wanted = compile_query(query, match_mode)
        _check_count("max_results", max_results, "result")
        while True:
            index, indexed = yield from self._caught_up()
            within = None
            if thread_id is not None:
                within = [
                    key
                    for key in indexed
                    if key.thread_id == thread_id and checkpoint_ns in (None, key.checkpoint_ns)
                ]
                if not within:
                    raise _not_found(ThreadKey(thread_id, checkpoint_ns or ""))
            if not wanted.terms:
                return []
            found = yield from index.search(wanted, max_results, within)
            # An index that turns out to be spoilt in the middle is emptied: then once more.
            if len(indexed) <= (yield from index.size()):
                return [_hit(one, excerpt(one.text, wanted, _EXCERPT)) for one in found]

    def reindex(self) -> Steps[Reindexed]:
        """Write registry and index anew from the checkpointer."""
        for thread in (yield from stored_threads(self._saver)):
            stored = yield from newest_checkpoint(self._saver, thread.key)
            if stored is None or not owned_by(self._owner, stored):
                continue
            messages = yield from self._said(stored)
            if messages:
                yield io(
                    register_thread,
                    self._files,
                    thread.key,
                    messages=messages,
                    count=len(messages),
                    moment=moment_of(thread.last) or datetime.now(UTC),
                    created=moment_of(thread.first),
                )
        for index in self._indexes():
            try:
                yield from index.clear()
            except IndexUnavailable as error:
                log.warning("%s", error)
        _, indexed = yield from self._caught_up()
        return Reindexed(len(indexed), sum(entry.count for entry in indexed.values()))

    def _caught_up(self) -> Steps[tuple[SearchIndex, dict[ThreadKey, Indexed]]]:
        """Return an index that is up to date, and how far each visible thread is in it."""
        keys: list[ThreadKey] = yield io(self._registered)
        *others, last = self._indexes()
        for index in others:
            try:
                indexed = yield from catch_up(self._saver, index, keys, self._owner, self._files)
            except IndexUnavailable as error:
                log.warning("%s", error)
            else:
                return index, _visible(indexed)
        indexed = yield from catch_up(self._saver, last, keys, self._owner, self._files)
        return last, _visible(indexed)

    def _indexes(self) -> Iterator[SearchIndex]:
        """The places for an index, best first: the last one can always be used."""
        if dialect_of(self._saver) == "postgres":
            yield PostgresIndex(self._saver, self._owner)
        if isinstance(self._files, LocalScope):
            yield SqliteIndex(index_file(self._files.search_index))
        yield self._in_memory

    def _registered(self) -> list[ThreadKey]:
        """Return the threads in the registry; a record is read once, its name stays its own."""
        names = record_names(self._files)
        for name in names:
            if name not in self._keys and (record := read_record(self._files, name)) is not None:
                self._keys[name] = record.key
        return [self._keys[name] for name in names if name in self._keys]

    def _records(self) -> dict[ThreadKey, ThreadRecord]:
        return {record.key: record for record in read_records(self._files)}

    def _registered_late(self, key: ThreadKey) -> Steps[ThreadRecord]:
        """Write the record of a thread that another workspace, or nobody, has registered."""
        stored = yield from newest_checkpoint(self._saver, key)
        if stored is None:
            return ThreadRecord(key, "", None, None, 0)
        messages = yield from self._said(stored)
        moment = moment_of(stored.checkpoint["id"]) or datetime.now(UTC)
        yield io(
            register_thread,
            self._files,
            key,
            messages=messages,
            count=len(messages),
            moment=moment,
        )
        return ThreadRecord(key, first_words(messages), moment, moment, len(messages))

    def _said(self, stored: CheckpointTuple) -> Steps[list[AnyMessage]]:
        """Return all messages of a thread, or what is left where its sealed part is damaged."""
        try:
            return (yield from all_messages(self._saver, stored, self._files))
        except WorkspaceError as error:
            log.warning("%s", error)
        return (yield from read_journal(self._saver, stored)).live

    def _resolved(self, thread_id: str, checkpoint_ns: str | None) -> Steps[ThreadKey]:
        """Return which journal of a thread is meant: its only one, or the graph's that was
        called."""
        if checkpoint_ns is not None:
            return ThreadKey(thread_id, checkpoint_ns)
        registered: list[ThreadKey] = yield io(self._registered)
        keys = [key for key in registered if key.thread_id == thread_id]
        heads = yield from newest_checkpoints(self._saver, keys)
        root = ThreadKey(thread_id)
        return root if root in heads or not heads else max(heads, key=lambda key: heads[key])


def _visible(indexed: dict[ThreadKey, Indexed]) -> dict[ThreadKey, Indexed]:
    return {key: entry for key, entry in indexed.items() if entry.ours}


def _hit(found: Found, shown: str) -> ThreadHit:
    return ThreadHit(
        found.key.thread_id,
        found.key.checkpoint_ns,
        found.position,
        found.message_id,
        found.role,
        found.text,
        shown,
    )


def _not_found(key: ThreadKey) -> LongthreadError:
    return LongthreadError(
        f"there is no thread {str(key)!r} of this user and agent", code="SESSION_NOT_FOUND"
    )


def _check_count(name: str, value: Any, of: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ToolInputError(f"{name}={value!r}: ask for 1 {of} or more")
