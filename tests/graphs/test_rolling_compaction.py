"""Compaction on demand, its automatic threshold, and what it shares with automatic compaction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, nodes_run, overflow_error, say, thread
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from longthread import (
    CompactionConfig,
    LongthreadError,
    MemoryConfig,
    RollingCompactionConfig,
    acompact_thread,
    compact_thread,
    context_policy,
    project_context,
)
from longthread.graphs.compaction import create_compaction_graph
from longthread.state.errors import SummaryRefused
from longthread.state.projection import view_context
from longthread.state.validity import violations

NO_TOOLS = MemoryConfig(tools=False, background=False)
"""Leaves a small window to the conversation."""


def equal_messages(count: int) -> list[BaseMessage]:
    """Return a conversation of messages that are all equally long."""
    kinds = (HumanMessage, AIMessage)
    return [kinds[i % 2](f"message {i:04d}", id=f"m{i}") for i in range(count)]


def with_history(script: Scripted, tmp_path: Path, count: int = 100, **options: Any) -> Any:
    graph = agent(script, tmp_path, **options)
    graph.update_state(thread(), {"messages": equal_messages(count)}, as_node="consolidation")
    return graph


def test_the_reference_example_compacts_fifty_of_a_hundred(tmp_path: Path) -> None:
    script = Scripted("ok", summary="SUM")
    graph = with_history(script, tmp_path)
    result = compact_thread(graph, thread())
    assert (result.thread_id, result.compacted_count, result.new_size) == ("t", 50, 50)
    assert not result.already_up_to_date
    request = project_context(graph.get_state(thread()).values, context_policy(graph))
    assert "SUM" in str(request[0].content)
    # The newest human message is among those that stay: nothing is repeated.
    assert contents(request[1:]) == [f"message {i:04d}" for i in range(50, 100)]


def test_the_second_run_counts_the_summary_in_its_target(tmp_path: Path) -> None:
    script = Scripted("ok", summary="x" * 120)  # as long as ten messages
    graph = with_history(script, tmp_path)
    compact_thread(graph, thread())
    result = compact_thread(graph, thread())
    assert result.compacted_count == 30  # half of 10 + 50
    assert result.new_size == 80
    assert "x" * 120 in str(script.asked["summary"][1][-1].content)


def test_a_thread_that_is_up_to_date_asks_no_model(tmp_path: Path) -> None:
    script = Scripted("ok", summary="S")
    graph = with_history(script, tmp_path, count=2)
    sizes = [compact_thread(graph, thread()).new_size for _ in range(3)]
    asked = len(script.asked["summary"])
    result = compact_thread(graph, thread())
    assert result.already_up_to_date
    assert result.compacted_count == 0
    assert result.new_size == sizes[-1] == 2
    assert len(script.asked["summary"]) == asked == 1


def test_a_dry_run_asks_and_writes_nothing(tmp_path: Path) -> None:
    script = Scripted("ok", facts="- Fact.")
    graph = with_history(script, tmp_path)
    before = graph.get_state(thread()).config
    result = compact_thread(graph, thread(), dry_run=True)
    assert result.compacted_count == 50
    assert script.asked["summary"] == script.asked["facts"] == []
    assert graph.get_state(thread()).config == before


async def test_the_asynchronous_twin_does_the_same(tmp_path: Path) -> None:
    script = Scripted("ok", summary="SUM")
    graph = with_history(script, tmp_path)
    assert (await acompact_thread(graph, thread())).new_size == 50
    assert graph.get_state(thread()).values["compaction"]["summary"] == "SUM"


def test_parallel_results_and_their_calls_stay_together(tmp_path: Path) -> None:
    many = calls(*(f"c{i}" for i in range(8)))
    script = Scripted(many, "done", summary="S")
    graph = agent(script, tmp_path)
    graph.invoke(say("go"), thread())
    for percent in (10, 35, 60, 85):
        rolling = RollingCompactionConfig(compaction_count=percent)
        other = agent(script, tmp_path, rolling=rolling, checkpointer=graph.checkpointer)
        result = compact_thread(other, thread(), dry_run=True)
        assert result.compacted_count in (1, 10, 11)


def test_instructions_of_thread_and_run_reach_the_summariser(tmp_path: Path) -> None:
    rolling = RollingCompactionConfig(custom_instructions="Keep the task list.")
    script = Scripted("ok")
    graph = with_history(script, tmp_path, rolling=rolling)
    compact_thread(graph, thread(), instructions="Mention the {deadline}.")
    prompt = str(script.asked["summary"][0][-1].content)
    assert "Keep the task list.\nMention the {deadline}." in prompt


def test_facts_are_extracted_from_the_part_that_goes(tmp_path: Path) -> None:
    script = Scripted("ok", facts="- Fact.")
    graph = with_history(script, tmp_path)
    compact_thread(graph, thread())
    conversation = str(script.asked["facts"][0][-1].content).split("<conversation>")[1]
    assert "message 0049" in conversation
    assert "message 0050" not in conversation


def test_what_is_next_in_the_thread_stays_next(tmp_path: Path) -> None:
    script = Scripted(ValueError("ill"), "well", summary="S")
    graph = with_history(script, tmp_path)
    with pytest.raises(ValueError, match="ill"):
        graph.invoke(say("go"), thread())
    compact_thread(graph, thread())
    assert graph.get_state(thread()).next == ("reasoning",)
    assert graph.invoke(None, thread())["messages"][-1].content == "well"
    compact_thread(graph, thread())
    assert graph.get_state(thread()).next == ()
    assert graph.invoke(say("more"), thread())["messages"][-1].content == "well"


def test_a_thread_that_waits_in_an_interrupt_is_busy(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a"), "done"), tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    with pytest.raises(LongthreadError) as caught:
        compact_thread(graph, thread())
    assert caught.value.code == "SESSION_BUSY"


def test_a_thread_that_moved_on_meanwhile_is_busy_and_loses_nothing(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = with_history(script, tmp_path)

    def meanwhile(messages: list[BaseMessage]) -> str:
        graph.invoke(say("meanwhile"), thread())
        return "SUM"

    script.side["summary"] = meanwhile
    with pytest.raises(LongthreadError) as caught:
        compact_thread(graph, thread())
    assert caught.value.code == "SESSION_BUSY"
    values = graph.get_state(thread()).values
    assert "meanwhile" in contents(values["messages"])
    assert "summary" not in values["compaction"]


def test_unknown_and_disabled_threads_are_refused(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    with pytest.raises(LongthreadError) as caught:
        compact_thread(graph, thread("nobody"))
    assert caught.value.code == "SESSION_NOT_FOUND"
    for off in (None, RollingCompactionConfig(enabled=False)):
        graph = agent(Scripted("ok"), tmp_path, rolling=off)
        graph.invoke(say("hi"), thread())
        with pytest.raises(LongthreadError) as caught:
            compact_thread(graph, thread())
        assert caught.value.code == "COMPACTION_DISABLED"


@pytest.mark.parametrize("summary", ["", RuntimeError("ill"), "word " * 5_000])
def test_a_summary_that_cannot_be_used_writes_nothing(summary: Any, tmp_path: Path) -> None:
    graph = with_history(Scripted("ok", summary=summary), tmp_path, count=6)
    before = graph.get_state(thread()).config
    with pytest.raises((SummaryRefused, RuntimeError)):
        compact_thread(graph, thread())
    assert graph.get_state(thread()).config == before


def test_settings_are_fixed_when_the_thread_is_created(tmp_path: Path) -> None:
    saver = InMemorySaver()
    first = agent(
        Scripted("ok"),
        tmp_path,
        checkpointer=saver,
        rolling=RollingCompactionConfig(compaction_count=20),
    )
    first.invoke(say("hi"), thread())
    first.update_state(thread(), {"messages": equal_messages(98)}, as_node="consolidation")
    later = agent(
        Scripted("ok"),
        tmp_path,
        checkpointer=saver,
        rolling=RollingCompactionConfig(compaction_count=80),
    )
    assert 15 <= compact_thread(later, thread()).compacted_count <= 25


def test_the_automatic_threshold_is_asked_after_every_answer(tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    rolling = RollingCompactionConfig(auto_threshold=20)
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(20)), "done")
    graph = agent(
        script,
        tmp_path,
        [page],
        rolling=rolling,
        masking=None,
        compaction=CompactionConfig(enabled=False),
        context_window=10_000,
    )
    triggers = [
        e["trigger"]
        for e in graph.stream(say("go"), thread(), stream_mode="custom")
        if e["type"] == "compaction"
    ]
    assert len(triggers) >= 3
    assert set(triggers) == {"rolling"}
    journal = graph.get_state(thread()).values["messages"]
    for request in script.requests:
        known = [m for m in journal if m.id in {r.id for r in request}]
        reach = journal.index(known[-1]) + 1
        assert violations(request, journal[:reach]) == []


def test_the_last_answer_of_a_call_is_asked_about_too(tmp_path: Path) -> None:
    rolling = RollingCompactionConfig(auto_threshold=10)
    script = Scripted("a long answer " * 200)
    for memory in (NO_TOOLS, None):
        graph = agent(script, tmp_path, rolling=rolling, context_window=10_000, memory=memory)
        name = f"with {memory}"
        ran = nodes_run(graph, say("a long question " * 200), thread(name))
        assert ran[-2:] == (
            ["compaction", "consolidation"] if memory else ["reasoning", "compaction"]
        )
        assert graph.get_state(thread(name)).next == ()
        assert graph.get_state(thread(name)).values["compaction"]["size"] == 2


def test_both_compactions_share_one_record(tmp_path: Path) -> None:
    script = Scripted("ok", summary="ONE")
    graph = with_history(script, tmp_path)
    compact_thread(graph, thread())
    script.answers = [overflow_error(limit=1_550), "fine"]
    script.side["summary"] = "TWO"
    graph.invoke(say("go"), thread())
    record = graph.get_state(thread()).values["compaction"]
    assert (record["summary"], record["generation"]) == ("ONE\n\nTWO", 2)
    assert any("ONE" in str(request[-1].content) for request in script.asked["summary"][1:])
    view = view_context(graph.get_state(thread()).values, context_policy(graph))
    assert view.decisions.cut > 50


def test_ranges_and_model_names_are_checked_at_once(tmp_path: Path) -> None:
    for field, value in (("compaction_count", 0), ("compaction_count", 100), ("auto_threshold", 0)):
        wrong: Any = {field: value}
        with pytest.raises(LongthreadError, match=f"{field}={value}"):
            RollingCompactionConfig(**wrong)
    rolling = RollingCompactionConfig.model_validate(
        {"compactionCount": 40, "autoThreshold": 80, "customInstructions": "x", "model": "default"}
    )
    assert (rolling.compaction_count, rolling.auto_threshold) == (40, 80)
    with pytest.raises(LongthreadError, match=r"RollingCompactionConfig\.model='nowhere:x'"):
        agent(Scripted(), tmp_path, rolling=RollingCompactionConfig(model="nowhere:x"))


async def test_the_compaction_graph_does_it_where_only_graphs_can_run(tmp_path: Path) -> None:
    script = Scripted("ok", summary="SUM")
    graph = create_compaction_graph(with_history(script, tmp_path))
    dry = graph.invoke({"thread_id": "t", "dry_run": True})
    session = dry.pop("session")
    assert (session["message_count"], session["size"], session["summary"]) == (100, 0, None)
    assert dry == {
        "thread_id": "t",
        "compacted_count": 50,
        "new_size": 50,
        "already_up_to_date": False,
    }
    assert (await graph.ainvoke({"thread_id": "t"}))["new_size"] == 50
    assert graph.invoke({"thread_id": "t"})["new_size"] > 50
    with pytest.raises(LongthreadError) as caught:
        graph.invoke({"thread_id": "nobody"})
    assert caught.value.code == "SESSION_NOT_FOUND"


async def test_the_compaction_graph_takes_the_durability_that_a_server_names(
    tmp_path: Path,
) -> None:
    graph = create_compaction_graph(with_history(Scripted("ok", summary="SUM"), tmp_path))
    given: Any = {"thread_id": "t", "dry_run": True}
    assert graph.invoke(given, durability="async")["thread_id"] == "t"  # a warning is an error here
    assert (await graph.ainvoke(given, durability="async"))["thread_id"] == "t"


def test_a_thread_inside_a_larger_graph_is_compacted_by_its_namespace(tmp_path: Path) -> None:
    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    script = Scripted("an answer", summary="SUM")
    inner = agent(script, tmp_path, checkpointer=True)
    builder = StateGraph(State)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    outer: Any = builder.compile(checkpointer=InMemorySaver())
    for text in ("one " * 50, "two " * 50, "three " * 50):
        outer.invoke(say(text), thread())
    nested: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "inner"}}
    result = compact_thread(outer, nested)
    assert result.compacted_count >= 2
    assert outer.get_state(nested).values["compaction"]["summary"] == "SUM"
    outer.invoke(say("four"), thread())
    assert "SUM" in str(script.requests[-1][0].content)
    assert "one one" not in str(script.requests[-1][1:])
