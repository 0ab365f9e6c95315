"""What somebody else than a thread's owner has said in it, and what came of that.

Nobody's memory may learn from it: it is not the owner's, and the thread is not the other's.
"""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AnyMessage

from .journal import Journal

__all__ = ["as_guests", "guest_positions"]

_KEY = "longthread_guest"


def as_guests(message: AnyMessage) -> AnyMessage:
    """Return a human message, marked as one of somebody else than the thread's owner."""
    marked = {**message.additional_kwargs, _KEY: True}
    return message.model_copy(update={"additional_kwargs": marked})


def guest_positions(journal: Journal, start: int, end: int) -> set[int]:
    """Return the positions of what guests have said, and of what was done and answered for them.

    Args:
        journal: Everything that was said.
        start: The first position to look at.
        end: The position after the last one.
    """
    if start >= end:
        return set()
    begins = start
    while begins > 0 and journal[begins].type != "human":
        begins -= 1
    return {at for at in _of_guests(journal, range(begins, end)) if at >= start}


def _of_guests(journal: Journal, positions: Iterable[int]) -> Iterable[int]:
    guests = False
    for at in positions:
        message = journal[at]
        if message.type == "human":
            guests = bool(message.additional_kwargs.get(_KEY))
        if guests:
            yield at
