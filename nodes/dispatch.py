"""What is known of a tool call that was begun and has no result: it must not silently run again.

Before a call runs, that it is dispatched is written beside the checkpoint, where the checkpointer
keeps the writes of tasks. A task that finds such a record and no result was cut off by a crash. A
call that paused in `interrupt()` says so in a second record, and runs again when it is resumed.

What is private to LangGraph is read here and nowhere else. Where it cannot be read (another
runtime, no checkpointer), nothing is recorded and calls run as LangGraph runs them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from .node import Effect

__all__ = ["ANSWERED", "Dispatch", "answered_now", "cut_off_tasks", "waiting_tasks"]

ANSWERED = "__pregel_longthread_answered"
"""Where a call of the graph keeps the ids of the tool calls that it has been asked for itself.

Named as LangGraph names what is internal: it leaves such keys out of what it streams.
"""

_CHANNEL = "__longthread_dispatch"
_SEPARATOR = "|"


def answered_now(config: RunnableConfig) -> set[str] | None:
    """Return the ids of the tool calls that came from the model in this very call of the graph.

    Nobody can have begun them before. None where that is not known.
    """
    known = (config.get("configurable") or {}).get(ANSWERED)
    return known if isinstance(known, set) else None


def cut_off_tasks(stored: CheckpointTuple | None, tasks: Iterable[str]) -> set[str]:
    """Return those of the tasks whose calls were begun and neither ended nor paused.

    What such a call has asked before needs no answer: with any, it is reported as interrupted.

    Args:
        stored: The checkpoint that the tasks belong to.
        tasks: Ids of tasks that have no result.
    """
    ids = _written(stored)
    return {task for task in tasks if _record_id(task, "begun", _pauses(task, ids)) in ids}


def waiting_tasks(stored: CheckpointTuple | None, tasks: Iterable[str]) -> set[str]:
    """Return those of the tasks whose calls have paused and were not begun again since.

    Args:
        stored: The checkpoint that the tasks belong to.
        tasks: Ids of tasks that have no result.
    """
    ids = _written(stored)
    paused = {task: _pauses(task, ids) for task in tasks}
    return {t for t, n in paused.items() if n and _record_id(t, "begun", n) not in ids}


def _written(stored: CheckpointTuple | None) -> set[str]:
    return {task for task, _, _ in (stored.pending_writes or ())} if stored else set()


def _pauses(task: str, ids: set[str]) -> int:
    """Return how many times a task has paused."""
    count = 0
    while _record_id(task, "paused", count) in ids:
        count += 1
    return count


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One task that runs tool calls, and where what is known of it is kept.

    Args:
        saver: The checkpointer.
        config: The checkpoint that the task belongs to.
        task: The id of the task, the same in every attempt.
        attempt: How many times it has paused before: each begins it anew. (Not how many of its
            questions were answered: an answer is lost if the process dies before the call ends.)
    """

    saver: BaseCheckpointSaver[Any]
    config: RunnableConfig
    task: str
    attempt: int = 0

    @classmethod
    def of(cls, config: RunnableConfig) -> Self | None:
        """Return what is known of the running task; None where nothing can be kept."""
        values: Mapping[str, Any] = config.get("configurable") or {}
        saver, task = values.get("__pregel_checkpointer"), values.get("__pregel_task_id")
        namespace = str(values.get("checkpoint_ns") or "").rpartition(_SEPARATOR)[0]
        checkpoint = (values.get("checkpoint_map") or {}).get(namespace)
        if not isinstance(saver, BaseCheckpointSaver) or not task or not checkpoint:
            return None
        if values.get("__pregel_durability") == "exit" or values.get("thread_id") is None:
            return None  # nothing is stored before the end: there is nothing to come back to
        place: RunnableConfig = {
            "configurable": {
                "thread_id": values["thread_id"],
                "checkpoint_ns": namespace,
                "checkpoint_id": checkpoint,
            }
        }
        return cls(saver, place, str(task))

    def stored(self) -> Effect:
        """An effect: read the checkpoint with what was written beside it."""
        return Effect(
            run=lambda: self.saver.get_tuple(self.config),
            arun=lambda: self.saver.aget_tuple(self.config),
        )

    def was_cut_off(self, stored: CheckpointTuple | None) -> bool:
        """Whether the task was begun before and neither ended nor paused."""
        return bool(cut_off_tasks(stored, [self.task]))

    def again(self, stored: CheckpointTuple | None) -> Self:
        """Return the attempt that is next after what is stored."""
        return replace(self, attempt=_pauses(self.task, _written(stored)))

    def begun(self) -> Effect:
        """An effect: record that the calls are about to run."""
        return self._recorded("begun")

    def paused(self) -> Effect:
        """An effect: record that they wait for an answer, and are to run again with it."""
        return self._recorded("paused")

    def _recorded(self, what: str) -> Effect:
        # Under an id of its own: writes under the task's would count as its result.
        writes = [(_CHANNEL, what)]
        return Effect(
            run=lambda: self.saver.put_writes(self.config, writes, self._id(what)),
            arun=lambda: self.saver.aput_writes(self.config, writes, self._id(what)),
        )

    def _id(self, what: str) -> str:
        return _record_id(self.task, what, self.attempt)


def _record_id(task: str, what: str, attempt: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"longthread {task} {what} {attempt}"))
