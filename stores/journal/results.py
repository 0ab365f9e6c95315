"""What the thread journal gives back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from langchain_core.messages import AnyMessage

__all__ = ["HistoryPage", "Reindexed", "ThreadHit", "ThreadInfo"]


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread of one user and agent.

    Attributes:
        thread_id: Its id.
        checkpoint_ns: "", or the place of the agent in a larger graph.
        user: Whose it is; None: nobody's in particular.
        agent: The agent's name.
        first_words: The beginning of the first human message.
        created: When it began; None: not known.
        updated: When it last moved; None: not known.
        messages: How many messages it holds.
    """

    thread_id: str
    checkpoint_ns: str
    user: str | None
    agent: str
    first_words: str
    created: datetime | None
    updated: datetime | None
    messages: int


@dataclass(frozen=True, slots=True)
class ThreadHit:
    """A message that a search has found.

    Attributes:
        thread_id: The thread.
        checkpoint_ns: "", or the place of the agent in a larger graph.
        position: Where the message stands in it, counted from 0.
        message_id: The message's id.
        role: user, assistant, system, or the tool that it is a result of.
        text: What it says: its text, a marker for each attachment, its calls.
        excerpt: A part of it around the hit, of at most 300 characters and an ellipsis.
    """

    thread_id: str
    checkpoint_ns: str
    position: int
    message_id: str
    role: str
    text: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """A part of a journal.

    Attributes:
        thread_id: The thread.
        checkpoint_ns: "", or the place of the agent in a larger graph.
        start: The position of the first message, counted from 0.
        total: How many messages the thread holds.
        messages: The messages, oldest first.
    """

    thread_id: str
    checkpoint_ns: str
    start: int
    total: int
    messages: list[AnyMessage]


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What is in the registry and the index after they have been built anew."""

    threads: int
    messages: int
