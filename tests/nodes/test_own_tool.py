"""Our own tools: both spellings of an argument, and errors that the model can read."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from longthread.nodes.node import Run
from longthread.nodes.tools.own_tool import MatchModeArgument, own_tool
from longthread.state.errors import ToolInputError


class Arguments(BaseModel):
    query: str
    match_mode: MatchModeArgument = "phrase"
    start_line: int = 1


def answer(run: Run, query: str, match_mode: Any, start_line: int) -> str:
    if match_mode == "bad":
        raise ToolInputError("match_mode='bad': use 'phrase'")
    return f"{query} {match_mode} {start_line} {run.runtime is not None}"


TOOL = own_tool(answer, name="find", description="Find.", arguments=Arguments)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "q"}, "q phrase 1"),
        ({"query": "q", "match_mode": "all", "start_line": 2}, "q all 2"),
        ({"query": "q", "matchMode": "all", "startLine": "2"}, "q all 2"),
        ({"query": "q", "matchMode": None, "startLine": None}, "q phrase 1"),
        ({"query": "q", "match_mode": "all", "matchMode": "any"}, "q all 1"),
        ({"query": "q", "matchMode": ""}, "q  1"),
        ({"query": "q", "runtime": "forged", "unknown": 1}, "q phrase 1"),
    ],
)
async def test_both_spellings_of_an_argument_are_understood(
    arguments: dict[str, Any], expected: str
) -> None:
    assert (await results(arguments))[0].content == f"{expected} True"
    if "runtime" not in arguments:
        assert TOOL.invoke(arguments) == f"{expected} False"


async def test_errors_are_results_that_say_what_to_do() -> None:
    for refused in await results({"query": "q", "matchMode": "bad"}):
        assert refused.content == "Error: match_mode='bad': use 'phrase'"
        assert refused.status == "error"
    for unfit in await results({"startLine": "x"}):
        assert str(unfit.content).startswith("Error: query: Field required; start_line: Input")
        assert unfit.status == "error"


def test_the_model_is_shown_snake_case_and_the_choices_only() -> None:
    function = convert_to_openai_tool(TOOL)["function"]
    assert function["description"] == "Find."
    assert list(function["parameters"]["properties"]) == ["query", "match_mode", "start_line"]
    assert function["parameters"]["properties"]["match_mode"]["enum"] == ["phrase", "all", "any"]
    assert function["parameters"]["required"] == ["query"]


async def results(arguments: dict[str, Any]) -> list[ToolMessage]:
    """Call the tool in a graph, one way and the other."""
    builder = StateGraph(MessagesState)
    builder.add_node("tools", ToolNode([TOOL]))
    builder.set_entry_point("tools")
    graph = builder.compile()
    call = {"name": "find", "args": arguments, "id": "c1"}
    given: Any = {"messages": [AIMessage("", tool_calls=[call])]}
    return [graph.invoke(given)["messages"][-1], (await graph.ainvoke(given))["messages"][-1]]
