"""Where a compaction may cut the conversation, and whether it should."""

from __future__ import annotations

import operator
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from langchain_core.messages import ToolMessage

from .config import CompactionConfig
from .counting import count_media
from .payback import compaction_pays
from .projection import ContextView

__all__ = [
    "FRAME_TOKENS",
    "Cut",
    "choose_cut",
    "compaction_due",
    "cut_at",
    "exceeds_alone",
    "last_step",
    "legal_places",
    "paused",
]


# A shorter part is not worth a summary: the summary and the frame around it take as much.
FRAME_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Cut:
    """A legal cut.

    Attributes:
        position: Journal position of the first message that stays.
        through: Id of the last message that goes.
        size: Journal messages before the cut, system messages not counted.
        shown: How many messages of the body go.
        removed: Tokens that they take in the request.
    """

    position: int
    through: str
    size: int
    shown: int
    removed: int


def compaction_due(view: ContextView) -> Cut | None:
    """Return the cut to make now, or None if compaction is not due.

    It is asked for by the number of messages since the last cut, by the tokens of the
    conversation, by the share of the window that the request takes, or by what it has cost to hold
    what would go. It is due if the cut makes enough progress; above the request limit any progress
    is enough, and no pause is kept.
    """
    config = view.policy.compaction
    if config is None or not config.enabled:
        return None
    budget = view.budget
    conversation = view.conversation_tokens
    above = view.tokens > budget.request_limit
    asked = (
        above
        or 0 < config.trigger_messages <= len(view.body.messages)
        or conversation >= (config.trigger_tokens or budget.conversation)
        or view.tokens > config.threshold * view.window
    )
    if budget.conversation <= 0 or (paused(view) and not above):
        return None
    keep = _first_kept(view, config)
    needed = FRAME_TOKENS if above else config.min_progress * view.body.total
    if view.body.sums[keep] < needed:
        return None
    if not asked and not compaction_pays(view, config, keep):
        return None
    cut = choose_cut(view, keep)
    return cut if cut is not None and cut.removed >= needed else None


def choose_cut(view: ContextView, keep: int | None = None) -> Cut | None:
    """Return the legal cut nearest to a place in the body, or None if there is none.

    A later place is preferred, so that the kept tail does not grow over what was asked for; the
    last step stays, unless it would not fit if it were all that is left.

    Args:
        view: The projection.
        keep: Index in the body of the first message to keep; None: as the configuration says.
    """
    body = view.body
    if not body.messages:
        return None
    if keep is None:
        keep = _first_kept(view, view.policy.compaction or CompactionConfig())
    last = len(body.messages) if exceeds_alone(view) else last_step(view)
    legal = legal_places(view)
    places = [i for i in range(min(keep, last), last + 1) if legal[i]]
    if not places:
        places = [i for i in range(min(keep, last), 0, -1) if legal[i]]
    if not places:
        return None
    return cut_at(view, places[0])


def cut_at(view: ContextView, place: int) -> Cut:
    """Return the cut before a legal place in the body."""
    body, journal = view.body, view.journal
    position = body.sources[place] if place < len(body.sources) else len(journal)
    through = journal[position - 1].id
    assert through is not None
    new = sum(m.type != "system" for m in journal[body.start : position])
    removed = body.sums[place] - _shown_again(view, place)
    return Cut(position, through, view.decisions.size + new, place, removed)


def _shown_again(view: ContextView, place: int) -> int:
    """Return the tokens of the newest human message if the cut passes it: it is still sent."""
    messages = view.body.messages
    newest = len(messages) - 1
    while newest >= 0 and messages[newest].type != "human":
        newest -= 1
    return view.body.tokens[newest] if 0 <= newest < place else 0


def _first_kept(view: ContextView, config: CompactionConfig) -> int:
    """Index of the first message of the tail, by tokens or by number, legal or not."""
    body = view.body
    if exceeds_alone(view):
        return len(body.messages)
    last = last_step(view)
    by_number = config.keep_tokens == 0
    # Kept by number or by tokens, never more than half of the budget: the rest has to fit too.
    allowed = view.budget.keep_tokens(view.window if by_number else config.keep_tokens)
    least = max(0, len(body.messages) - config.keep_messages) if by_number else 0
    return min(max(least, bisect_left(body.sums, body.total - allowed)), last)


def last_step(view: ContextView) -> int:
    """Index of the message that opens the last step."""
    messages = view.body.messages
    index = len(messages) - 1
    while index > 0 and isinstance(messages[index], ToolMessage):
        index -= 1
    return max(0, index)


def exceeds_alone(view: ContextView) -> bool:
    """Whether calls and results of the last step are too much even with nothing before them.

    No preview of hundreds of results is small enough: then the step itself becomes a summary. What
    images take is a guess: as long as the provider has refused nothing, they do not count here.
    """
    body = view.body
    if body.unanswered or not body.messages or not isinstance(body.messages[-1], ToolMessage):
        return False
    if view.tokens <= view.budget.request_limit:
        return False
    first = last_step(view)
    excess = view.tokens - body.sums[first] - view.budget.request_limit
    if excess > 0 and not view.overflow.get("attempts"):
        excess -= sum(count_media(message) for message in body.messages[first:])
    return excess > 0


def legal_places(view: ContextView) -> list[bool]:
    """For each place in the body, its end included: may the conversation be cut before it?

    Calls and results stay together, and what has no result in the journal yet stays: a result that
    arrives later must find its call.
    """
    body = view.body
    sources = [*body.sources, len(view.journal)]
    latest = [-1, *accumulate(body.sources, max)]
    settled = [True, *accumulate((at >= 0 for at in body.sources), operator.and_)]
    result = [isinstance(message, ToolMessage) for message in body.messages]
    return [
        i > 0 and settled[i] and sources[i] > latest[i] and not inside
        for i, inside in enumerate([*result, bool(body.unanswered)])
    ]


def paused(view: ContextView) -> bool:
    """Whether attempts have failed so often that it waits for the conversation to grow."""
    config, record = view.policy.compaction or CompactionConfig(), view.compaction
    if record.get("failures", 0) < config.max_failures:
        return False
    return view.conversation_tokens < record.get("failed_at", 0) * 1.1
