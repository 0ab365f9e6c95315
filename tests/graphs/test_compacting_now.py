"""A compaction on demand is of the thread as it is now, whatever state its config is from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from agents import Scripted, agent, contents, say, thread
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from longthread import (
    LongthreadError,
    acompact_thread,
    agent_node,
    close_thread,
    compact_thread,
    create_agent_graph,
    fork_thread,
)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_config_of_an_older_state_takes_nothing_from_the_thread(
    way: str, tmp_path: Path
) -> None:
    graph = agent(Scripted("one", "two", "three", summary="SUM"), tmp_path, memory=None)
    configs = []
    for question in "abc":
        graph.invoke(say(question), thread())
        configs.append(graph.get_state(thread()).config)
    compact: Any = acompact_thread if way == "async" else compact_thread
    result = compact(graph, configs[0])
    result = await result if way == "async" else result
    values = graph.get_state(thread()).values
    assert contents(values["messages"]) == ["a", "one", "b", "two", "c", "three"]
    assert values["compaction"]["size"] == result.new_size > 2


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_config_of_another_branch_names_that_branch(way: str, tmp_path: Path) -> None:
    graph = agent(Scripted("one", "two", "three", summary="SUM"), tmp_path, memory=None)
    graph.invoke(say("a"), thread())
    parted = graph.get_state(thread()).config
    graph.invoke(say("left"), thread())
    left = graph.get_state(thread()).config
    graph.invoke(say("right"), parted)
    compact: Any = acompact_thread if way == "async" else compact_thread
    for config, last in ((left, "left"), (parted, "left")):  # where the thread is by then
        result = compact(graph, config)
        result = await result if way == "async" else result
        values = graph.get_state(thread()).values
        assert contents(values["messages"])[2] == last
        assert values["compaction"]["size"] == result.new_size


def test_what_is_said_meanwhile_is_noticed_though_the_config_names_a_checkpoint(
    tmp_path: Path,
) -> None:
    def summary(messages: list[BaseMessage]) -> str:
        graph.invoke(say("meanwhile"), thread())
        return "SUM"

    graph = agent(Scripted("ok", summary=summary), tmp_path, memory=None)
    graph.invoke(say("first"), thread())
    with pytest.raises(LongthreadError, match="moved on") as caught:
        compact_thread(graph, graph.get_state(thread()).config)
    assert caught.value.code == "SESSION_BUSY"
    values = graph.get_state(thread()).values
    assert contents(values["messages"]) == ["first", "ok", "meanwhile", "ok"]
    assert not values.get("compaction")


@pytest.mark.parametrize("act", [compact_thread, close_thread])
def test_an_agent_inside_another_graph_keeps_what_came_after_an_older_state(
    act: Any, tmp_path: Path
) -> None:
    script = Scripted("one", "two", "three", summary="SUM")
    helper = create_agent_graph(
        script.model, name="helper", memory=None, workspace=tmp_path / "workspace"
    )
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent_node(helper))
    builder.add_edge(START, "helper")
    graph: Any = builder.compile(checkpointer=InMemorySaver())
    inside: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "helper"}}
    states = []
    for question in "abc":
        graph.invoke(say(question), thread())
        states.append(graph.get_state(inside))
    act(graph, states[0].config)
    now = graph.get_state(inside).values
    assert contents(now["messages"]) == ["a", "one", "b", "two", "c", "three"]


@pytest.mark.parametrize("instructions", [3, ["Keep the list."]])
def test_instructions_that_are_no_text_are_refused(instructions: Any, tmp_path: Path) -> None:
    graph = agent(Scripted("ok", summary="SUM"), tmp_path, memory=None)
    graph.invoke(say("hi"), thread())
    with pytest.raises(LongthreadError, match="instructions=") as caught:
        compact_thread(graph, thread(), instructions)
    assert repr(instructions) in str(caught.value)


@pytest.mark.parametrize("checkpoint_id", [5, float("nan"), ["x"], b"x", UUID(int=7)])
async def test_a_checkpoint_that_is_no_text_is_refused(checkpoint_id: Any, tmp_path: Path) -> None:
    graph = agent(Scripted("ok", summary="SUM"), tmp_path, memory=None)
    graph.invoke(say("hi"), thread())
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_id": checkpoint_id}}
    for attempt in (
        lambda: compact_thread(graph, config),
        lambda: asyncio.run(acompact_thread(graph, config)),
        lambda: fork_thread(graph, config, "other"),
    ):
        with pytest.raises(LongthreadError, match="checkpoint_id=") as caught:
            await asyncio.to_thread(attempt)
        assert caught.value.code == "INVALID_CONFIGURATION"
