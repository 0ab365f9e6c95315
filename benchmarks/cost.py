"""What a played session costs, summaries and re-reads included, and how well grounded it is.

Cost is in units of one uncached input token: 0.1 for a token from the cache, 1.25 for a new one, 5
for one of the answer (see `longthread.apps.replay.Prices`). When a recorded answer uses an
identifier that the session has shown and the prompt no longer holds, the agent would have had to
look it up again: that adds one more request with the same prompt from the cache, 600 new tokens and
100 tokens of answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from longthread import CompactionConfig, MaskingConfig, ToolResultEvictionConfig
from longthread.apps.replay import Prices, Replay, Session, play_session

from .grounding import Grounding, requests_watched

__all__ = ["Cost", "reread_cost", "session_cost"]

REREAD_NEW, REREAD_OUTPUT = 600, 100


@dataclass(frozen=True, slots=True)
class Cost:
    """What one session came to.

    Attributes:
        unmanaged: With the whole history in every request.
        answers: Of the agent's output alone, which no policy changes.
        cached: Of the input that came from the cache.
        new: Of the input that did not.
        summaries: Of the requests to the summariser.
        rereads: Of what had to be looked up again.
        used: Identifiers that the answers use and the session had shown before.
        missing: Those of them that were not in the prompt.
        above_window: Requests above the window.
        maskings: Moves of the mask.
        compactions: Compactions.
    """

    unmanaged: float
    answers: float
    cached: float
    new: float
    summaries: float
    rereads: float
    used: int
    missing: int
    above_window: int
    maskings: int
    compactions: int

    @property
    def total(self) -> float:
        """All of it."""
        return self.answers + self.cached + self.new + self.summaries + self.rereads

    @property
    def ratio(self) -> float:
        """Against sending everything every time."""
        return self.total / self.unmanaged

    @staticmethod
    def grounding(costs: Iterable[Cost]) -> float:
        """Return the share of used identifiers that was in the prompt, over several sessions."""
        all_costs = list(costs)
        used = sum(cost.used for cost in all_costs)
        return 1 - sum(cost.missing for cost in all_costs) / used if used else 1.0


def reread_cost(prompt_tokens: int, prices: Prices | None = None) -> float:
    """Return what it costs to look something up again with a prompt of that size."""
    prices = prices or Prices()
    return prices.cost(cached=prompt_tokens, new=REREAD_NEW, output=REREAD_OUTPUT)


def session_cost(
    session: Session,
    *,
    window: int,
    masking: MaskingConfig | None,
    compaction: CompactionConfig | None,
    **others: Any,
) -> Cost:
    """Play a session through the agent graph and add up what it costs.

    Args:
        session: The recording.
        window: The context window in tokens.
        masking: As for `create_agent_graph`.
        compaction: As for `create_agent_graph`.
        **others: More arguments of `play_session`.
    """
    others.setdefault("eviction", ToolResultEvictionConfig())
    with requests_watched() as prompts:
        replay = play_session(
            session, window=window, masking=masking, compaction=compaction, **others
        )
    grounding = Grounding(session.tool_names)
    rereads = 0.0
    for step, prompt, measured in zip(session.steps, prompts, replay.requests, strict=True):
        grounding.show(step.inputs)
        if grounding.ask(prompt, step.answer).missing:
            rereads += reread_cost(measured.managed.tokens)
        grounding.show([step.answer, *step.results])
    return _cost(replay, grounding, rereads)


def _cost(replay: Replay, grounding: Grounding, rereads: float) -> Cost:
    prices = Prices()
    requests = [measured.managed for measured in replay.requests]
    kinds = [event.kind for event in replay.events]
    return Cost(
        unmanaged=replay.unmanaged.cost,
        answers=prices.output * sum(request.output for request in requests),
        cached=prices.cached * sum(request.cached for request in requests),
        new=prices.new * sum(request.new for request in requests),
        summaries=sum(summary.cost for summary in replay.summaries),
        rereads=rereads,
        used=grounding.used,
        missing=grounding.missing,
        above_window=replay.managed.above_window,
        maskings=kinds.count("masking"),
        compactions=kinds.count("compaction"),
    )
