"""Which messages are too large to be shown whole."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from .config import ToolResultEvictionConfig
from .counting import count_known, count_text, text_of
from .cut import choose_cut
from .projection import ContextView
from .replacement import eviction_of
from .text import head_and_tail

__all__ = ["oversized", "preview_length"]

# A shorter text is hardly longer than the line that would stand in its place.
_WORTHWHILE_TOKENS = 128


def oversized(view: ContextView) -> list[AnyMessage]:
    """Return the messages since the last request whose text should go to a file.

    Tool results and human messages over `max_chars` characters or over `max_window_share` of the
    window; and of several that together would take more than half of what the conversation may, the
    largest. The last step cannot be summarised away: it has to fit as it is. Left alone are texts
    that are evicted already, and results of excluded tools.
    """
    config = view.policy.eviction
    if config is None:
        return []
    if view.overflow.get("pending"):
        return _crowded_tail(view, config)
    new = _new(view)
    found = [
        m
        for m in (*_edited(view), *new)
        if _movable(m, view) and not _is_excluded(m, config) and _too_large(m, view, config)
    ]
    gone = {m.id for m in found}
    evicted = view.decisions.evictions
    step = [m for m in _last_step(new) if m.id not in gone and eviction_of(m, evicted) is None]
    sizes = [count_known(m, view.journal) for m in step]
    return [*found, *_largest(step, sizes, view, config)]


def preview_length(text: str, view: ContextView) -> int:
    """Return how many characters of head and tail to show: the preview must be small itself.

    All previews of one step together get at most a quarter of what the conversation may take.
    """
    config = view.policy.eviction
    assert config is not None
    length = min(config.preview_chars, len(text) // 4)
    allowed = min(
        config.max_window_share * view.window / 2,
        max(0, view.budget.conversation) / 4 / max(1, len(_last_step(_new(view)))),
    )
    while length and count_text("".join(head_and_tail(text, length))) > allowed:
        length //= 2
    return length


def _crowded_tail(view: ContextView, config: ToolResultEvictionConfig) -> list[AnyMessage]:
    """Return the largest texts of what a forced compaction would keep, if that is too much.

    The provider has refused the request: the threshold is whatever makes the kept tail fit.
    """
    cut = choose_cut(view)
    first = cut.shown if cut is not None else 0
    body = view.body
    pairs = zip(body.messages, body.sources, strict=True)
    tail = [view.journal[at] if at >= 0 else message for message, at in pairs]
    return _largest(tail[first:], body.tokens[first:], view, config)


def _largest(
    messages: Sequence[AnyMessage],
    sizes: Sequence[int],
    view: ContextView,
    config: ToolResultEvictionConfig,
) -> list[AnyMessage]:
    """Return the largest of the messages, until the rest takes at most half of the conversation."""
    excess = sum(sizes) - view.budget.conversation // 2
    found: list[AnyMessage] = []
    if excess <= 0:
        return found
    # Only text can go to a file: what attachments cost beside it stays.
    texts = [count_text(text_of(message.content)) for message in messages]
    by_size = sorted(range(len(messages)), key=lambda i: -texts[i])
    # Results of excluded tools come last, but what does not fit cannot be sent either.
    for excluded in (False, True):
        for at in by_size:
            if excess <= 0 or texts[at] < _WORTHWHILE_TOKENS:
                break
            message = messages[at]
            if _is_excluded(message, config) is excluded and _movable(message, view):
                found.append(message)
                excess -= texts[at]
    return found


def _new(view: ContextView) -> list[AnyMessage]:
    """Return the messages that no request has shown yet."""
    return view.journal[_first_new(view) :]


def _edited(view: ContextView) -> list[AnyMessage]:
    """Return the older messages that were replaced: they may be something else now."""
    first = _first_new(view)
    places = sorted(at for i in view.journal.edited if (at := view.journal.position(i)) is not None)
    return [view.journal[at] for at in places if view.body.start <= at < first]


def _first_new(view: ContextView) -> int:
    return max(view.body.start, view.covered)


def _last_step(new: list[AnyMessage]) -> list[AnyMessage]:
    """Return what has come in since the last answer."""
    start = len(new)
    while start and new[start - 1].type != "ai":
        start -= 1
    return new[start:]


def _movable(message: AnyMessage, view: ContextView) -> bool:
    """Whether there is a text that can go to a file, and has not gone already."""
    if not isinstance(message, (ToolMessage, HumanMessage)):
        return False
    return eviction_of(message, view.decisions.evictions) is None


def _is_excluded(message: AnyMessage, config: ToolResultEvictionConfig) -> bool:
    return isinstance(message, ToolMessage) and message.name in config.exclude_tools


def _too_large(message: AnyMessage, view: ContextView, config: ToolResultEvictionConfig) -> bool:
    text = text_of(message.content)
    if len(text) > config.max_chars:
        return True
    share = config.max_window_share * view.window
    # The message's own count is at hand; its text is counted only if that alone can be the reason.
    return count_known(message, view.journal) > share and count_text(text) > share
