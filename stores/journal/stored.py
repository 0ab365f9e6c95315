"""What a checkpointer holds of one thread: in which namespaces, how much, and removing it."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..effects import Effect, Steps
from .keys import ThreadKey, is_lasting
from .scripts import Script, dialect_of, run_script

__all__ = ["clean_log", "delete_checkpoints", "stored_keys"]


def stored_keys(saver: BaseCheckpointSaver[Any], thread_id: str) -> Steps[dict[ThreadKey, int]]:
    """Return the journals of a thread with the number of checkpoints of each.

    Namespaces of graphs that live for a single task count towards the thread's own.
    """
    if dialect_of(saver) is not None:
        rows = yield run_script(saver, lambda: _namespaces(saver, thread_id))
    else:
        rows = [(ns, 1) for ns in (yield _listed(saver, thread_id))]
    found: dict[ThreadKey, int] = {}
    for namespace, count in rows:
        key = ThreadKey(thread_id, namespace if is_lasting(namespace) else "")
        found[key] = found.get(key, 0) + count
    return found


def delete_checkpoints(saver: BaseCheckpointSaver[Any], thread_id: str) -> Steps[None]:
    """Remove everything that a checkpointer holds of a thread, from SQLite's file as well."""
    if dialect_of(saver) == "sqlite":
        yield run_script(saver, _overwriting)

    async def adelete() -> None:
        try:
            await saver.adelete_thread(thread_id)
        except NotImplementedError:
            await asyncio.to_thread(saver.delete_thread, thread_id)

    yield Effect(run=lambda: saver.delete_thread(thread_id), arun=adelete)
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


def _listed(saver: BaseCheckpointSaver[Any], thread_id: str) -> Effect:
    asked: RunnableConfig = {"configurable": {"thread_id": thread_id}}

    async def alisted() -> list[str]:
        try:
            return [_namespace(stored) async for stored in saver.alist(asked)]
        except NotImplementedError:
            return await asyncio.to_thread(lambda: list(map(_namespace, saver.list(asked))))

    return Effect(run=lambda: list(map(_namespace, saver.list(asked))), arun=alisted)


def _namespace(stored: CheckpointTuple) -> str:
    return str((stored.config.get("configurable") or {}).get("checkpoint_ns") or "")
