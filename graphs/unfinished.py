"""What a task has finished but no checkpoint holds yet, when a new message comes instead of a
resume.

LangGraph keeps the writes of finished tasks beside the checkpoint, applies them on `invoke(None)`,
and drops them when new input starts a new step. Messages among them were said: they go into the
journal before the new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command

from ..state.journal import as_messages

__all__ = ["is_new_input", "with_finished"]


def is_new_input(given: Any) -> bool:
    """Whether this starts something new, rather than resuming what is unfinished."""
    return isinstance(given, dict) and not isinstance(given, Command) and "messages" in given


def with_finished(given: dict[str, Any], stored: CheckpointTuple | None) -> dict[str, Any]:
    """Return the input with the messages of finished tasks before its own.

    Args:
        given: The input of a call, with `messages`.
        stored: The thread's newest checkpoint, with what was written after it.
    """
    finished = _messages(stored)
    if not finished:
        return given
    return {**given, "messages": [*finished, *as_messages(given["messages"])]}


def _messages(stored: CheckpointTuple | None) -> list[BaseMessage]:
    """Return the messages that finished tasks have written since a checkpoint."""
    found: list[BaseMessage] = []
    for _, channel, value in (stored.pending_writes or ()) if stored is not None else ():
        if channel == "messages":
            items: Sequence[Any] = value if isinstance(value, list) else [value]
            found += [item for item in items if isinstance(item, BaseMessage)]
    return found
