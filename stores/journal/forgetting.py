"""Taking threads out of the registry and the search index, when they are erased."""

from __future__ import annotations

import logging
import os
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..effects import Steps, io
from ..local.scope import LocalScope
from ..workspace import Owner, ScopedWorkspace
from .index import IndexUnavailable, SearchIndex
from .keys import ThreadKey
from .postgres_index import PostgresIndex
from .registry import forget_thread, read_records
from .scripts import dialect_of
from .sqlite_file import index_file
from .sqlite_index import SqliteIndex

__all__ = ["forget_all_threads", "forget_in_journal", "registered_keys"]

log = logging.getLogger("longthread")


def registered_keys(files: ScopedWorkspace, thread_id: str) -> list[ThreadKey]:
    """Return the journals of a thread that an owner's registry has."""
    return [record.key for record in read_records(files) if record.key.thread_id == thread_id]


def forget_in_journal(
    saver: BaseCheckpointSaver[Any],
    files: ScopedWorkspace,
    owner: Owner,
    thread_id: str,
    *,
    scrub: bool = True,
) -> Steps[None]:
    """Remove a thread from its owner's registry and search index.

    Args:
        saver: The checkpointer that holds, or held, the thread.
        files: The owner's files.
        owner: Whose thread it is.
        thread_id: The thread.
        scrub: Whether an index file is cleaned of the last traces, which reads all of it.
    """
    keys: list[ThreadKey] = yield io(registered_keys, files, thread_id)
    for key in keys:
        yield io(forget_thread, files, key)
    for index in _indexes(saver, files, owner):
        try:
            known = yield from index.threads()
            gone = [key for key in known if key.thread_id == thread_id]
            if gone:
                yield from index.forget(gone)
            if scrub and isinstance(index, SqliteIndex):
                yield from index.scrub()
        except IndexUnavailable as error:
            log.warning("%s", error)


def forget_all_threads(
    saver: BaseCheckpointSaver[Any], files: ScopedWorkspace, owner: Owner
) -> Steps[None]:
    """Empty the search index of an owner whose files are about to be removed."""
    for index in _indexes(saver, files, owner):
        try:
            yield from index.clear()
        except IndexUnavailable as error:
            log.warning("%s", error)
    if isinstance(files, LocalScope):
        yield io(index_file(files.search_index).close)


def _indexes(
    saver: BaseCheckpointSaver[Any], files: ScopedWorkspace, owner: Owner
) -> list[SearchIndex]:
    found: list[SearchIndex] = []
    if dialect_of(saver) == "postgres":
        found.append(PostgresIndex(saver, owner))
    if isinstance(files, LocalScope) and os.path.exists(files.search_index):
        found.append(SqliteIndex(index_file(files.search_index)))
    return found
