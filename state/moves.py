"""How far the mask and the argument boundary may move, and whether going there pays.

Both hide what lies behind them, so both end the provider's cached prefix at the first message that
changes. They are weighed together: one rewrite of the prefix serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import AIMessage, ToolMessage

from .config import CompactionConfig, TruncateArgsConfig
from .counting import count_message
from .cut import last_step
from .projection import ContextView
from .replacement import as_truncated

__all__ = ["Move", "move_pays", "move_relieves", "next_move"]

# No provider caches a shorter prompt, so there a move of the boundary rewrites nothing.
CACHEABLE_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class Move:
    """The furthest that the boundaries may move now.

    Attributes:
        masked_through: Id of the last message that the mask will cover, or None if it stays.
        arguments_through: The same for the truncation of arguments.
        positions: The positions after them, by the name of their channel.
        freed: Tokens that what is newly hidden no longer takes.
        rewritten: Tokens after the first message that changes: the provider reads them anew.
    """

    masked_through: str | None
    arguments_through: str | None
    positions: dict[str, int]
    freed: int
    rewritten: int


def next_move(view: ContextView) -> Move | None:
    """Return the furthest move that hides something new, or None if there is none."""
    masked, first_masked, mask_end = _masks(view)
    arguments, arguments_end = _arguments(view)
    freed = masked + sum(arguments.values())
    if freed <= 0:
        return None
    first = min([*arguments, *([first_masked] if masked else [])])
    return Move(
        masked_through=_id_before(view, mask_end) if masked else None,
        arguments_through=_id_before(view, arguments_end) if arguments else None,
        positions={
            **({"masked_through": _position(view, mask_end)} if masked else {}),
            **(
                {"arguments_truncated_through": _position(view, arguments_end)} if arguments else {}
            ),
        },
        freed=freed,
        rewritten=view.body.total - view.body.sums[first] - freed,
    )


def move_pays(view: ContextView, move: Move) -> bool:
    """Whether to move for its own sake, compaction apart."""
    masking = view.policy.masking
    if masking is not None and masking.batch != "auto" and move.masked_through is not None:
        return _steps_passed(view, masking.turns) >= masking.batch
    if view.tokens < CACHEABLE_TOKENS:
        return True
    payback = masking.payback if masking is not None else 1.0
    return move.freed >= payback * move.rewritten


def move_relieves(view: ContextView, move: Move) -> bool:
    """Whether to move instead of compacting, when compaction is due.

    Only if that makes the progress that is asked of a compaction. Less would keep the request just
    below what triggers one, and rewrite the cached prefix with every step to stay there.
    """
    config = view.policy.compaction or CompactionConfig()
    return move.freed >= config.min_progress * view.body.total


def _masks(view: ContextView) -> tuple[int, int, int]:
    """Return tokens saved, the first body index that saves any, and that the mask ends before."""
    masking, body = view.policy.masking, view.body
    first = body.first_saving
    if masking is None or first is None:
        return 0, 0, 0
    end = _index_of_step(view, masking.turns)
    if first >= end:
        return 0, 0, end
    if not body.late:
        return sum(body.savings[:end]), first, end
    # The boundary is a place in the journal: a result that came after it is not behind it.
    behind = {
        at: saving
        for at, saving in enumerate(body.savings[:end])
        if saving and body.sources[at] < body.sources[end]
    }
    return sum(behind.values()), min(behind, default=0), end


def _steps_passed(view: ContextView, turns: int) -> int:
    """Return how many steps the mask would pass, from where it ends now."""
    body = view.body
    behind = zip(body.messages, body.sources[: _index_of_step(view, turns)], strict=False)
    return sum(m.type == "ai" and at >= view.decisions.masked for m, at in behind)


def _arguments(view: ContextView) -> tuple[dict[int, int], int]:
    """Return tokens saved by body index, and the index that the truncation ends before."""
    body = view.body
    config, end = _truncation(view)
    if config is None:
        return {}, 0
    savings: dict[int, int] = {}
    index = end
    while index and body.sources[index - 1] >= view.decisions.arguments:
        index -= 1
        message = body.messages[index]
        if not isinstance(message, AIMessage):
            continue
        shorter = as_truncated(message, config)
        if shorter is not message:
            savings[index] = body.tokens[index] - count_message(shorter)
    return savings, end


def _truncation(view: ContextView) -> tuple[TruncateArgsConfig | None, int]:
    """Return how to cut arguments, and the body index before which.

    The last step cannot be summarised away. If it takes more than the conversation may, its
    arguments are cut too, whether or not the policy asks for that otherwise.
    """
    body, compaction = view.body, view.policy.compaction
    config = compaction.truncate_args if compaction is not None else None
    if body.total - body.sums[last_step(view)] > view.budget.conversation:
        return config or TruncateArgsConfig(), len(body.messages)
    if config is None or not _truncation_is_asked(view, config):
        return None, 0
    end = max(0, len(body.messages) - config.keep_messages)
    while 0 < end < len(body.messages) and isinstance(body.messages[end], ToolMessage):
        end -= 1
    return config, end


def _truncation_is_asked(view: ContextView, config: TruncateArgsConfig) -> bool:
    return (
        0 < config.trigger_messages <= len(view.body.messages)
        or 0 < config.trigger_tokens <= view.tokens
    )


def _index_of_step(view: ContextView, steps: int) -> int:
    """Return the body index of the step that many steps from the end; 0 if there are fewer."""
    messages = view.body.messages
    index, seen = len(messages), 0
    while index and seen < steps:
        index -= 1
        seen += messages[index].type == "ai"
    return index if seen == steps else 0


def _position(view: ContextView, index: int) -> int:
    """Return the journal position of what stands at a body index, or of the end."""
    sources = view.body.sources
    return sources[index] if index < len(sources) else len(view.journal)


def _id_before(view: ContextView, index: int) -> str:
    """Return the id of the journal message just before the one that stands at a body index."""
    message_id = view.journal[_position(view, index) - 1].id
    assert message_id is not None
    return message_id
