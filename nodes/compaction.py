"""`compaction`: replace the oldest part of the conversation by a summary."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.types import Overwrite

from ..state.config import CompactionConfig
from ..state.counting import count_text
from ..state.cut import Cut, choose_cut, compaction_due, paused
from ..state.decisions import Compaction, newest_human
from ..state.errors import SummaryRefused
from ..state.moves import next_move
from ..state.names import names_after
from ..state.names_that_go import names_that_go
from ..state.policy import ContextPolicy
from ..state.projection import ContextView, view_context
from ..state.redaction import RedactionError, redacted
from ..state.rolling import choose_rolling_cut, rolling_due
from ..state.summary_size import SummarySize
from ..state.text import encodable
from .masking import boundaries
from .node import Node, Run, Steps, Update, io
from .summariser import Summariser, extracted_summary

__all__ = ["CompactionNode", "Plan"]

log = logging.getLogger("longthread")


@dataclass(frozen=True, slots=True)
class Plan:
    """A compaction that is about to be made.

    Attributes:
        trigger: What asked for it.
        cut: Where it cuts.
        instructions: Further instructions for the summariser.
    """

    trigger: Literal["automatic", "overflow", "rolling", "manual"]
    cut: Cut
    instructions: str | None = None


class CompactionNode(Node):
    """Asks for a summary of the oldest messages and commits it, with the cut, in `compaction`.

    Summary and cut are one write: together or not at all. A failure leaves both as they were and is
    counted. A summary made without a model stands in when an overflow forces the compaction, when
    the request would not fit without one, and when attempts pause but no room is left to answer.

    Args:
        policy: The agent's policy.
        summariser: Writes the summaries of automatic and forced compactions.
        rolling: Returns the summariser for the model that a thread's rolling compaction was given;
            None: the same one.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        summariser: Summariser,
        *,
        rolling: Callable[[str], Summariser] | None = None,
    ) -> None:
        self.policy = policy
        self.summariser = summariser
        self.rolling = rolling or (lambda _: summariser)

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Choose the cut, ask for the summary, check it, commit."""
        view = view_context(state, self.policy)
        update: Update = {}
        if state.get("maintenance"):
            update["maintenance"] = True  # asked before this step, answered after it
        # A compaction rewrites the cached prefix anyway: the boundaries move with it for nothing.
        move = next_move(view)
        moved = boundaries(move, state) if move is not None else {}
        if view.overflow.get("pending"):
            update["overflow"] = {**view.overflow, "pending": False}
            update |= moved
        plan = self._plan(view)
        if plan is None:
            return update
        try:
            shown = {**state, **update, **moved}
            record = yield from self.carried_out(plan, shown, run, sent=view)
        except Exception as error:
            if plan.trigger != "overflow" and not _is_stuck(view):
                return update | self._failed(view, error)
            log.warning("no summary could be had (%s): an extract stands in for it", error)
            record = yield io(_extract, view, plan.cut)
            after = view_context({**state, **update, "compaction": record}, self.policy)
            if after.estimated >= view.estimated:
                return update
        return {**update, **moved, "compaction": Overwrite(record)}

    def manual(
        self, state: Mapping[str, Any], instructions: str | None = None
    ) -> tuple[ContextView, Plan | None]:
        """Plan the next step of rolling compaction; None if nothing is left to compact."""
        view = view_context(state, self.policy)
        assert view.rolling is not None, "the caller has seen to the settings"
        cut = choose_rolling_cut(view, view.rolling["compaction_count"])
        texts = [view.rolling["custom_instructions"], instructions]
        joined = "\n".join(text for text in texts if text)
        return view, Plan("manual", cut, joined or None) if cut is not None else None

    def carried_out(
        self,
        plan: Plan,
        state: Mapping[str, Any],
        run: Run,
        *,
        sent: ContextView | None = None,
    ) -> Steps[Compaction]:
        """Have the summary made, and return the record to commit.

        Args:
            plan: What to do.
            state: The state as it will be, the summary apart.
            run: Where the node runs.
            sent: The projection before that, from which an automatic compaction may go on.

        Raises:
            SummaryRefused: What the model returned cannot stand in for the messages.
        """
        started = time.monotonic()
        view = view_context(state, self.policy)
        summariser = self.summariser
        if plan.trigger in ("rolling", "manual") and view.rolling is not None:
            summariser = self.rolling(view.rolling["model"])
        summary, used = yield from summariser.steps(
            view,
            plan.cut,
            run,
            instructions=plan.instructions,
            sent=sent if plan.trigger == "automatic" else None,
        )
        # What it reads may be long, and the redactor is the application's.
        record: Compaction = yield io(_record, view, plan.cut, summary)
        after = view_context({**state, "compaction": record}, self.policy)
        if plan.trigger in ("automatic", "overflow") and after.estimated >= view.estimated:
            raise SummaryRefused(
                f"the request would take {after.estimated:,} tokens, no fewer than now"
            )
        run.emit(
            "compaction",
            trigger=plan.trigger,
            generation=record["generation"],
            tokens_before=view.tokens,
            tokens_after=after.tokens,
            messages_before=len(view.body.messages),
            messages_after=len(after.body.messages),
            seconds=time.monotonic() - started,
            usage=used.as_dict(),
        )
        return record

    def _plan(self, view: ContextView) -> Plan | None:
        if view.overflow.get("pending"):
            cut = choose_cut(view)
            return Plan("overflow", cut) if cut is not None else None
        cut = compaction_due(view)
        if cut is not None:
            return Plan("automatic", cut)
        cut = rolling_due(view)
        if cut is not None:
            assert view.rolling is not None
            return Plan("rolling", cut, view.rolling["custom_instructions"])
        return None

    def _failed(self, view: ContextView, error: Exception) -> Update:
        config = view.policy.compaction or CompactionConfig()
        record = view.compaction.copy()
        record["failures"] = record.get("failures", 0) + 1
        record["failed_at"] = view.conversation_tokens
        log.warning("compaction failed, the conversation stays as it is: %s", error)
        if record["failures"] == config.max_failures:
            log.warning(
                "compaction failed %d times in a row: it waits until the conversation has grown "
                "by a tenth",
                config.max_failures,
            )
        return {"compaction": Overwrite(record)}


def _is_stuck(view: ContextView) -> bool:
    """Whether waiting is over: no summary can be had, and the request would not fit."""
    budget = view.budget
    if view.tokens > budget.window - budget.safety:
        return True
    return paused(view) and view.tokens > budget.request_limit


def _extract(view: ContextView, cut: Cut) -> Compaction:
    return _record(view, cut, extracted_summary(view, cut))


def _record(view: ContextView, cut: Cut, summary: str) -> Compaction:
    human = newest_human(view.journal)
    summary = encodable(summary)  # as it is read back
    return Compaction(
        summary=summary,
        names=_names(view, cut, summary),
        size=cut.size,
        through=cut.through,
        human=view.journal[human].id if human is not None else None,
        position=cut.position,
        generation=view.decisions.generation + 1,
    )


def _names(view: ContextView, cut: Cut, summary: str) -> list[tuple[int, str]]:
    """Return the names that stand beside the summary; none if they cannot be redacted."""
    size, before = SummarySize.of(view), view.decisions
    saved = cut.removed + count_text(before.shown_summary) - count_text(summary)
    room = max(0, saved // 4)  # for nobody's sake may a summary become longer than what it replaces
    redact = view.policy.redact
    try:
        # The redactor may be newer than the summary before.
        text = redacted(redact, before.summary)
        lines = [(at, redacted(redact, line)) for at, line in before.names]
        words = names_that_go(view, cut)
    except RedactionError:
        return []
    if text != before.summary:
        lines = [(len(text), line) for _, line in lines]
    return names_after(
        words,
        before=(text, lines),
        summary=summary,
        added=min(room, size.names_added(cut.removed)),
        most=size.names,
        left=min(room, size.names_left),
    )
