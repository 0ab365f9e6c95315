"""Which checkpoint of a thread is the newest one, for many threads at once.

A thousand threads are asked for before every search, so where the checkpointer is an SQL database
one statement asks for all of them; what nobody changed is then not read at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver

from ..effects import Steps
from .keys import ThreadKey, is_lasting
from .saver_calls import get_tuple, list_all, unwrapped
from .scripts import Script, dialect_of, run_script

__all__ = ["StoredThread", "newest_checkpoints", "stored_threads"]

_CHUNK = 400
"""Threads in one statement: SQLite takes 999 parameters everywhere."""


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A thread that a checkpointer holds, with the ids of its first and its newest checkpoint."""

    key: ThreadKey
    first: str
    last: str


def newest_checkpoints(
    saver: BaseCheckpointSaver[Any], keys: Sequence[ThreadKey]
) -> Steps[dict[ThreadKey, str]]:
    """Return the id of the newest checkpoint of each thread that the checkpointer holds."""
    dialect = dialect_of(saver)
    if dialect is not None:
        asked = _asked_in_sqlite if dialect == "sqlite" else _asked_in_postgres
        found: dict[ThreadKey, str] = yield run_script(saver, lambda: asked(keys))
        return found
    plain = unwrapped(saver)
    if isinstance(plain, InMemorySaver):
        return _in_memory(plain, keys)
    heads: dict[ThreadKey, str] = {}
    for key in keys:
        stored: CheckpointTuple | None = yield get_tuple(saver, key.config())
        if stored is not None:
            heads[key] = stored.checkpoint["id"]
    return heads


def stored_threads(saver: BaseCheckpointSaver[Any]) -> Steps[list[StoredThread]]:
    """Return every thread that the checkpointer holds; graphs of a single task are none."""
    rows: list[tuple[str, str, str, str]]
    if dialect_of(saver) is not None:
        rows = yield run_script(saver, _all_threads)
    elif isinstance(plain := unwrapped(saver), InMemorySaver):
        rows = [
            (thread, ns, min(ids), max(ids))
            for thread, spaces in list(plain.storage.items())
            for ns, ids in list(spaces.items())
            if ids
        ]
    else:
        rows = _grouped((yield list_all(saver)))
    found = [StoredThread(ThreadKey(t, ns), a, z) for t, ns, a, z in rows if is_lasting(ns)]
    return sorted(found, key=lambda thread: thread.last)


def _asked_in_sqlite(keys: Sequence[ThreadKey]) -> Script[dict[ThreadKey, str]]:
    found: dict[ThreadKey, str] = {}
    for at in range(0, len(keys), _CHUNK):
        chunk = keys[at : at + _CHUNK]
        values = ", ".join(["(?, ?)"] * len(chunk))
        rows = yield (
            f"WITH asked(thread_id, checkpoint_ns) AS (VALUES {values}) "
            "SELECT thread_id, checkpoint_ns, (SELECT max(c.checkpoint_id) FROM checkpoints c "
            "WHERE c.thread_id = asked.thread_id AND c.checkpoint_ns = asked.checkpoint_ns) "
            "FROM asked",
            [part for key in chunk for part in (key.thread_id, key.checkpoint_ns)],
        )
        found |= {ThreadKey(thread, ns): last for thread, ns, last in rows if last is not None}
    return found


def _asked_in_postgres(keys: Sequence[ThreadKey]) -> Script[dict[ThreadKey, str]]:
    rows = yield (
        "SELECT asked.thread_id, asked.checkpoint_ns, (SELECT c.checkpoint_id FROM checkpoints c "
        "WHERE c.thread_id = asked.thread_id AND c.checkpoint_ns = asked.checkpoint_ns "
        "ORDER BY c.checkpoint_id DESC LIMIT 1) AS last "
        "FROM unnest(%s::text[], %s::text[]) AS asked(thread_id, checkpoint_ns)",
        [[key.thread_id for key in keys], [key.checkpoint_ns for key in keys]],
    )
    return {ThreadKey(thread, ns): last for thread, ns, last in rows if last is not None}


def _all_threads() -> Script[list[tuple[Any, ...]]]:
    return (
        yield (
            "SELECT thread_id, checkpoint_ns, min(checkpoint_id) AS first, "
            "max(checkpoint_id) AS last FROM checkpoints GROUP BY thread_id, checkpoint_ns",
            (),
        )
    )


def _in_memory(saver: InMemorySaver, keys: Iterable[ThreadKey]) -> dict[ThreadKey, str]:
    heads = {}
    for key in keys:
        # Not by [], which would make the thread.
        ids = saver.storage.get(key.thread_id, {}).get(key.checkpoint_ns)
        if ids:
            heads[key] = max(ids)
    return heads


def _grouped(stored: Iterable[CheckpointTuple]) -> list[tuple[str, str, str, str]]:
    found = []
    for one in stored:
        configurable = one.config.get("configurable") or {}
        ns = configurable.get("checkpoint_ns") or ""
        found.append((str(configurable["thread_id"]), str(ns), str(one.checkpoint["id"])))
    groups = groupby(sorted(found), key=lambda row: row[:2])
    spans = [(thread, ns, [row[2] for row in rows]) for (thread, ns), rows in groups]
    return [(thread, ns, ids[0], ids[-1]) for thread, ns, ids in spans]
