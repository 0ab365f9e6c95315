"""`tools`: run one call, or all that are open."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.replacement import well_formed_message
from .node import Effect, Node, Run, Steps

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

    Args:
        policy: The agent's policy.
        tools: The tools.
    """

    def __init__(
        self, policy: ContextPolicy, tools: Sequence[BaseTool | Callable[..., Any]]
    ) -> None:
        self.policy = policy
        self.runner = ToolNode(list(tools), handle_tool_errors=_error_text)

    def steps(self, state: Any, run: Run) -> Steps[Any]:
        """Run the calls; what cannot be read is answered without running anything."""
        if isinstance(state, Mapping):
            calls = view_context(state, self.policy).body.open_calls()
        else:
            calls = list(state)
        readable = [call for call in calls if call["type"] == "tool_call"]
        results: list[Any] = [_unreadable(c) for c in calls if c["type"] == "invalid_tool_call"]
        if readable:
            output = yield self._execution(readable, state, run)
            results += output["messages"] if isinstance(output, Mapping) else output
        messages = [_stamped(r) for r in results if isinstance(r, ToolMessage)]
        others = [r for r in results if not isinstance(r, ToolMessage)]
        update = {"messages": messages, "fresh_results": True}
        return [*others, update] if others else update

    def _execution(self, calls: Sequence[ToolCall], state: Any, run: Run) -> Effect:
        """LangGraph's own tool node runs them; without a state it reads the graph's channels."""
        given: Any = list(calls)
        if isinstance(state, Mapping) and len(calls) == 1:
            given = {"__type": "tool_call_with_context", "tool_call": calls[0], "state": state}
        return Effect(
            run=lambda: self.runner.invoke(given, run.config),
            arun=lambda: self.runner.ainvoke(given, run.config),
        )


def _stamped(message: ToolMessage) -> ToolMessage:
    """Give a result an id of its own where it is made: what is committed is replayed by id.

    One that the tool made up may repeat, and would take the place of another result.
    """
    return well_formed_message(message).model_copy(update={"id": str(uuid.uuid4())})


def _error_text(error: Exception) -> str:
    log.warning("a tool call failed, and the model is told: %r", error, exc_info=error)
    return f"Error: {error!r}\nPlease fix your mistakes."


def _unreadable(call: InvalidToolCall) -> AnyMessage:
    return ToolMessage(
        f"Error: the arguments of this call could not be read: {call.get('error') or 'not JSON'}. "
        "Call the tool again with valid JSON arguments.",
        tool_call_id=call["id"],
        name=call["name"],
        status="error",
    )
