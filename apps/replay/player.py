"""Playing a recording through the agent graph, and measuring every request on the way."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from ...graphs.agent import context_policy, create_agent_graph
from ...graphs.compiled import AgentGraph
from ...state.config import CompactionConfig, MaskingConfig, ToolResultEvictionConfig
from ...state.errors import LongthreadError
from ...state.journal import append_messages, as_journal
from ...state.projection import ContextView, view_context
from ...state.validity import violations
from .held import HeldAsItIs
from .measures import Event, Measured, Replay
from .pricing import Prices, PromptMeter
from .recorded import recorded_model, recorded_tools
from .sessions import Session
from .summaries import SummaryWatch, extractive_answer, is_aside, is_compaction

__all__ = ["ReplayError", "default_window", "play_session"]

_MASKING, _COMPACTION, _EVICTION = MaskingConfig(), CompactionConfig(), ToolResultEvictionConfig()


class ReplayError(LongthreadError):
    """A session could not be played to its end."""

    code = "REPLAY_FAILED"


def default_window(session: Session) -> int:
    """Return the window that a session is played with by default: a quarter of it, at least 16,000.

    In a window that holds the whole session there is nothing to manage.
    """
    return max(16_000, session.tokens // 4)


def play_session(
    session: Session,
    *,
    window: int | None = None,
    masking: MaskingConfig | None = _MASKING,
    compaction: CompactionConfig | None = _COMPACTION,
    eviction: ToolResultEvictionConfig | None = _EVICTION,
    prices: Prices | None = None,
    check: bool = False,
    on_request: Callable[[int], None] | None = None,
) -> Replay:
    """Play a recording through the agent graph with its recorded answers and tool results.

    Memory is off and the workspace is a temporary folder. Beside each request the same one is
    measured with the whole history and the same tool schemas.

    Args:
        session: The recording.
        window: The context window in tokens; None: `default_window`.
        masking: As for `create_agent_graph`.
        compaction: As for `create_agent_graph`; without a model of its own, summaries are extracts,
            the same for the same input.
        eviction: As for `create_agent_graph`.
        prices: What a token costs.
        check: Hold every request against the validity rules, and the measures against the request.
        on_request: Called with the number of each request that was played.

    Raises:
        ReplayError: The summariser failed, or (with `check`) a request was wrong.
        LongthreadError: What the graph raises, such as `ThreadBudgetError` for a tiny window.
        OSError: The temporary folder cannot be used.
    """
    window = default_window(session) if window is None else window
    seen = PromptMeter(prices=prices)
    summary: Callable[[list[BaseMessage]], str | None] | None = None
    if compaction is not None and compaction.model is None:
        extract = extractive_answer(compaction.max_summary_tokens)

        def summary(request: list[BaseMessage]) -> str | None:
            return extract(request) if is_compaction(request) else None

    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="longthread-replay-") as folder:
        graph = create_agent_graph(
            recorded_model(session, meter=seen, summary=summary),
            recorded_tools(session),
            name="replay",
            memory=None,
            masking=masking,
            compaction=compaction,
            eviction=eviction,
            workspace=folder,
            checkpointer=InMemorySaver(serde=HeldAsItIs()),
            context_window=window,
        )
        seen.tools = context_policy(graph).tools_tokens
        player = _Player(session, graph, Replay(session, window), prices or Prices(), check)
        for number in range(len(session.steps)):
            player.play(number)
            if on_request is not None:
                on_request(number + 1)
    player.replay.seconds = time.monotonic() - started
    return player.replay


class _Player:
    """Takes the graph from answer to answer.

    The graph stops before `tools`, so that after each answer the recording decides what comes next:
    the calls are run, or a human message arrives before they are, or it ends there.
    """

    def __init__(
        self, session: Session, graph: AgentGraph, replay: Replay, prices: Prices, check: bool
    ) -> None:
        self.session = session
        self.graph = graph
        self.replay = replay
        self.check = check
        self.policy = context_policy(graph)
        # The same agent with the same tools, and nothing that keeps its context in shape.
        self.bare = replace(self.policy, eviction=None, masking=None, compaction=None)
        self.history = as_journal([])
        tools = self.policy.tools_tokens
        self.prompts = PromptMeter(tools=tools, prices=prices)
        self.whole = PromptMeter(tools=tools, prices=prices)
        self.watch = SummaryWatch()
        self.config: RunnableConfig = {
            "configurable": {"thread_id": "replay"},
            "callbacks": [self.watch],
        }

    def play(self, number: int) -> None:
        """Play one step: what comes before its request, and the request."""
        step = self.session.steps[number]
        before = self.session.steps[number - 1] if number else None
        given: Any = {"messages": step.inputs}
        if before is not None and before.answer.tool_calls:
            if not step.inputs:
                given = None  # the graph goes on by itself
            elif before.results:
                self._run(None, number, stop_after=["tools"])
        view = self._run(given, number)
        if view is None:
            raise ReplayError(f"the graph made no request for answer {number + 1}")
        self._measure(number, view)

    def _run(
        self, given: Any, number: int, *, stop_after: Sequence[str] = ()
    ) -> ContextView | None:
        """Run the graph until it stops; return what its request was made from."""
        view = None
        for mode, chunk in self.graph.stream(
            given,
            self.config,
            stream_mode=["tasks", "custom"],
            interrupt_before=["tools"],
            interrupt_after=list(stop_after),
        ):
            if mode == "custom":
                self._note(number, chunk)
            elif chunk["name"] == "reasoning" and "input" in chunk:
                view = view_context(chunk["input"], self.policy)
        for request, answer in self.watch.taken():
            aside = is_aside(request)
            measure = self.prompts.measure_aside if aside else self.prompts.measure_apart
            self.replay.summaries.append(measure(request, answer))
        if self.watch.error is not None:
            error = self.watch.error
            raise ReplayError(f"the summariser failed: {type(error).__name__}: {error}") from error
        return view

    def _note(self, number: int, event: Mapping[str, Any]) -> None:
        facts = {key: value for key, value in event.items() if key != "type"}
        self.replay.events.append(Event(number + 1, event["type"], facts))

    def _measure(self, number: int, view: ContextView) -> None:
        answer = self.session.steps[number].answer
        request = view.messages
        self.history = append_messages(self.history, view.journal[len(self.history) :])
        whole = view_context({"messages": self.history}, self.bare).messages
        measured = Measured(
            parts=view.parts,
            masked=view.body.masked,
            evicted=view.body.evicted,
            managed=self.prompts.measure(request, answer),
            unmanaged=self.whole.measure(whole, answer),
        )
        self.replay.requests.append(measured)
        if self.check:
            wrong = violations(request, view.journal)
            if sum(view.parts.values()) != measured.managed.tokens:
                wrong.append(f"parts {dict(view.parts)} are not {measured.managed.tokens} tokens")
            if wrong:
                raise ReplayError(f"request {number + 1} is wrong: {'; '.join(wrong)}")
