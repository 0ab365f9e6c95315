"""Threads that are ended: nothing runs in them again, and nothing that was said is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, look, say, thread
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from longthread import (
    LongthreadError,
    aclose_thread,
    agent_node,
    close_thread,
    compact_thread,
    create_agent_graph,
)
from longthread.graphs.compiled import AgentGraph
from longthread.state.channels import ThreadState


def test_a_closed_thread_refuses_every_call_and_stays_as_it_is(tmp_path: Path) -> None:
    script = Scripted("hello")
    graph = agent(script, tmp_path)
    graph.invoke(say("hi"), thread())
    assert close_thread(graph, thread()) is True
    closed = graph.get_state(thread())
    inputs: list[Any] = [say("again"), None, Command(resume=1), Command(goto="reasoning")]
    for given in inputs:
        with pytest.raises(LongthreadError, match="'t' is closed") as refused:
            graph.invoke(given, thread())
        assert refused.value.code == "SESSION_CLOSED"
    assert graph.get_state(thread()).config == closed.config
    assert contents(closed.values["messages"]) == ["hi", "hello"]
    assert closed.next == ()
    assert len(script.requests) == 1


async def test_a_closed_thread_refuses_asynchronous_calls(tmp_path: Path) -> None:
    graph = agent(Scripted("hello"), tmp_path)
    await graph.ainvoke(say("hi"), thread())
    assert await aclose_thread(graph, thread()) is True
    with pytest.raises(LongthreadError, match="closed"):
        await graph.ainvoke(say("again"), thread())


def test_closing_again_does_nothing_and_a_thread_that_is_not_there_is_not_found(
    tmp_path: Path,
) -> None:
    graph = agent(Scripted("hello"), tmp_path)
    graph.invoke(say("hi"), thread())
    assert close_thread(graph, thread())
    before = graph.get_state(thread()).config
    assert close_thread(graph, thread()) is False
    assert graph.get_state(thread()).config == before
    with pytest.raises(LongthreadError) as missing:
        close_thread(graph, thread("nobody's"))
    assert missing.value.code == "SESSION_NOT_FOUND"
    assert graph.get_state(thread("nobody's")).created_at is None


def test_a_fork_from_before_the_end_is_refused_too(tmp_path: Path) -> None:
    graph = agent(Scripted("one", "two"), tmp_path)
    graph.invoke(say("1"), thread())
    before = graph.get_state(thread()).config
    close_thread(graph, thread())
    with pytest.raises(LongthreadError) as refused:
        graph.invoke(say("instead"), before)
    assert refused.value.code == "SESSION_CLOSED"


def test_a_closed_thread_is_not_compacted_and_can_be_opened_again(tmp_path: Path) -> None:
    graph = agent(Scripted("one", "two"), tmp_path)
    graph.invoke(say("1"), thread())
    close_thread(graph, thread())
    with pytest.raises(LongthreadError) as refused:
        compact_thread(graph, thread())
    assert refused.value.code == "SESSION_CLOSED"
    graph.update_state(thread(), {"closed": False})
    assert contents(graph.invoke(say("2"), thread())["messages"]) == ["1", "one", "2", "two"]


def ask_first(at: str) -> str:
    """Ask somebody."""
    return f"they said {interrupt('may I?')}"


def test_a_thread_that_waits_ends_and_keeps_what_its_other_tools_returned(tmp_path: Path) -> None:
    both = calls("a")
    both.tool_calls.append({"name": "ask_first", "args": {"at": "b"}, "id": "b"})
    graph = agent(Scripted(both, "never"), tmp_path, [look, ask_first])
    graph.invoke(say("look and ask"), thread())
    assert graph.get_state(thread()).interrupts
    assert close_thread(graph, thread())
    state = graph.get_state(thread())
    assert (state.next, state.tasks, state.interrupts) == ((), (), ())
    results = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
    assert contents(results) == ["saw a"]
    with pytest.raises(LongthreadError, match="closed"):
        graph.invoke(Command(resume="yes"), thread())


def test_where_another_runtime_keeps_the_thread_its_nodes_refuse(tmp_path: Path) -> None:
    """As on LangGraph Server, which lends its own saver to a plain graph."""
    script = Scripted("hello")
    made = create_agent_graph(script.model, workspace=tmp_path)
    parts = {k: v for k, v in vars(made).items() if k != "__orig_class__"}
    plain: Any = CompiledStateGraph(**parts)
    assert not isinstance(plain, AgentGraph)
    plain.checkpointer = InMemorySaver()
    plain.invoke(say("hi"), thread())
    close_thread(plain, thread())
    inputs: list[Any] = [Command(goto="reasoning"), say("again")]
    for given in inputs:
        with pytest.raises(LongthreadError) as refused:
            plain.invoke(given, thread())
        assert refused.value.code == "SESSION_CLOSED"
    assert len(script.requests) == 1


def test_the_thread_of_an_agent_inside_another_graph_is_closed_by_its_namespace(
    tmp_path: Path,
) -> None:
    inner = agent(Scripted("hello"), tmp_path, checkpointer=True)
    parent = StateGraph(ThreadState)
    parent.add_node("helper", agent_node(inner))
    parent.add_edge(START, "helper")
    graph: Any = parent.compile(checkpointer=InMemorySaver())
    graph.invoke(say("hi"), thread())
    nested: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "helper"}}
    assert close_thread(graph, nested)
    with pytest.raises(LongthreadError) as refused:
        graph.invoke(say("again"), thread())
    assert refused.value.code == "SESSION_CLOSED"
