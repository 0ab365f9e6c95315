"""Where the mask boundary may go next, and whether going there pays."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.messages import ToolMessage

from .config import CompactionConfig
from .projection import ContextView
from .replacement import is_maskable, masked_tokens

__all__ = ["MaskMove", "mask_pays", "mask_relieves", "next_mask"]

# No provider caches a shorter prompt, so there a move of the boundary rewrites nothing.
CACHEABLE_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class MaskMove:
    """The furthest that the boundary may move now.

    Attributes:
        through: Id of the last message that the moved boundary covers.
        steps: Steps that it passes.
        freed: Tokens that newly masked results no longer take.
        rewritten: Tokens after the first newly masked result: the provider reads them anew.
    """

    through: str
    steps: int
    freed: int
    rewritten: int


def next_mask(view: ContextView) -> MaskMove | None:
    """Return the furthest move that masks something new, or None if there is none."""
    masking, body = view.policy.masking, view.body
    if masking is None:
        return None
    index, kept = len(body.messages), 0
    while index and kept < masking.turns:
        index -= 1
        kept += body.messages[index].type == "ai"
    if kept < masking.turns or body.sources[index] <= view.decisions.masked:
        return None
    boundary = body.sources[index]
    freed = steps = 0
    first = index
    while index and body.sources[index - 1] >= view.decisions.masked:
        index -= 1
        message = body.messages[index]
        steps += message.type == "ai"
        if body.sources[index] >= boundary or not isinstance(message, ToolMessage):
            continue
        eviction = view.decisions.evictions.get(message.id or "")
        if is_maskable(message, eviction, masking):
            freed += body.tokens[index] - masked_tokens(message, eviction, masking)
            first = index
    if freed <= 0:
        return None
    through = view.journal[boundary - 1].id
    assert through is not None
    return MaskMove(through, steps, freed, sum(body.tokens[first:]) - freed)


def mask_relieves(view: ContextView, move: MaskMove) -> bool:
    """Whether to move the boundary instead of compacting, when compaction is due.

    Only if that makes the progress that is asked of a compaction. Less would keep the request just
    below what triggers one, and rewrite the cached prefix with every step to stay there.
    """
    config = view.policy.compaction or CompactionConfig()
    return move.freed >= config.min_progress * view.body.total


def mask_pays(view: ContextView, move: MaskMove) -> bool:
    """Whether to move the boundary for its own sake, compaction apart."""
    masking = view.policy.masking
    assert masking is not None
    if masking.batch != "auto":
        return move.steps >= masking.batch
    if view.tokens < CACHEABLE_TOKENS:
        return True
    return move.freed >= masking.payback * move.rewritten
