"""A call whose result never comes, or is overwritten, would be made again and again."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command

from longthread.nodes.tool_results import NO_RESULT


def _goes_on(runtime: ToolRuntime[Any, Any]) -> Any:
    return Command(goto="reasoning")


def _with_its_own_id(runtime: ToolRuntime[Any, Any]) -> Any:
    return Command(update={"messages": [_result(runtime)]})


def _in_parts(runtime: ToolRuntime[Any, Any]) -> Any:
    return [Command(update={}), _result(runtime)]


def _under_another_id(_: ToolRuntime[Any, Any]) -> Any:
    return ToolMessage("result", tool_call_id="of its own")


def _result(runtime: ToolRuntime[Any, Any]) -> ToolMessage:
    return ToolMessage("result", tool_call_id=runtime.tool_call_id or "", id="always the same")


@pytest.mark.parametrize(
    ("does", "result"),
    [
        (_goes_on, NO_RESULT),
        (_with_its_own_id, "result"),
        (_in_parts, "result"),
        (_under_another_id, "result"),
    ],
)
def test_every_call_has_one_result_and_is_made_once(tmp_path: Path, does: Any, result: str) -> None:
    ran: list[str] = []

    @tool
    def work(at: str, runtime: ToolRuntime[Any, Any]) -> Any:
        """Work."""
        ran.append(at)
        return does(runtime)

    script = Scripted(calls("a", "b", name="work"), calls("c", name="work"), "done")
    answered = agent(script, tmp_path, [work]).invoke(say("go"), thread())
    assert sorted(ran) == ["a", "b", "c"]
    assert contents(answered["messages"]) == ["go", "", result, result, "", result, "done"]


def test_a_tool_that_empties_the_thread_leaves_nothing_behind(tmp_path: Path) -> None:
    @tool
    def forget() -> Any:
        """Forget all."""
        return Command(update={"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})

    script = Scripted(AIMessage("", tool_calls=[{"name": "forget", "args": {}, "id": "a"}]))
    graph = agent(script, tmp_path, [forget], interrupt_after=["tools"])
    graph.invoke(say("go"), thread())
    assert graph.get_state(thread()).values["messages"] == []
