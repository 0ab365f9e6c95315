"""What a task has finished but no checkpoint holds yet, when a new message comes instead of a
resume.

LangGraph keeps the writes of finished tasks beside the checkpoint, applies them on `invoke(None)`,
and drops them when new input starts a new step. Messages among them were said: they go into the
journal before the new ones. What tools have written to channels of the application goes with them.
Calls that still wait for a person's approval are known not to have run, and are settled as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command

from ..nodes.approval import undecided
from ..nodes.dispatch import waiting_tasks
from ..state.written import as_messages

__all__ = ["is_new_input", "with_finished", "with_undecided", "writes_to"]

_PAUSES = "__interrupt__"


def is_new_input(given: Any) -> bool:
    """Whether this starts something new, rather than resuming what is unfinished."""
    return isinstance(given, dict) and not isinstance(given, Command)


def writes_to(channels: Iterable[str], stored: CheckpointTuple | None) -> bool:
    """Whether finished tasks have written to one of the channels since a checkpoint."""
    written = {channel for _, channel, _ in (stored.pending_writes or ())} if stored else set()
    return not written.isdisjoint(channels)


def with_finished(given: dict[str, Any], stored: CheckpointTuple | None) -> dict[str, Any]:
    """Return the input with the messages of finished tasks before its own.

    Args:
        given: The input of a call.
        stored: The thread's newest checkpoint, with what was written after it.
    """
    return _after([*_messages(stored), *_undecided(stored)], given)


def with_undecided(given: dict[str, Any], stored: CheckpointTuple | None) -> dict[str, Any]:
    """Return the input with results for the calls that wait for a decision before its own messages.

    Args:
        given: The input of a call.
        stored: The thread's newest checkpoint, from before what finished tasks wrote was taken in.
    """
    return _after(_undecided(stored), given)


def _after(first: Sequence[BaseMessage], given: dict[str, Any]) -> dict[str, Any]:
    if not first:
        return given
    return {**given, "messages": [*first, *as_messages(given.get("messages") or [])]}


def _messages(stored: CheckpointTuple | None) -> list[BaseMessage]:
    """Return the messages that finished tasks have written since a checkpoint."""
    found: list[BaseMessage] = []
    for _, channel, value in (stored.pending_writes or ()) if stored is not None else ():
        if channel == "messages":
            items: Sequence[Any] = value if isinstance(value, list) else [value]
            found += [item for item in items if isinstance(item, BaseMessage)]
    return found


def _undecided(stored: CheckpointTuple | None) -> list[BaseMessage]:
    """Return results for the calls that wait for a decision which will not come any more."""
    pauses = (
        {
            task: value
            for task, channel, value in (stored.pending_writes or ())
            if channel == _PAUSES and isinstance(value, (list, tuple))
        }
        if stored is not None
        else {}
    )
    waiting = waiting_tasks(stored, pauses)
    asked = [
        undecided(getattr(one, "value", None)) for t in pauses if t in waiting for one in pauses[t]
    ]
    return [result for result in asked if result is not None]
