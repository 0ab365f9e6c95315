"""Which messages are too large to be shown whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage

from .config import ToolResultEvictionConfig
from .counting import count_known, count_message, count_text, text_of
from .cut import choose_cut, exceeds_alone
from .decisions import Eviction
from .projection import ContextView
from .replacement import as_evicted, eviction_of
from .text import head_and_tail

__all__ = ["oversized", "with_previews"]

# A shorter text is hardly longer than the line that would stand in its place.
_WORTHWHILE_TOKENS = 128
# What that line takes: the path in it names the thread, the call and what the text is.
_LINE_TOKENS = 80


def oversized(view: ContextView) -> list[AnyMessage]:
    """Return the messages since the last request whose text should go to a file.

    Tool results and human messages over `max_chars` characters or over `max_window_share` of the
    window; and of several that together would take more than half of what the conversation may, the
    largest. The last step is summarised away only if even that is not enough. Left alone are texts
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
    last = _last_step(new)
    step = [m for m in last if m.id not in gone and eviction_of(m, evicted) is None]
    sizes = [count_known(m, view.journal) for m in step]
    lines = _LINE_TOKENS * (len(last) - len(step))
    return [*found, *_largest(step, sizes, view, config, beside=lines + _called(last, view))]


def with_previews(written: Mapping[str, Eviction], view: ContextView) -> dict[str, Eviction]:
    """Return records of texts that were just written, with how much of each is to be shown.

    All previews of one step together get at most a quarter of what the conversation may take, and
    no more than what is left beside the lines that say where the texts are. If those alone are too
    much, the step becomes a summary, which is made from previews; without compaction nothing is
    shown but the lines.

    Args:
        written: Records by message id, each with a `preview` of 0.
        view: The projection before any of them.
    """
    config, policy, journal = view.policy.eviction, view.policy, view.journal
    assert config is not None
    step = _last_step(_new(view))
    evicted = {**view.decisions.evictions, **written}
    sizes = []
    for message in step:
        record = eviction_of(message, evicted)
        if record is not None and isinstance(message, (ToolMessage, HumanMessage)):
            message = as_evicted(message, record, policy)
        sizes.append(count_message(message))
    room = view.budget.conversation - _called(step, view) - sum(sizes)
    share = max(0, view.budget.conversation) / 4 / max(1, len(step))
    if room > 0 or policy.compaction is None or not policy.compaction.enabled:
        share = min(share, max(0, room) / max(1, len(written)))
    allowed = min(config.max_window_share * view.window / 2, share)
    previews: dict[str, Eviction] = {}
    for message_id, record in written.items():
        at = journal.position(message_id)
        assert at is not None
        length = _fitting(text_of(journal[at].content), config.preview_chars, allowed)
        previews[message_id] = {**record, "preview": length}
    return previews


def _fitting(text: str, most: int, allowed: float) -> int:
    """Return how many characters of head and tail fit into so many tokens."""
    length = min(most, len(text) // 4)
    while length and count_text("".join(head_and_tail(text, length))) > allowed:
        length //= 2
    return length


def _called(step: Sequence[AnyMessage], view: ContextView) -> int:
    """Return the tokens of the answer whose calls have brought these results."""
    first = view.journal.position(step[0].id) if step else None
    if not first or not isinstance(step[-1], ToolMessage):
        return 0
    return count_known(view.journal[first - 1], view.journal)


def _crowded_tail(view: ContextView, config: ToolResultEvictionConfig) -> list[AnyMessage]:
    """Return the largest texts of what a forced compaction would keep, if that is too much.

    The provider has refused the request: the threshold is whatever makes the kept tail fit.
    """
    cut = None if exceeds_alone(view) else choose_cut(view)
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
    *,
    beside: int = 0,
) -> list[AnyMessage]:
    """Return the largest of the messages, until the rest takes at most half of the conversation.

    Less than half, where what stands beside them leaves less.

    Args:
        messages: The messages.
        sizes: The tokens of each.
        view: The projection.
        config: How texts are evicted.
        beside: Tokens that the same step takes apart from these messages.
    """
    budget = view.budget.conversation
    excess = sum(sizes) - min(budget // 2, budget - beside)
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
                excess -= texts[at] - _LINE_TOKENS
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
