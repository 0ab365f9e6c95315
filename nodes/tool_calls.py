"""`tools`: run one call, or all that are open."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt, is_invalid_resume
from langgraph.prebuilt.tool_node import ToolInvocationError

from ..state.body import INTERRUPTED
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.sendable import unreadable
from .approval import BEGIN, Approval
from .dispatch import Dispatch, answered_now
from .node import Effect, Node, Run, Steps
from .tool_results import results_of, stamped
from .tool_runner import ToolRunner

__all__ = ["ToolsNode"]

log = logging.getLogger("longthread")


class ToolsNode(Node):
    """Runs tool calls and appends their results to `messages`.

    In the agent graph each call arrives as a task of its own, `Send("tools", [call])`, so that a
    result is committed as soon as it is there. On a whole state, as in other graphs, it runs every
    call of the last answer that has no result yet.

    What a tool raises is logged and becomes a result that the model can read, and so does a call
    with arguments that are not JSON or a name that no tool has. `interrupt()` and `Command` work
    as in LangGraph. Writes `fresh_results`, see `ThreadState`.

    A call that was begun when the process died is not run again when the thread is resumed: the
    model is told that it was interrupted and decides. A tool for which running twice is harmless
    says so with `metadata={"idempotent": True}` and is run again.

    Args:
        policy: The agent's policy.
        tools: The tools.
        approval: Which calls a person decides on first; None: none.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        tools: Sequence[BaseTool | Callable[..., Any]],
        *,
        approval: Approval | None = None,
    ) -> None:
        self.policy = policy
        self.approval = approval
        self.runner = ToolRunner(list(tools), approval=approval, handle_tool_errors=_error_text)

    def steps(self, state: Any, run: Run) -> Steps[Any]:
        """Run the calls; what cannot be read is answered without running anything."""
        if isinstance(state, Mapping):
            calls = view_context(state, self.policy).body.open_calls()
        else:
            calls = list(state)
        readable = [call for call in calls if call["type"] == "tool_call"]
        results: list[Any] = [_unreadable(c) for c in calls if c["type"] == "invalid_tool_call"]
        if readable:
            results += yield from self._run_once(readable, state, run)
        messages = [stamped(r) for r in results if isinstance(r, ToolMessage)]
        others = [r for r in results if not isinstance(r, ToolMessage)]
        update = {"messages": messages, "fresh_results": True}
        return [*others, update] if others else update

    def _run_once(self, calls: Sequence[ToolCall], state: Any, run: Run) -> Steps[Sequence[Any]]:
        """Run the calls, unless a crash cut them off before: then say so instead."""
        guarded = [call for call in calls if not self._may_repeat(call)]
        asked = any(self._is_asked_about(call) for call in calls)
        dispatch = Dispatch.of(run.config) if guarded or asked else None
        begin: Effect | None = None
        if dispatch is not None:
            new = answered_now(run.config)
            fresh = new is not None and all(call["id"] in new for call in calls)
            if new is not None:
                new.difference_update(call["id"] or "" for call in calls)
            if not fresh:
                stored = yield dispatch.stored()
                if guarded and dispatch.was_cut_off(stored):
                    again = [call for call in calls if self._may_repeat(call)]
                    rest = (yield self._execution(again, state, run)) if again else []
                    return [*map(_cut_off, guarded), *results_of(rest, again)]
                dispatch = dispatch.again(stored)
            if asked:
                begin = dispatch.begun()
            else:
                yield dispatch.begun()
        try:
            return results_of((yield self._execution(calls, state, run, begin)), calls)
        except Exception as error:
            # An answer that does not fit its question is refused, and can be given again.
            waits = isinstance(error, GraphInterrupt) or is_invalid_resume(error)
            if dispatch is not None and waits:
                yield dispatch.paused()
            raise

    def _is_asked_about(self, call: ToolCall) -> bool:
        """Whether it matters later that the call was not begun: nobody may have decided on it."""
        return self.approval is not None and self.approval.asks_about(call["name"])

    def _may_repeat(self, call: ToolCall) -> bool:
        """Whether running the call twice is the same as running it once, as its tool says."""
        tool = self.runner.tools_by_name.get(call["name"])
        return tool is None or bool((tool.metadata or {}).get("idempotent"))

    def _execution(
        self, calls: Sequence[ToolCall], state: Any, run: Run, begin: Effect | None = None
    ) -> Effect:
        """LangGraph's own tool node runs them; without a state it reads the graph's channels."""
        # What a tool does to its arguments must not be what the model has asked for.
        calls = copy.deepcopy(list(calls))
        given: Any = calls
        if isinstance(state, Mapping) and len(calls) == 1:
            given = {"__type": "tool_call_with_context", "tool_call": calls[0], "state": state}

        def invoke() -> Any:
            token = BEGIN.set(begin)
            try:
                return self.runner.invoke(given, run.config)
            finally:
                BEGIN.reset(token)

        async def ainvoke() -> Any:
            token = BEGIN.set(begin)
            try:
                return await self.runner.ainvoke(given, run.config)
            finally:
                BEGIN.reset(token)

        return Effect(run=invoke, arun=ainvoke)


def _cut_off(call: ToolCall) -> ToolMessage:
    return ToolMessage(INTERRUPTED, tool_call_id=call["id"], name=call["name"], status="error")


def _error_text(error: Exception) -> str:
    if isinstance(error, ToolInvocationError):  # the model's mistake: no trace of ours helps
        log.warning("a tool call failed, and the model is told: %s", error.message)
        return f"Error: {error.message}"
    log.warning("a tool call failed, and the model is told: %r", error, exc_info=error)
    return f"Error: {error!r}\nPlease fix your mistakes."


def _unreadable(call: InvalidToolCall) -> AnyMessage:
    return ToolMessage(unreadable(call), tool_call_id=call["id"], name=call["name"], status="error")
