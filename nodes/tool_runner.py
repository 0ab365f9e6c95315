"""LangGraph's tool node, without what a single call has no use for.

In the agent graph every call is a task of its own. LangGraph's node nevertheless makes a pool of
threads for it, starts a thread and ends both again, and reads the whole state for tools that do not
ask for it: about half a millisecond with every step. The methods that are used here instead are not
public; where LangGraph lacks one of them, its node does all the work.

A tool that asks for the state gets one that it may change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_config_list
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.runtime import Runtime

from ..state.lent import lent
from .approval import Approval

__all__ = ["ToolRunner"]

_USED = ("_parse_input", "_extract_state", "_run_one", "_combine_tool_outputs")
_KNOWN = all(hasattr(ToolNode, name) for name in _USED)


class ToolRunner(ToolNode):
    """Runs a single call in the thread that it is in, and several as LangGraph does.

    Args:
        tools: The tools.
        approval: Which calls a person decides on first; None: none.
        options: Those of LangGraph's node.
    """

    def __init__(
        self, tools: Sequence[Any], *, approval: Approval | None = None, **options: Any
    ) -> None:
        if approval is not None:
            options |= {"wrap_tool_call": approval.wrap, "awrap_tool_call": approval.awrap}
        super().__init__(tools, **options)
        self._approval = approval

    def _func(self, input: Any, config: RunnableConfig, runtime: Runtime[Any]) -> Any:
        # In the thread of an event loop a tool could not start a loop of its own.
        if not _KNOWN or asyncio._get_running_loop() is not None:
            return super()._func(input, config, runtime)
        calls, kind = self._parse_input(input)
        if len(calls) != 1:
            return super()._func(input, config, runtime)
        own = get_config_list(config, 1)[0]
        given = ToolRuntime(
            state=self._extract_state(input, own),
            tool_call_id=calls[0]["id"],
            config=own,
            context=runtime.context,
            store=runtime.store,
            stream_writer=runtime.stream_writer,
            tools=list(self.tools_by_name.values()),
            execution_info=runtime.execution_info,
            server_info=runtime.server_info,
        )
        result = copy_context().run(self._run_one, calls[0], kind, given)
        return self._combine_tool_outputs([result], kind)

    def _extract_state(self, input: Any, config: RunnableConfig) -> Any:
        if isinstance(input, list) and len(input) == 1 and self._needs_no_state(input[0]):
            return {}
        state = super()._extract_state(input, config)
        if not isinstance(state, Mapping) or self._only_reads(input):
            return state
        return lent(state)

    def _only_reads(self, input: Any) -> bool:
        """Whether a call is of a tool of ours: they leave the state that they are shown alone."""
        call = input.get("tool_call") if isinstance(input, Mapping) else None
        if isinstance(input, list) and len(input) == 1:
            call = input[0]
        if not isinstance(call, dict) or self._is_decided_by_state(call):
            return False
        return bool(getattr(self.tools_by_name.get(call["name"]), "only_reads_state", False))

    def _needs_no_state(self, call: Any) -> bool:
        """Whether nothing of the state can reach the tool: it asks for no state and no runtime."""
        if not isinstance(call, dict) or call.get("type") != "tool_call":
            return False
        if self._is_decided_by_state(call):
            return False
        asked = getattr(self, "_injected_args", {}).get(call["name"])
        return asked is not None and not asked.state and not asked.runtime

    def _is_decided_by_state(self, call: Mapping[str, Any]) -> bool:
        """Whether code of the application is shown the state before the call runs."""
        return self._approval is not None and self._approval.reads_state(call["name"])
