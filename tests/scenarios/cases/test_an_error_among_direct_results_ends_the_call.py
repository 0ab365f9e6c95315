"""The edge of a parallel call knows no other's result: only `reasoning` sees one that failed."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, nodes_run, say, thread
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command, interrupt

from longthread import MemoryConfig

MEMORY = [None, MemoryConfig(background=False)]


@tool(return_direct=True)
def report(at: str) -> str:
    """Report to the user."""
    if at == "bad":
        raise ValueError("no such report")
    return f"report {at}" if at != "ask" else str(interrupt("which?"))


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good"), ("a", "bad", "b")])
def test_the_model_sees_the_error_and_goes_on(
    order: tuple[str, ...], memory: MemoryConfig | None, tmp_path: Path
) -> None:
    script = Scripted(calls(*order, name="report"), calls("mended", name="report"), "not asked")
    graph = agent(script, tmp_path, [report], memory=memory)
    result = contents(graph.invoke(say("go"), thread())["messages"])
    assert len(script.requests) == 2
    told = contents(script.requests[1])
    assert any("no such report" in text for text in told)
    assert {f"report {at}" for at in order if at != "bad"} <= set(told)
    assert result[-1] == "report mended"
    assert graph.get_state(thread()).next == ()


async def test_so_it_does_asynchronously_and_with_arguments_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    first = calls("good", name="report")
    wrong: Any = {"name": "report", "args": "{at:", "id": "w", "error": None}
    script = Scripted(
        AIMessage("", tool_calls=first.tool_calls, invalid_tool_calls=[wrong]), "mended"
    )
    graph = agent(script, tmp_path, [report])
    result = contents((await graph.ainvoke(say("go"), thread()))["messages"])
    assert result[-1] == "mended"
    assert any("could not be read" in text for text in contents(script.requests[1]))


@pytest.mark.parametrize("memory", MEMORY)
def test_results_without_an_error_end_the_call_and_the_next_one_works(
    memory: MemoryConfig | None, tmp_path: Path
) -> None:
    script = Scripted(calls("a", "b", name="report"), "asked")
    graph = agent(script, tmp_path, [report], memory=memory)
    ran = nodes_run(graph, say("go"), thread())
    assert ran[:5] == ["recall", "reasoning", "tools", "tools", "reasoning"]
    assert len(script.requests) == 1
    assert graph.get_state(thread()).next == ()
    result = contents(graph.invoke(say("and?"), thread())["messages"])
    assert result == ["go", "", "report a", "report b", "and?", "asked"]


def test_a_pause_in_one_of_them_keeps_the_others_and_ends_the_call_when_answered(
    tmp_path: Path,
) -> None:
    script = Scripted(calls("a", "ask", name="report"), "not asked")
    graph = agent(script, tmp_path, [report])
    assert "__interrupt__" in graph.invoke(say("go"), thread())
    result = graph.invoke(Command(resume="this one"), thread())
    assert contents(result["messages"]) == ["go", "", "report a", "this one"]
    assert len(script.requests) == 1


def test_the_node_of_a_parent_goes_on_as_well(tmp_path: Path) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph

    from longthread import agent_node

    script = Scripted(calls("good", "bad", name="report"), "mended")
    builder = StateGraph(MessagesState)
    builder.add_node("desk", agent_node(agent(script, tmp_path, [report])))
    builder.add_edge(START, "desk")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    assert contents(parent.invoke(say("go"), thread())["messages"]) == ["go", "mended"]
