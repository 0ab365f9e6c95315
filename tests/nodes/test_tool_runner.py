"""A single call runs as LangGraph would run it, but in the thread that it is in."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.prebuilt.tool_node import ToolNode
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from longthread.nodes import tool_runner
from longthread.nodes.tool_runner import ToolRunner


def test_all_of_langgraph_that_is_used_is_there() -> None:
    assert tool_runner._KNOWN
    assert all(hasattr(ToolNode, name) for name in tool_runner._USED)


def test_a_single_call_runs_in_the_thread_of_the_graph(tmp_path: Path) -> None:
    ran: list[int] = []

    def where() -> str:
        """Say where it ran."""
        ran.append(threading.get_ident())
        return "here"

    agent(Scripted(calls("1", name="where"), "done"), tmp_path, tools=[where]).invoke(
        say("go"), thread()
    )
    assert ran == [threading.get_ident()]


async def test_a_tool_may_start_a_loop_though_the_caller_has_one(tmp_path: Path) -> None:
    """As in a notebook, where the graph is called without `await`."""

    async def answer() -> str:
        return "from a loop"

    def ask() -> str:
        """Ask something asynchronous."""
        return asyncio.run(answer())

    graph = agent(Scripted(calls("1", name="ask"), "done"), tmp_path, tools=[ask])
    assert "from a loop" in contents(graph.invoke(say("go"), thread())["messages"])


def test_a_tool_is_given_what_langgraph_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, Any]] = []

    def peek(
        runtime: ToolRuntime[Any, Any], state: Annotated[dict[str, Any], InjectedState]
    ) -> str:
        """Look at what a tool is given."""
        given = {f.name: getattr(runtime, f.name) for f in dataclasses.fields(runtime)}
        found.append({**given, "injected": state})
        return "seen"

    for known in (True, False):
        monkeypatch.setattr(tool_runner, "_KNOWN", known)
        graph = agent(
            Scripted(calls("1", name="peek"), "done"), tmp_path, tools=[peek], store=InMemoryStore()
        )
        graph.invoke(say("go"), thread())
    ours, theirs = found
    assert {name: type(value) for name, value in ours.items()} == {
        name: type(value) for name, value in theirs.items()
    }
    assert [m.content for m in ours["state"]["messages"]] == ["go", ""]
    assert ours["injected"] == ours["state"]
    assert ours["tool_call_id"] == "1"
    assert ours["config"]["configurable"]["thread_id"] == "t"
    assert ours["execution_info"].thread_id == "t"


def test_a_tool_that_pauses_alone_goes_on_with_the_answer(tmp_path: Path) -> None:
    def ask() -> str:
        """Ask a person."""
        return f"told {interrupt('which?')}"

    graph = agent(
        Scripted(calls("1", name="ask"), "done"),
        tmp_path,
        tools=[ask],
        checkpointer=InMemorySaver(),
    )
    graph.invoke(say("go"), thread())
    assert "told this" in contents(graph.invoke(Command(resume="this"), thread())["messages"])


def test_what_langgraph_lacks_it_does_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_runner, "_KNOWN", False)
    found: list[int] = []

    def look(at: str) -> str:
        """Look."""
        found.append(threading.get_ident())
        return at

    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolRunner([look]))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    result = graph.compile().invoke({"messages": [calls("1")]})
    assert isinstance(result["messages"][-1], ToolMessage)
    assert found
    assert found != [threading.get_ident()]


def test_wrong_arguments_are_named_to_the_model_as_langgraph_names_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def ask(question: str) -> str:
        """Ask."""
        return question

    script = Scripted(calls("1", name="ask"), "done")
    told = agent(script, tmp_path, tools=[ask]).invoke(say("go"), thread())["messages"][2]
    assert told.status == "error"
    assert "with error:\n question: Field required\n" in told.content
    assert "ToolInvocationError" not in told.content
    assert all(record.exc_info is None for record in caplog.records)


def test_what_a_call_keeps_for_itself_is_not_streamed(tmp_path: Path) -> None:
    graph = agent(Scripted("done"), tmp_path)
    chunks = list(graph.stream(say("go"), thread(), stream_mode="checkpoints"))
    keys = {key for chunk in chunks for key in chunk["config"]["configurable"]}
    assert keys == {"thread_id", "checkpoint_ns", "checkpoint_id"}
