"""`compaction`: replace the oldest part of the conversation by a summary."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.types import Overwrite

from ..state.config import CompactionConfig
from ..state.counting import count_text, text_of
from ..state.cut import Cut, choose_cut, compaction_due
from ..state.decisions import Compaction, newest_human
from ..state.extract import extract_summary
from ..state.moves import next_move
from ..state.policy import ContextPolicy
from ..state.projection import ContextView, view_context
from ..state.replacement import as_shown
from ..state.templates import fill
from ..state.text import clip_end, clip_start
from ..state.transcript import chunked, transcript
from .masking import boundaries
from .models import Model, auxiliary_answer, usage_of
from .node import Node, Run, Steps, Update

__all__ = ["CompactionNode", "SummaryRefused"]

log = logging.getLogger("longthread")


class SummaryRefused(Exception):
    """What the summariser returned cannot stand in for the messages."""


class CompactionNode(Node):
    """Asks for a summary of the oldest messages and commits it, with the cut, in `compaction`.

    Summary and cut are one write: together or not at all. A failure leaves both as they were and is
    counted; only when an overflow forces the compaction does a summary made without a model stand
    in.

    Args:
        policy: The agent's policy.
        model: The summariser.
        window: The summariser's context window in tokens.
    """

    def __init__(self, policy: ContextPolicy, model: Model, *, window: int | None = None) -> None:
        self.policy = policy
        self.model = model
        self.window = window or policy.window

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Choose the cut, ask for the summary, check it, commit."""
        view = view_context(state, self.policy)
        forced = bool(view.overflow.get("pending"))
        cut = choose_cut(view) if forced else compaction_due(view)
        update: Update = {}
        if forced:
            update["overflow"] = {**view.overflow, "pending": False}
            move = next_move(view)
            if move is not None:
                update |= boundaries(move)
        if cut is None:
            return update
        started = time.monotonic()
        try:
            summary, usage = yield from self._summarise(view, cut, run)
        except Exception as error:
            if not forced:
                return self._failed(view, error)
            log.warning("no summary could be had (%s): an extract stands in for it", error)
            goes, limit = self._goes(view, cut), self._summary_limit(view)
            summary, usage = extract_summary(view.decisions.summary, goes, limit), {}
        human = newest_human(view.journal)
        record = Compaction(
            summary=summary,
            size=cut.size,
            through=cut.through,
            human=view.journal[human].id if human is not None else None,
            generation=view.decisions.generation + 1,
        )
        update["compaction"] = Overwrite(record)
        after = view_context({**state, **update, "compaction": record}, self.policy)
        run.emit(
            "compaction",
            trigger="overflow" if forced else "automatic",
            generation=record["generation"],
            tokens_before=view.tokens,
            tokens_after=after.tokens,
            messages_before=len(view.body.messages),
            messages_after=len(after.body.messages),
            seconds=time.monotonic() - started,
            usage=usage,
        )
        return update

    def _summarise(
        self, view: ContextView, cut: Cut, run: Run
    ) -> Steps[tuple[str, dict[str, int]]]:
        """Fold the messages that go into the previous summary, a chunk at a time."""
        config = view.policy.compaction or CompactionConfig()
        limit = self._summary_limit(view)
        previous = view.decisions.summary
        summary, usage = previous, {"input_tokens": 0, "output_tokens": 0}
        room = self.window - 2 * limit - count_text(config.summary_prompt) - self.window // 20
        for chunk in chunked(map(transcript, self._goes(view, cut)), max(256, room)):
            prompt = fill(
                config.summary_prompt,
                messages=chunk,
                summary=summary or "(none)",
                max_tokens=limit,
            )
            answer = yield from auxiliary_answer(
                self.model, run, name="compaction", system=None, prompt=prompt
            )
            summary = _bounded(_checked(answer), limit)
            for key, tokens in usage_of(answer).items():
                usage[key] += tokens
        if count_text(summary) >= cut.removed + count_text(previous):
            raise SummaryRefused(
                f"the summary takes {count_text(summary):,} tokens, no fewer than what it replaces"
            )
        return summary, usage

    def _goes(self, view: ContextView, cut: Cut) -> list[AnyMessage]:
        """Return the messages that go, unmasked: the summariser should see what was really said."""
        evictions = view.decisions.evictions
        return [
            as_shown(
                view.journal[at],
                masked=False,
                eviction=evictions.get(view.journal[at].id or ""),
                policy=self.policy,
            )
            for at in view.body.sources[: cut.shown]
        ]

    def _summary_limit(self, view: ContextView) -> int:
        """Return the bound on the summary: the configured one, less where the window is small."""
        config = view.policy.compaction or CompactionConfig()
        return max(64, min(config.max_summary_tokens, view.budget.conversation // 4))

    def _failed(self, view: ContextView, error: Exception) -> Update:
        config = view.policy.compaction or CompactionConfig()
        record = view.compaction.copy()
        record["failures"] = record.get("failures", 0) + 1
        record["failed_at"] = view.tokens - view.budget.overhead
        log.warning("compaction failed, the conversation stays as it is: %s", error)
        if record["failures"] == config.max_failures:
            log.warning(
                "compaction failed %d times in a row: it waits until the conversation has grown "
                "by a tenth",
                config.max_failures,
            )
        return {"compaction": Overwrite(record)}


_THINKING = re.compile(r"^\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.DOTALL)


def _checked(answer: AIMessage) -> str:
    """Return the text of a summary, or refuse it."""
    reason = answer.response_metadata.get("finish_reason") or answer.response_metadata.get(
        "stop_reason"
    )
    if reason in ("content_filter", "refusal", "error"):
        raise SummaryRefused(f"the summariser stopped with {reason!r}")
    text = _THINKING.sub("", text_of(answer.content)).strip()
    if not text:
        raise SummaryRefused("the summary is blank")
    return text


def _bounded(text: str, max_tokens: int) -> str:
    """Cut a summary that is too long in its middle: its end says what is still to be done."""
    shown, size = text, len(text)
    while (tokens := count_text(shown)) > max_tokens and size > 1:
        size = min(size - 1, size * max_tokens // tokens)
        shown = f"{clip_end(text, size // 2)}\n[…]\n{clip_start(text, size // 2)}"
    return shown
