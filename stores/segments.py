"""Sealed parts of a journal: immutable, named by their content, each naming the one before it.

Two branches of a thread that share a past share its segments. A thread writes into a folder of its
own; where it was copied from another by others than `fork_thread`, its first segment names one of
that thread's. A segment is a bookkeeping record: no path of the agent's reaches it.
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
    "copy_segments",
    "has_sealed",
    "read_segments",
    "segment_names",
    "segments_newest_first",
    "write_segment",
]

_HASH = 8  # bytes kept of the hash of a message's id
_MOST_KNOWN = 256

_Place = tuple[str, str]
"""The id of the thread in whose folder a segment is, and its name there."""


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
    if sealed and sealed["thread"] != thread:
        record["previous_thread"] = sealed["thread"]
    files.update_json(_name(thread, head), lambda old: None if old else record)
    return Sealed(thread=thread, head=head, count=before + len(messages), kept=list(kept))


def copy_segments(files: ScopedWorkspace, sealed: Sealed, thread: str) -> Sealed:
    """Give another thread segments of its own, and return the record that names them.

    Where one of them is missing, the record is returned as it is: what a backup brings back is
    then there for both.

    Raises:
        WorkspaceError: They cannot be read or written.
    """
    for _, head, record in _chain(files, sealed):
        if record is None:
            return sealed
        own = {key: value for key, value in record.items() if key != "previous_thread"}
        files.update_json(_name(thread, head), lambda _, new=own: new)  # type: ignore[misc]
    return Sealed(thread=thread, head=sealed["head"], count=sealed["count"], kept=sealed["kept"])


def segment_names(files: ScopedWorkspace, sealed: Sealed) -> list[str]:
    """Return the names of the records that a thread's segments are in, the newest first.

    What is behind a missing one is not known.
    """
    return [_name(home, head) for home, head, _ in _chain(files, sealed)]


def segments_newest_first(files: ScopedWorkspace, sealed: Sealed) -> Iterator[list[AnyMessage]]:
    """Yield the messages of each segment, the newest segment first.

    Raises:
        WorkspaceError: A segment is missing or damaged; says which.
    """
    for home, head, record in _chain(files, sealed):
        if record is None:
            raise _missing(home, head)
        try:
            payload = zlib.decompress(base64.b85decode(record["data"]))
            if _named(record["previous"], record["kind"], payload) != head:
                raise ValueError("its content is not what its name says")
            messages: list[AnyMessage] = JsonPlusSerializer().loads_typed((record["kind"], payload))
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise _damaged(home, head, str(error)) from error
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
    place: _Place | None = (sealed["thread"], sealed["head"])
    while place is not None and len(found) < len(wanted):
        place, hashes = _known_ids.get(place) or _remember(place, _record(files, *place))
        found |= {message_id for key, message_id in wanted.items() if key in hashes}
    return found


_known_ids: dict[_Place, tuple[_Place | None, frozenset[bytes]]] = {}
"""By the place of a segment: that of the one before it, and the hashes of the ids in it."""


def _remember(place: _Place, record: JsonRecord) -> tuple[_Place | None, frozenset[bytes]]:
    packed = base64.b85decode(record["ids"])
    hashes = frozenset(packed[at : at + _HASH] for at in range(0, len(packed), _HASH))
    for old in list(_known_ids)[: max(0, len(_known_ids) - _MOST_KNOWN + 1)]:
        _known_ids.pop(old, None)
    _known_ids[place] = known = (_before(place, record), hashes)
    return known


def _chain(files: ScopedWorkspace, sealed: Sealed) -> Iterator[tuple[str, str, JsonRecord | None]]:
    """Yield the places of the segments with their records; one that is missing is the last."""
    place: _Place | None = (sealed["thread"], sealed["head"])
    while place is not None:
        record = files.read_json(_name(*place))
        yield (*place, record)
        place = None if record is None else _before(place, record)


def _before(place: _Place, record: JsonRecord) -> _Place | None:
    previous = str(record.get("previous") or "")
    return (str(record.get("previous_thread") or place[0]), previous) if previous else None


def _record(files: ScopedWorkspace, home: str, head: str) -> JsonRecord:
    record = files.read_json(_name(home, head))
    if record is None:
        raise _missing(home, head)
    return record


def _missing(home: str, head: str) -> WorkspaceError:
    return _damaged(home, head, "it is not there")


def _damaged(home: str, head: str, why: str) -> WorkspaceError:
    return WorkspaceError(
        f"segment {head} of thread {home!r} cannot be read: {why}; restore the "
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
