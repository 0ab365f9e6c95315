"""The registry of threads: one small record for each, in its owner's workspace.

It says which threads there are to look at. It is derived: what it knows of a thread is in the
checkpointer too, whose it is included, and `ThreadJournal.reindex` writes it anew from there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from ...state.counting import text_of
from ...state.decisions import Sealed
from ...state.errors import WorkspaceError
from ...state.text import clip_end, encodable
from ..paths import safe_segment
from ..records import moment_in
from ..segments import read_segments
from ..workspace import JsonRecord, ScopedWorkspace
from .keys import ThreadKey

__all__ = [
    "ThreadRecord",
    "first_words",
    "forget_thread",
    "read_record",
    "read_records",
    "record_names",
    "register_thread",
]

_FOLDER = "threads"
_WORDS = 120


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """What the registry has of a thread.

    Attributes:
        key: The thread.
        first_words: The beginning of the first human message.
        created: When its first call began; None: not known.
        updated: When its last call began.
        messages: How many messages it had then.
    """

    key: ThreadKey
    first_words: str
    created: datetime | None
    updated: datetime | None
    messages: int


def register_thread(
    files: ScopedWorkspace,
    key: ThreadKey,
    *,
    messages: Sequence[AnyMessage],
    count: int,
    moment: datetime,
    created: datetime | None = None,
    sealed: Sealed | None = None,
) -> None:
    """Write down that a thread is there, at the beginning of a call.

    Args:
        files: The workspace of the thread's owner.
        key: The thread.
        messages: What has been said in it, from its beginning on; the first call's will do.
        count: How many messages it has.
        moment: When the call began.
        created: When the thread began; None: with this call, unless the record says otherwise.
        sealed: Where the part before `messages` is, which is looked at if there is no record yet.

    Raises:
        WorkspaceError: The record cannot be written.
    """

    known = files.read_json(_name(key)) if sealed else None
    if sealed and not (known or {}).get("first_words"):
        with contextlib.suppress(WorkspaceError):  # said when history is read
            messages = [*read_segments(files, sealed), *messages]

    def updated(old: JsonRecord | None) -> JsonRecord:
        old = old if old is not None and _key_in(old) == key else {}
        return {
            "thread_id": key.thread_id,
            "checkpoint_ns": key.checkpoint_ns,
            "first_words": old.get("first_words") or first_words(messages),
            "created": _text(created) or old.get("created") or _text(moment),
            "updated": _text(moment),
            "messages": count,
        }

    files.update_json(_name(key), updated)


def forget_thread(files: ScopedWorkspace, key: ThreadKey) -> None:
    """Remove a thread's record."""
    files.update_json(_name(key), lambda _: {})


def record_names(files: ScopedWorkspace) -> list[str]:
    """Return the names of all records."""
    return files.list_json(_FOLDER)


def read_records(files: ScopedWorkspace) -> Iterator[ThreadRecord]:
    """Yield every record that can be read."""
    for name in record_names(files):
        record = read_record(files, name)
        if record is not None:
            yield record


def read_record(files: ScopedWorkspace, name: str) -> ThreadRecord | None:
    """Return a record, or None when it is not there or cannot be read."""
    record = files.read_json(name)
    key = None if record is None else _key_in(record)
    if record is None or key is None:
        return None
    count = record.get("messages")
    return ThreadRecord(
        key,
        str(record.get("first_words") or ""),
        moment_in(record.get("created")),
        moment_in(record.get("updated")),
        count if isinstance(count, int) else 0,
    )


def first_words(messages: Iterable[AnyMessage]) -> str:
    """Return the beginning of the first human message, in one line."""
    for message in messages:
        if isinstance(message, HumanMessage):
            text = text_of(message.content)[: _WORDS * 20]
            if words := " ".join(text.split()):
                return str(encodable(clip_end(words, _WORDS)))
    return ""


def _name(key: ThreadKey) -> str:
    parts = [_FOLDER, safe_segment(key.thread_id)]
    return "/".join([*parts, safe_segment(key.checkpoint_ns)] if key.checkpoint_ns else parts)


def _key_in(record: Mapping[str, Any]) -> ThreadKey | None:
    thread, ns = record.get("thread_id"), record.get("checkpoint_ns", "")
    return ThreadKey(thread, ns) if isinstance(thread, str) and isinstance(ns, str) else None


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
