"""Rolling compaction: from the front, a share of what is left at a time, when asked.

Settings are fixed when the thread is created and recorded in it, so that a later change of the
agent's configuration does not change how an existing thread is summarised.
"""

from __future__ import annotations

import json

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage

from .config import RollingCompactionConfig
from .counting import text_of
from .cut import Cut, cut_at, last_step, legal_places
from .decisions import Rolling
from .projection import ContextView

__all__ = ["choose_rolling_cut", "rolling_due", "rolling_record"]


def rolling_record(config: RollingCompactionConfig | None) -> Rolling:
    """Return the settings as they are recorded; None means turned off.

    A model given as an object cannot be recorded: the thread then uses whatever the agent is given.
    """
    config = config or RollingCompactionConfig(enabled=False)
    model = "configured" if isinstance(config.model, BaseChatModel) else config.model
    return Rolling(
        enabled=config.enabled,
        compaction_count=config.compaction_count,
        auto_threshold=config.auto_threshold,
        model=model,
        custom_instructions=config.custom_instructions,
    )


def rolling_due(view: ContextView) -> Cut | None:
    """Return the cut to make if the context has reached the automatic threshold."""
    rolling = view.rolling
    if not rolling or not rolling["enabled"] or rolling["auto_threshold"] is None:
        return None
    if view.tokens * 100 < rolling["auto_threshold"] * view.window:
        return None
    if view.budget.overhead * 100 >= rolling["auto_threshold"] * view.window:
        return None  # no compaction can get below it: that would run with every step
    failed_at = view.compaction.get("failed_at")
    if failed_at is not None and view.conversation_tokens < failed_at * 1.1:
        return None  # the last attempt came to nothing, and little has been said since
    return choose_rolling_cut(view, rolling["compaction_count"])


def choose_rolling_cut(view: ContextView, percent: int) -> Cut | None:
    """Return the cut that takes the next `percent` of the context from the front.

    Messages are collected until their characters reach that share of summary and remaining
    messages, the crossing message included; then the nearest legal cut that makes progress is
    taken.
    """
    body = view.body
    sizes = [
        _characters(view.journal[at] if at >= 0 else message)
        for message, at in zip(body.messages, body.sources, strict=True)
    ]
    target = (len(view.decisions.summary) + sum(sizes)) * percent / 100
    place, collected = 0, 0
    while place < len(sizes) and collected < target:
        collected += sizes[place]
        place += 1
    # In the middle of a call its last step stays; after an answer all may go.
    answered = bool(body.messages) and body.messages[-1].type == "ai" and not body.unanswered
    end = len(body.messages) if answered else last_step(view)
    legal = legal_places(view)
    nearest = sorted((abs(i - place), i) for i in range(1, end + 1) if legal[i])
    cuts = (cut_at(view, i) for _, i in nearest)
    return next((cut for cut in cuts if cut.removed > 0), None)


def _characters(message: AnyMessage) -> int:
    length = len(text_of(message.content))
    if isinstance(message, AIMessage):
        length += sum(len(json.dumps(call["args"], default=str)) for call in message.tool_calls)
    return length
