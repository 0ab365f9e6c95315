"""Which messages are too large to be shown whole."""

from __future__ import annotations

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from .counting import count_known, count_text, text_of
from .projection import ContextView
from .text import head_and_tail

__all__ = ["oversized", "preview_length"]


def oversized(view: ContextView) -> list[AnyMessage]:
    """Return the messages since the last request whose text should go to a file.

    Tool results and human messages over `max_chars` characters or over `max_window_share` of the
    window, unless they are evicted already or their tool is excluded.
    """
    config = view.policy.eviction
    if config is None:
        return []
    journal = view.journal
    found: list[AnyMessage] = []
    seen = journal.position(view.usage.get("covered"))
    first = view.body.start if seen is None else max(view.body.start, seen + 1)
    share = config.max_window_share * view.window
    for at in range(first, len(journal)):
        message = journal[at]
        if not isinstance(message, (ToolMessage, HumanMessage)):
            continue
        if message.id in view.decisions.evictions:
            continue
        if isinstance(message, ToolMessage) and message.name in config.exclude_tools:
            continue
        if len(text_of(message.content)) > config.max_chars or (
            count_known(message, journal) > share and count_text(text_of(message.content)) > share
        ):
            found.append(message)
    return found


def preview_length(text: str, view: ContextView) -> int:
    """Return how many characters of head and tail to show: the preview must be small itself."""
    config = view.policy.eviction
    assert config is not None
    length = min(config.preview_chars, len(text) // 4)
    allowed = config.max_window_share * view.window / 2
    while length and count_text("".join(head_and_tail(text, length))) > allowed:
        length //= 2
    return length
