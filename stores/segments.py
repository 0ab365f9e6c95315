"""Sealed parts of a journal: immutable, named by their content, each naming the one before it.

Two branches of a thread that share a past share its segments. A segment is a bookkeeping record:
no path of the agent's reaches it.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ..state.decisions import Sealed
from ..state.errors import WorkspaceError
from .paths import safe_segment
from .workspace import JsonRecord, ScopedWorkspace

__all__ = [
    "has_sealed",
    "read_segments",
    "segments_newest_first",
    "write_segment",
]

_HASH = 8  # bytes kept of the hash of a message's id
_MOST_KNOWN = 256


def write_segment(
    files: ScopedWorkspace,
    thread: str,
    sealed: Sealed | None,
    messages: Sequence[AnyMessage],
    kept: Sequence[str],
) -> Sealed:
    """Write one more segment, and return the record that makes it part of the journal.

    Args:
        files: The files of whom the thread belongs to.
        thread: The thread's id.
        sealed: The record so far.
        messages: The messages, oldest first.
        kept: Ids of those that stay live as well.

    Raises:
        WorkspaceError: It cannot be written.
    """
    before = sealed["count"] if sealed else 0
    home = sealed["thread"] if sealed else thread
    kind, payload = JsonPlusSerializer().dumps_typed(list(messages))
    previous = sealed["head"] if sealed else ""
    head = _named(previous, kind, payload)
    record: JsonRecord = {
        "previous": previous,
        "first": before,
        "count": len(messages),
        "kind": kind,
        "data": _text(zlib.compress(payload)),
        "ids": _text(b"".join(sorted(_hash(m.id) for m in messages if m.id))),
    }
    files.update_json(_name(home, head), lambda old: None if old else record)
    return Sealed(thread=home, head=head, count=before + len(messages), kept=list(kept))


def segments_newest_first(files: ScopedWorkspace, sealed: Sealed) -> Iterator[list[AnyMessage]]:
    """Yield the messages of each segment, the newest segment first.

    Raises:
        WorkspaceError: A segment is missing or damaged; says which.
    """
    for head, record in _chain(files, sealed):
        try:
            payload = zlib.decompress(base64.b85decode(record["data"]))
            if _named(record["previous"], record["kind"], payload) != head:
                raise ValueError("its content is not what its name says")
            messages: list[AnyMessage] = JsonPlusSerializer().loads_typed((record["kind"], payload))
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise _damaged(sealed, head, str(error)) from error
        yield messages


def read_segments(files: ScopedWorkspace, sealed: Sealed) -> list[AnyMessage]:
    """Return all sealed messages, oldest first; errors are those of `segments_newest_first`."""
    parts = list(segments_newest_first(files, sealed))
    return [message for part in reversed(parts) for message in part]


def has_sealed(files: ScopedWorkspace, sealed: Sealed, ids: Sequence[str]) -> set[str]:
    """Return those of the ids that a sealed message has.

    What a segment holds never changes, so a segment that was asked before is not read again.
    """
    wanted = {_hash(message_id): message_id for message_id in ids}
    found: set[str] = set()
    head = sealed["head"]
    while head and len(found) < len(wanted):
        head, hashes = _known_ids.get(head) or _remember(head, _record(files, sealed, head))
        found |= {message_id for key, message_id in wanted.items() if key in hashes}
    return found


_known_ids: dict[str, tuple[str, frozenset[bytes]]] = {}
"""By the name of a segment: the one before it, and the hashes of the ids in it."""


def _remember(head: str, record: JsonRecord) -> tuple[str, frozenset[bytes]]:
    packed = base64.b85decode(record["ids"])
    hashes = frozenset(packed[at : at + _HASH] for at in range(0, len(packed), _HASH))
    for old in list(_known_ids)[: max(0, len(_known_ids) - _MOST_KNOWN + 1)]:
        _known_ids.pop(old, None)
    _known_ids[head] = known = (str(record.get("previous") or ""), hashes)
    return known


def _chain(files: ScopedWorkspace, sealed: Sealed) -> Iterator[tuple[str, JsonRecord]]:
    head = sealed["head"]
    while head:
        record = _record(files, sealed, head)
        yield head, record
        head = str(record.get("previous") or "")


def _record(files: ScopedWorkspace, sealed: Sealed, head: str) -> JsonRecord:
    record = files.read_json(_name(sealed["thread"], head))
    if record is None:
        raise _damaged(sealed, head, "it is not there")
    return record


def _damaged(sealed: Sealed, head: str, why: str) -> WorkspaceError:
    return WorkspaceError(
        f"segment {head} of thread {sealed['thread']!r} cannot be read: {why}; restore the "
        "workspace from a backup to have the oldest messages of this thread again"
    )


def _name(thread: str, head: str) -> str:
    return f"segments/{safe_segment(thread)}/{head}"


def _named(previous: str, kind: str, payload: bytes) -> str:
    return hashlib.sha256(f"{previous}\0{kind}\0".encode() + payload).hexdigest()[:32]


def _hash(message_id: Any) -> bytes:
    return hashlib.sha256(str(message_id).encode("utf-8", "surrogatepass")).digest()[:_HASH]


def _text(data: bytes) -> str:
    return base64.b85encode(data).decode("ascii")
