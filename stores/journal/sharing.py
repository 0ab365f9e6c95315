"""What one thread needs of another: segments and evicted texts that a copied thread still names.

`fork_thread` copies them. Who copies a thread's checkpoints without us, as LangGraph Server does,
leaves the copy with the names of what the first thread has written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ...state.channels import merge_records, replace_record
from ...state.decisions import Eviction, Sealed
from ..effects import Steps, io
from ..paths import safe_segment
from ..segments import segment_names
from ..workspace import Owner, ScopedWorkspace
from .heads import StoredThread, stored_threads
from .reading import SEALED, owner_in, replayed
from .saver_calls import get_tuple, read_deltas

__all__ = ["OtherThreads", "names_in", "other_threads"]

_EVICTIONS = "evictions"


@dataclass(frozen=True, slots=True)
class OtherThreads:
    """What is to be known of the other threads before one is erased.

    Attributes:
        segments: The names of the folders of all threads that there are.
        named: Id of a thread of the same owner to the files and records that its state names.
    """

    segments: frozenset[str] = frozenset()
    named: Mapping[str, frozenset[str]] = field(default_factory=dict)


def names_in(files: ScopedWorkspace, state: Mapping[str, Any]) -> frozenset[str]:
    """Return the evicted texts and the segments that a thread's state names."""
    evictions: Mapping[str, Eviction] = state.get(_EVICTIONS) or {}
    sealed: Sealed | None = state.get(SEALED) or None
    segments = segment_names(files, sealed) if sealed else ()
    return frozenset([*(eviction["path"] for eviction in evictions.values()), *segments])


def other_threads(
    saver: BaseCheckpointSaver[Any], files: ScopedWorkspace, owner: Owner, thread: str
) -> Steps[OtherThreads]:
    """Look at all threads but one. Reads the newest checkpoint of each.

    Args:
        saver: The checkpointer.
        files: The owner's files.
        owner: Whose threads are read.
        thread: The id of the one that is left out.
    """
    segments: set[str] = set()
    named: dict[str, frozenset[str]] = {}
    found: list[StoredThread] = yield from stored_threads(saver)
    for one in found:
        if one.key.thread_id == thread:
            continue
        segments.add(safe_segment(one.key.thread_id))
        stored: CheckpointTuple | None = yield get_tuple(saver, one.key.config(one.last))
        recorded = owner_in(stored) if stored is not None else None
        if stored is None or not recorded or Owner(recorded["user"], recorded["agent"]) != owner:
            continue
        state = yield from _places_in(saver, stored)
        names: frozenset[str] = yield io(names_in, files, state)
        if names:
            named[one.key.thread_id] = named.get(one.key.thread_id, frozenset()) | names
    return OtherThreads(frozenset(segments), named)


def _places_in(saver: BaseCheckpointSaver[Any], stored: CheckpointTuple) -> Steps[dict[str, Any]]:
    """Return what a checkpoint says of segments and evicted texts, without its messages."""
    values = stored.checkpoint["channel_values"]
    versions = stored.checkpoint["channel_versions"]
    reducers = {SEALED: replace_record, _EVICTIONS: merge_records}
    asked = [name for name in reducers if name in versions and name not in values]
    read = (yield read_deltas(saver, stored.config, asked)) if asked else {}
    return {
        name: cast("dict[str, Any]", replayed(reducer, values, read, name, dict))
        for name, reducer in reducers.items()
    }
