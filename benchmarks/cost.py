"""What a played session costs, summaries and re-reads included, and how well grounded it is.

Cost is in units of one uncached input token: 0.1 for a token from the cache, 1.25 for a new one, 5
for one of the answer (see `longthread.apps.replay.Prices`). When a recorded answer uses an
identifier that the session has shown and the prompt no longer holds, the agent would have had to
look it up again: that adds one more request with the same prompt from the cache, 600 new tokens and
100 tokens of answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from longthread import CompactionConfig, MaskingConfig, ToolResultEvictionConfig
from longthread.apps.replay import Priced, Prices, PromptMeter, Session, play_session
from longthread.apps.replay.recorded import recorded_tools
from longthread.state.counting import count_schemas

from .grounding import Grounding, requests_watched

__all__ = ["Cost", "added_up", "reread_cost", "session_cost", "unmanaged_cost"]

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

    def against(self, unmanaged: float) -> Cost:
        """Return the same cost, held against another one of sending everything."""
        return replace(self, unmanaged=unmanaged)

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


def added_up(
    session: Session,
    prompts: Sequence[Sequence[BaseMessage]],
    requests: Sequence[Priced],
    summaries: Sequence[Priced],
    *,
    window: int,
    unmanaged: float,
    maskings: int = 0,
    compactions: int | None = None,
) -> Cost:
    """Add up what a played session costs, whoever played it.

    Args:
        session: The recording.
        prompts: The messages of each request.
        requests: The same requests, priced.
        summaries: The requests to the summariser, priced.
        window: The context window in tokens.
        unmanaged: Cost with the whole history in every request.
        maskings: Moves of a mask.
        compactions: Compactions; None: as many as summaries.
    """
    prices = Prices()
    grounding = Grounding(session.tool_names)
    rereads = 0.0
    for step, prompt, priced in zip(session.steps, prompts, requests, strict=True):
        grounding.show(step.inputs)
        if grounding.ask(prompt, step.answer).missing:
            rereads += reread_cost(priced.tokens)
        grounding.show([step.answer, *step.results])
    return Cost(
        unmanaged=unmanaged,
        answers=prices.output * sum(request.output for request in requests),
        cached=prices.cached * sum(request.cached for request in requests),
        new=prices.new * sum(request.new for request in requests),
        summaries=sum(summary.cost for summary in summaries),
        rereads=rereads,
        used=grounding.used,
        missing=grounding.missing,
        above_window=sum(request.tokens > window for request in requests),
        maskings=maskings,
        compactions=len(summaries) if compactions is None else compactions,
    )


def unmanaged_cost(session: Session) -> float:
    """Return the cost of sending the whole history and the recorded tools with every request."""
    tools = [convert_to_openai_tool(tool) for tool in recorded_tools(session)]
    meter = PromptMeter(tools=count_schemas(tools))
    history: list[BaseMessage] = []
    cost = 0.0
    for step in session.steps:
        history += step.inputs
        cost += meter.measure(history, step.answer).cost
        history += [step.answer, *step.results]
    return cost


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
    kinds = [event.kind for event in replay.events]
    return added_up(
        session,
        prompts,
        [measured.managed for measured in replay.requests],
        replay.summaries,
        window=window,
        unmanaged=replay.unmanaged.cost,
        maskings=kinds.count("masking"),
        compactions=kinds.count("compaction"),
    )
