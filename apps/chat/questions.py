"""What the tools ask before they do something, and whether it is to be answered still."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import PregelTask

from ...nodes.dispatch import cut_off_tasks

__all__ = ["Question", "open_questions"]

_RESUME = "__resume__"  # the channel of answers that LangGraph keeps for a task


@dataclass(frozen=True, slots=True)
class Question:
    """What a tool waits for.

    Attributes:
        id: The id of the interrupt.
        asked: What the tool has said of it.
        settled: Whether it was allowed once and cut off then. Whatever is answered, the tool is not
            run again, and the model is told that it was interrupted.
    """

    id: str
    asked: Any
    settled: bool


def open_questions(tasks: Iterable[PregelTask], stored: CheckpointTuple | None) -> list[Question]:
    """Return what the tools wait for.

    A tool that was interrupted by Ctrl-C keeps its answer in the checkpoint: asked again, a no
    would not count. It waits for nothing, and is gone on with.

    Args:
        tasks: The tasks of the thread.
        stored: Its newest checkpoint.
    """
    writes = (stored.pending_writes or ()) if stored is not None else ()
    answered = {task for task, channel, _ in writes if channel == _RESUME}
    waiting = [task for task in tasks if task.interrupts and task.id not in answered]
    cut_off = cut_off_tasks(stored, [task.id for task in waiting])
    return [
        Question(each.id, each.value, task.id in cut_off)
        for task in waiting
        for each in task.interrupts
    ]
