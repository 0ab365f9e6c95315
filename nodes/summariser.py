"""Asking a model for the summary that stands in for messages."""

from __future__ import annotations

import logging

from langchain_core.messages import AIMessage, AnyMessage

from ..state.counting import count_text
from ..state.cut import Cut
from ..state.errors import SummaryRefused
from ..state.extract import extract_summary
from ..state.outage import is_outage
from ..state.overflow import classify_overflow
from ..state.projection import ContextView
from ..state.redaction import RedactionError, redacted
from ..state.replacement import as_shown, eviction_of
from ..state.summary_size import SummarySize
from ..state.transcript import chunked, transcript, without_secrets
from .models import (
    Model,
    auxiliary_answer,
    auxiliary_config,
    call_model,
    clamped,
    stop_reason_of,
)
from .node import Run, Steps, io
from .own_prompt import OwnPrompt
from .summary_answers import checked_summary
from .summary_task import SummaryTask
from .tokens_used import TokensUsed

__all__ = ["Summariser", "extracted_summary"]

log = logging.getLogger("longthread")

_SHORTER = (
    "An earlier answer to this was cut off at its limit and is lost. Keep every section, and write"
    " at most {tokens} tokens."
)


class Summariser:
    """A model that keeps a running summary.

    Args:
        model: The model.
        window: Its context window in tokens; None: it is the agent's own model, and what the thread
            has learned of the window holds for it too.
        own: The agent's own prompt, to go on from where that is cheaper; None: never.
    """

    def __init__(
        self, model: Model, window: int | None = None, *, own: OwnPrompt | None = None
    ) -> None:
        self.model = model
        self.window = window
        self.own = own

    def apart(self) -> Summariser:
        """Return the same that never goes on from the agent's own prompt."""
        return Summariser(self.model, self.window)

    def steps(
        self,
        view: ContextView,
        cut: Cut,
        run: Run,
        *,
        instructions: str | None = None,
        sent: ContextView | None = None,
    ) -> Steps[tuple[str, TokensUsed]]:
        """Add the messages that go to the previous summary, a chunk at a time.

        At once and in the agent's own prompt, where that is in the provider's cache.

        Args:
            view: The projection.
            cut: The cut to make.
            run: Where the node runs.
            instructions: Added to the prompt.
            sent: The projection that the last request was made from; None: not to be gone on from.

        Returns:
            The new summary, and the tokens that the summariser used.

        Raises:
            SummaryRefused: It is blank, blocked, an error, or no shorter than what it replaces.
            RedactionError: The redactor failed: no text has gone to the model.
        """
        window = self.window or view.window
        redact = view.policy.redact
        previous: str = yield io(redacted, redact, view.decisions.summary)
        summary = previous
        used = TokensUsed()
        texts: list[str] = yield io(_texts, view, cut)
        task = SummaryTask.of(view, summary, cut.removed, window, instructions)
        if self.own is not None and sent is not None and self.own.applies(sent):
            found = yield from self._continued(sent, cut, run, (task, texts), used)
            if found is not None:
                return found, used
        bound = SummarySize.of(view, window).text
        model, kept = self.model, bound
        if self.window is None:
            kept = max(kept, view.budget.output_reserve)
            model = clamped(model, view.overflow.get("reserve"))
        room = window - bound - kept - task.prompt_tokens - window // 20
        for chunk in chunked(texts, max(256, room)):
            removed = min(cut.removed, count_text(chunk))
            task = SummaryTask.of(view, summary, removed, window, instructions)
            text = yield from self._asked(model, run, (task, chunk), used)
            summary = task.joined(text)
        if count_text(summary) >= cut.removed + count_text(previous):
            raise SummaryRefused(
                f"the summary takes {count_text(summary):,} tokens, no fewer than what it replaces"
            )
        return summary, used

    def _asked(
        self, model: Model, run: Run, asked: tuple[SummaryTask, str], used: TokensUsed
    ) -> Steps[str]:
        """Ask for a summary; once more, for a shorter one, if it was cut off at its limit."""
        task, chunk = asked
        prompt = task.prompt(chunk)
        material = f"{task.previous}\n{chunk}"
        answer = yield from auxiliary_answer(
            model, run, name="compaction", system=None, prompt=prompt
        )
        used.add(answer)
        if stop_reason_of(answer) == "cut":
            shorter = f"{prompt}\n\n{_SHORTER.format(tokens=task.limit // 2)}"
            try:
                again = yield from auxiliary_answer(
                    model, run, name="compaction", system=None, prompt=shorter
                )
                used.add(again)
                return checked_summary(again, task.template, material)
            except Exception as error:
                log.warning("no shorter summary: %s", error)
        return checked_summary(answer, task.template, material)

    def _continued(
        self,
        sent: ContextView,
        cut: Cut,
        run: Run,
        asked: tuple[SummaryTask, list[str]],
        used: TokensUsed,
    ) -> Steps[str | None]:
        """Ask in the agent's own prompt; None if that gives no summary, and it is to be asked for
        apart.

        A model that goes on with the conversation instead, or calls a tool, has not understood.
        """
        assert self.own is not None
        task, texts = asked
        request = self.own.request(sent, cut, task.template, task.limit)
        if request is None:
            return None
        config = auxiliary_config(run, "compaction")
        try:
            answer: AIMessage = yield call_model(self.own.for_run(run), request, config)
        except Exception as error:
            log.warning("no summary in the agent's own prompt, it is asked for apart: %s", error)
            if not is_outage(error) and classify_overflow(error) is None:
                self.own = None  # this provider takes no such request: it is not made again
            return None
        used.add(answer)
        if answer.tool_calls or answer.invalid_tool_calls or stop_reason_of(answer) is not None:
            return None
        try:
            text = checked_summary(answer, task.template, "\n".join([task.previous, *texts]))
        except SummaryRefused:
            return None
        summary = task.joined(text)
        fits = count_text(summary) < cut.removed + count_text(task.previous)
        return summary if fits else None


def extracted_summary(view: ContextView, cut: Cut) -> str:
    """Return the summary that can be made without a model."""
    redact = view.policy.redact
    try:
        previous = redacted(redact, view.decisions.summary)
        goes = _messages_that_go(view, cut)
    except RedactionError as error:
        log.warning("nothing of the messages that go is kept in view: %s", error)
        return f"[{cut.size} earlier messages are not shown: they could not be summarised.]"
    return extract_summary(previous, goes, SummarySize.of(view).text)


def _messages_that_go(view: ContextView, cut: Cut) -> list[AnyMessage]:
    """Return the messages before a cut, unmasked: what was really said is what counts.

    Secrets go before long texts are cut short: half a secret is not recognised.
    """
    evictions, redact = view.decisions.evictions, view.policy.redact
    return [
        as_shown(
            without_secrets(view.journal[at], redact),
            masked=False,
            eviction=eviction_of(view.journal[at], evictions),
            policy=view.policy,
        )
        for at in view.body.sources[: cut.shown]
    ]


def _texts(view: ContextView, cut: Cut) -> list[str]:
    redact = view.policy.redact
    return [transcript(message, redact=redact) for message in _messages_that_go(view, cut)]
