"""A page of a journal; of its sealed part only as many segments are read as it reaches into."""

from __future__ import annotations

from langchain_core.messages import AnyMessage

from ...state.errors import ToolInputError
from ..workspace import ScopedWorkspace
from .keys import ThreadKey
from .reading import Journaled
from .results import HistoryPage

__all__ = ["read_page"]


def read_page(
    key: ThreadKey,
    journaled: Journaled,
    files: ScopedWorkspace,
    last_n: int,
    before: int | str | None,
) -> HistoryPage:
    """Return the last messages before a place.

    Args:
        key: The thread.
        journaled: Its messages.
        files: Where its sealed part is.
        last_n: Most messages to return.
        before: A position in the whole journal, the id of a message, or None for the end.

    Raises:
        ToolInputError: There is no such place.
        WorkspaceError: A segment that is needed is missing or damaged.
    """
    if isinstance(before, int) and before < 0:
        raise ToolInputError(f"before={before!r}: positions count from 0")
    segments = journaled.before(files)
    messages, start = journaled.live, journaled.start
    end = _place(messages, start, before)
    first = None if end is None else max(0, end - last_n)
    while first is None or first < start:
        older = next(segments, None)
        if older is None:
            break
        messages, start = [*older, *messages], start - len(older)
        if end is None:
            end = _place(older, start, before)
            first = None if end is None else max(0, end - last_n)
    if first is None or end is None:
        raise ToolInputError(
            f"before={before!r}: thread {str(key)!r} has no message with this id; give the id of "
            f"one, or a position from 0 to {journaled.total}"
        )
    end = min(end, start + len(messages))
    return HistoryPage(
        key.thread_id,
        key.checkpoint_ns,
        first,
        journaled.total,
        messages[first - start : end - start],
    )


def _place(messages: list[AnyMessage], start: int, before: int | str | None) -> int | None:
    """Return the position before which a page ends, if it can be told from these messages."""
    if before is None:
        return start + len(messages)
    if isinstance(before, int):
        return min(before, start + len(messages))
    return next((start + at for at, m in enumerate(messages) if m.id == before), None)
