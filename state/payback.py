"""When a compaction pays: what holding the old messages has cost, against what it costs itself.

A provider that caches the prefix of a prompt takes about a tenth of the price for what it has read
before, a quarter more than the price for what is new, and five times the price for what it writes.
Once the messages that would go have cost as much, request by request, as the compaction would, it
is time: whoever waits longer pays for holding them, whoever compacts sooner for compacting often.
"""

from __future__ import annotations

from .config import CompactionConfig
from .projection import ContextView
from .summary_size import SummarySize

__all__ = ["CACHED", "NEW", "OUTPUT", "compaction_pays"]

CACHED, NEW, OUTPUT = 0.1, 1.25, 5.0
"""Prices of a token that is read from the cache, read anew, written; 1 is one without a cache."""

_PROMPT = 512  # tokens of the summariser's own prompt
_LEAST = 4  # below a quarter of the window there is no hurry


def compaction_pays(view: ContextView, config: CompactionConfig, keep: int) -> bool:
    """Whether holding what would go has cost as much as the compaction, times `payback`.

    Args:
        view: The projection.
        config: The policy's compaction.
        keep: Index in the body of the first message to keep.
    """
    if not config.payback or view.conversation_tokens * _LEAST < view.window:
        return False
    body = view.body
    goes = body.sums[keep]
    size = SummarySize.of(view)
    written, names = size.addition(goes), size.names_added(goes)
    cached = config.cached_prompt and view.usage.get("cached", 0) > 0
    cost = (
        OUTPUT * written
        + (CACHED * view.tokens if cached else NEW * goes)
        + NEW * (_PROMPT + body.total - goes + written + names)
    )
    return CACHED * body.held(keep) >= config.payback * cost
