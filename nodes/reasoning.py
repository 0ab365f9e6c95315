"""`reasoning`: project the context, call the model, record the answer or an overflow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig, patch_config
from langgraph.constants import TAG_NOSTREAM

from ..state.cut import exceeds_alone
from ..state.decisions import OverflowState, learned
from ..state.due import can_shrink, is_answered, next_due, shape_is_due, shed_through
from ..state.errors import ConfigurationError, ThreadBudgetError
from ..state.lent import lent
from ..state.overflow import Overflow, classify_overflow
from ..state.policy import ContextPolicy
from ..state.projection import ContextView, view_context
from .alternation import must_alternate, with_merged_humans
from .answer_ids import AnswerIds
from .cache_hints import with_cache_hints
from .closed import refuse_closed
from .dispatch import answered_now
from .models import Model, cached_tokens, call_model, clamped, input_tokens
from .node import Node, Run, Steps, Update, ask
from .plain_ids import with_plain_ids

__all__ = ["ReasoningNode"]

ATTEMPTS = 1
"""Overflows that are answered by a forced compaction; the next one is the caller's."""


class ReasoningNode(Node):
    """Sends the projection to the model and appends its answer to `messages`.

    Also writes `usage` (the provider's count, baseline of the next estimate) and, when the request
    did not fit, `overflow` instead of an answer. A second overflow in the same step, and every
    other error, is raised as the provider's own: nothing is written, and the thread can be resumed
    here. If results that came in together make something due, or all are for the user, nothing is
    sent (yet).

    Args:
        policy: The agent's policy.
        model: The model, with the tools bound.
        without_threads: The same model without the tools that look into threads, for where no
            checkpointer keeps any; None: it has none of these tools.
        structured: A model that returns the structured response, or None.
        cache_hints: Whether the provider has to be told where its cached prefix may end.
        plain_ids: Whether a provider that may be asked takes only plain ids of tool calls.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        model: Model,
        *,
        without_threads: Model | None = None,
        structured: Runnable[Any, Any] | None = None,
        cache_hints: bool = False,
        plain_ids: bool = False,
    ) -> None:
        self.policy = policy
        self.model = model
        self.without_threads = without_threads
        self.structured = structured
        self.cache_hints = cache_hints
        self.plain_ids = plain_ids or cache_hints
        self._alternates = False

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Make one request."""
        refuse_closed(state, run.thread_id)
        system = yield from self._system(state, run)
        view = view_context(state, self.policy, system=system)
        view.budget.check(**{name: view.parts[name] for name in ("system", "tools", "reference")})
        if not view.messages:
            raise ConfigurationError(
                "messages: nothing has been said in this thread, and there is no system prompt; "
                "call the agent with a message"
            )
        if view.body.unanswered:
            return {}  # a result was taken away, and no provider takes calls left open at the end
        if view.body.parallel and view.journal[-1].type == "tool" and is_answered(view):
            return {}  # results that are for the user, all of them: only now are they all in view
        if self.structured is not None and shape_is_due(state, view):
            return (yield from self._shaped(view, run))
        if state.get("fresh_results") and self._may_be_due(view) and next_due(view) is not None:
            return {}
        if self._cannot_fit(view):
            raise ThreadBudgetError(
                f"the last step alone is too long for the model: {_sizes(view)}. Its results are "
                "in files already. Use a model with a larger window (context_window=…), let the "
                "step be summarised (compaction=CompactionConfig()), or take its last calls back."
            )
        model = self.model
        if run.checkpointer is None and self.without_threads is not None:
            model = self.without_threads
        model = clamped(model, view.overflow.get("reserve"))
        ids = AnswerIds(view, shared=bool(run.namespace or state.get("sealed")))
        try:
            answer = yield from self._answer(model, view, ids.heard(run.config))
        except Exception as error:
            overflow = classify_overflow(error)
            if overflow is None:
                raise
            if not self._may_recover(view, overflow):
                error.add_note(f"longthread: {_sizes(view)}")
                raise
            return self._overflowed(view, overflow, run)
        overflow = classify_overflow(answer)
        if overflow is not None and self._may_recover(view, overflow):
            return self._overflowed(view, overflow, run)
        answer = ids.prepared(answer)
        new = answered_now(run.config)
        if new is not None:
            new.update(call["id"] or "" for call in answer.tool_calls)
        update: Update = {"messages": [answer]}
        update["usage"] = view.usage_of_request(input_tokens(answer), cached_tokens(answer))
        if view.overflow.get("attempts"):
            update["overflow"] = learned(view.overflow)
        return update

    def _may_be_due(self, view: ContextView) -> bool:
        """Whether the trigger behind `tools` could not see all that this request would have.

        Parallel calls each saw their own result only: together they may be too much. And a prompt
        that is made for each request is not known before.
        """
        return callable(self.policy.system) or view.body.parallel

    def _cannot_fit(self, view: ContextView) -> bool:
        """Whether the last step is above the window, with its texts evicted and no summary."""
        compaction, evicts = self.policy.compaction, self.policy.eviction is not None
        if not evicts or (compaction is not None and compaction.enabled):
            return False
        return view.tokens > view.window and exceeds_alone(view)

    def _shaped(self, view: ContextView, run: Run) -> Steps[Update]:
        """Ask for the answer once more, in the shape of the schema; it is committed already."""
        assert self.structured is not None
        config = patch_config(run.config, run_name="structured_response")
        config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM]
        request = [*self._request(view), HumanMessage("Give your answer in the given schema.")]
        shaped = yield call_model(self.structured, request, config)
        return {"structured_response": shaped, "structured_for": view.journal[-1].id}

    def _answer(self, model: Model, view: ContextView, config: RunnableConfig) -> Steps[AIMessage]:
        """Make the request; once more if only now it shows that human messages must be merged."""
        request = self._request(view)
        answer: AIMessage
        try:
            answer = yield call_model(model, request, config)
        except Exception as error:
            if self._alternates or not must_alternate(error, request):
                raise
            self._alternates = True
            answer = yield call_model(model, self._request(view), config)
        return answer

    def _request(self, view: ContextView) -> list[AnyMessage]:
        messages = with_plain_ids(view.messages) if self.plain_ids else view.messages
        if self._alternates:
            return with_merged_humans(messages)
        return with_cache_hints(messages, len(view.head)) if self.cache_hints else messages

    def _system(self, state: Mapping[str, Any], run: Run) -> Steps[SystemMessage | None]:
        """Resolve the system prompt; a callable is asked before every request."""
        prompt = self.policy.system
        if not callable(prompt):
            return prompt
        made = yield ask(prompt, lent(state), run.runtime)
        if made is None or isinstance(made, SystemMessage):
            return made
        if isinstance(made, str):
            return SystemMessage(made)
        raise ConfigurationError(
            f"system_prompt: {getattr(prompt, '__name__', prompt)!r} returned {made!r}; return a "
            "text, a SystemMessage, or None for no prompt"
        )

    def _may_recover(self, view: ContextView, overflow: Overflow) -> bool:
        """Whether there is an attempt left, and something that would make the next request fit."""
        compaction = self.policy.compaction
        if compaction is None or not compaction.enabled:
            return False
        if view.overflow.get("attempts", 0) >= ATTEMPTS:
            return False
        match overflow.kind:
            case "completion_budget":
                return True
            case "payload_bytes":
                return shed_through(view) is not None
            case "context_window":
                pressed = OverflowState(pending=True, limit=self._limit(view, overflow))
                return can_shrink(replace(view, overflow=pressed))

    def _overflowed(self, view: ContextView, overflow: Overflow, run: Run) -> Update:
        """Record the overflow, and the limit that it has taught."""
        run.emit(
            "overflow",
            kind=overflow.kind,
            limit=overflow.limit,
            requested=overflow.requested,
            estimated=view.tokens,
        )
        return {
            "overflow": {
                **view.overflow,
                "attempts": view.overflow.get("attempts", 0) + 1,
                "kind": overflow.kind,
                "prompt": overflow.prompt or view.tokens,
                "limit": self._limit(view, overflow),
            }
        }

    def _limit(self, view: ContextView, overflow: Overflow) -> int | None:
        """Return the window that the provider has named, or shown by refusing this much."""
        known = view.overflow.get("limit")
        if overflow.kind == "payload_bytes":
            return known
        named = overflow.limit
        if named is None and overflow.kind == "context_window":
            named = view.tokens
        return min((n for n in (known, named) if n), default=None)


def _sizes(view: ContextView) -> str:
    """Say what takes how many tokens, for an error that the caller has to act on."""
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in view.parts.items())
    return f"the request took about {view.tokens:,} of {view.window:,} tokens: {parts}"
