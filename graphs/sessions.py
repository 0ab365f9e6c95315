"""What an outsider is told about a thread: `session_of`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langgraph.types import StateSnapshot
from typing_extensions import TypedDict

from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.sealing import count_messages

__all__ = ["Session", "Status", "session_of", "status_of"]

Status = Literal["idle", "busy", "interrupted", "error", "closed"]
"""Where a thread is: at rest, in a call, waiting in the middle of one, failed in one, ended."""


class Session(TypedDict):
    """A thread at a glance: JSON types only.

    Keys:
        id: The thread's id.
        agent: The name of its agent.
        status: See `Status`.
        message_count: Messages in the journal, sealed ones included.
        summary: What stands for the messages that are summarised; None: nothing yet.
        size: Messages that the summary covers, system messages not counted.
        context_size: Tokens of the next request, as well as they are known.
        context_limit: Tokens that the model's window takes.
    """

    id: str
    agent: str
    status: Status
    message_count: int
    summary: str | None
    size: int
    context_size: int
    context_limit: int


def session_of(
    thread_id: str,
    state: Mapping[str, Any],
    status: Status,
    policy: ContextPolicy,
    *,
    agent: str,
) -> Session:
    """Describe a thread.

    Args:
        thread_id: Its id.
        state: Its state; messages may be the plain dicts that a server sends.
        status: Where it is, see `status_of`; whether it is closed is known from the state.
        policy: The policy of its agent, see `context_policy`.
        agent: The name of its agent.
    """
    view = view_context(state, policy)
    return Session(
        id=thread_id,
        agent=agent,
        status="closed" if state.get("closed") else status,
        message_count=count_messages(len(view.journal), state.get("sealed")),
        summary=view.decisions.summary or None,
        size=view.decisions.size,
        context_size=view.tokens,
        context_limit=view.window,
    )


def status_of(snapshot: StateSnapshot) -> Status:
    """Return where a thread is, as far as its last checkpoint tells."""
    tasks: Sequence[Any] = snapshot.tasks
    if any(task.error for task in tasks):
        return "error"
    return "interrupted" if snapshot.next or snapshot.interrupts else "idle"
