"""Threads that have ended: `close_thread` has written `closed`, and nothing runs in them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..state.errors import LongthreadError

__all__ = ["refuse_closed"]


def refuse_closed(state: Mapping[str, Any], thread_id: str | None) -> None:
    """Refuse to work on a thread that is closed.

    Args:
        state: Its state, or the values in its checkpoint.
        thread_id: Its id, for the error.

    Raises:
        LongthreadError: It is closed (code `SESSION_CLOSED`).
    """
    if state.get("closed"):
        raise LongthreadError(
            f"thread {thread_id!r} is closed: begin a new one, or write closed=False to its state "
            "to open it again",
            code="SESSION_CLOSED",
        )
