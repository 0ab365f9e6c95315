"""What a checkpointer holds of one thread: in which namespaces, how much, and removing it."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..effects import Steps
from .keys import ThreadKey, is_lasting
from .saver_calls import delete_thread, list_all
from .scripts import Script, dialect_of, run_script

__all__ = ["clean_log", "delete_checkpoints", "stored_keys"]


def stored_keys(saver: BaseCheckpointSaver[Any], thread_id: str) -> Steps[dict[ThreadKey, int]]:
    """Return the journals of a thread with the number of checkpoints of each.

    Namespaces of graphs that live for a single task count towards the thread's own.
    """
    if dialect_of(saver) is not None:
        rows = yield run_script(saver, lambda: _namespaces(saver, thread_id))
    else:
        asked: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        rows = [(_namespace(one), 1) for one in (yield list_all(saver, asked))]
    found: dict[ThreadKey, int] = {}
    for namespace, count in rows:
        key = ThreadKey(thread_id, namespace if is_lasting(namespace) else "")
        found[key] = found.get(key, 0) + count
    return found


def delete_checkpoints(saver: BaseCheckpointSaver[Any], thread_id: str) -> Steps[None]:
    """Remove everything that a checkpointer holds of a thread, from SQLite's file as well."""
    if dialect_of(saver) == "sqlite":
        yield run_script(saver, _overwriting)
    yield delete_thread(saver, thread_id)
    yield from clean_log(saver)


def clean_log(saver: BaseCheckpointSaver[Any]) -> Steps[None]:
    """See to it that nothing that was deleted is left in SQLite's write-ahead log."""
    if dialect_of(saver) == "sqlite":
        yield run_script(saver, _without_log)


def _namespaces(saver: BaseCheckpointSaver[Any], thread_id: str) -> Script[list[tuple[Any, ...]]]:
    mark = "?" if dialect_of(saver) == "sqlite" else "%s"
    return (
        yield (
            "SELECT checkpoint_ns, count(*) AS count FROM checkpoints "
            f"WHERE thread_id = {mark} GROUP BY checkpoint_ns",
            (thread_id,),
        )
    )


def _overwriting() -> Script[None]:
    yield "PRAGMA secure_delete = ON", ()


def _without_log() -> Script[None]:
    yield "PRAGMA wal_checkpoint(TRUNCATE)", ()


def _namespace(stored: CheckpointTuple) -> str:
    return str((stored.config.get("configurable") or {}).get("checkpoint_ns") or "")
