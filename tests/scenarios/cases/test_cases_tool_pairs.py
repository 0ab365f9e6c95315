"""Tool pairs and interruption: what a person can do to a thread in the middle of a step."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.types import Command, interrupt

from longthread import context_policy, project_context
from longthread.state.body import INTERRUPTED
from longthread.state.validity import violations


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


def shown(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(m.type, str(m.content)) for m in messages]


def waiting(tmp_path: Path, script: Scripted, **options: Any) -> Any:
    graph = agent(script, tmp_path, interrupt_before=["tools"], **options)
    graph.invoke(say("go"), thread())
    return graph


def test_results_out_of_order_after_a_question_and_twice_stand_once_after_their_call(
    tmp_path: Path,
) -> None:
    script = Scripted(calls("a", "b"), "done")
    graph = waiting(tmp_path, script)
    given = [
        HumanMessage("and?"),
        *(ToolMessage(text, tool_call_id=text[0].lower()) for text in ("B", "A", "A again", "Z")),
    ]
    graph.invoke({"messages": given}, thread())
    assert shown(script.requests[-1])[2:] == [("tool", "A"), ("tool", "B"), ("human", "and?")]


def test_a_result_from_the_client_answers_the_open_call(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "done")
    graph = waiting(tmp_path, script)
    result = ToolMessage("from the client", tool_call_id="a", name="look")
    final = graph.invoke({"messages": [result]}, thread())
    assert contents(final["messages"]) == ["go", "", "from the client", "done"]


def test_a_result_written_as_the_tools_node_goes_on_to_reasoning(tmp_path: Path) -> None:
    graph = waiting(tmp_path, Scripted(calls("a"), "done"))
    own = ToolMessage("mine", tool_call_id="a", name="look")
    graph.update_state(thread(), {"messages": [own]}, as_node="tools")
    assert graph.get_state(thread()).next == ("reasoning",)
    assert contents(graph.invoke(None, thread())["messages"]) == ["go", "", "mine", "done"]


def test_calls_edited_away_end_the_call(tmp_path: Path) -> None:
    graph = waiting(tmp_path, Scripted(calls("a"), "done"))
    answer = graph.get_state(thread()).values["messages"][-1]
    graph.update_state(thread(), {"messages": [AIMessage("never mind", id=answer.id)]})
    assert contents(graph.invoke(None, thread())["messages"]) == ["go", "never mind"]


def test_an_answer_handed_in_with_open_calls_is_settled(tmp_path: Path) -> None:
    script = Scripted("done")
    graph = agent(script, tmp_path)
    result = graph.invoke({"messages": [HumanMessage("go"), calls("a")]}, thread())
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert "interrupted" in str(script.requests[0][-1].content)


def test_two_approvals_that_wait_while_compaction_is_due_are_pinned(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask the user, and return a lot."""
        return f"{interrupt(at)} " + "lorem ipsum " * 700

    steps = [calls(f"c{i}", name="page") for i in range(12)]
    script = Scripted(*steps, calls("x", "y", name="ask"), "done")
    graph = agent(script, tmp_path, [page, ask], context_window=6_000, memory=None)
    graph.invoke(say("go"), thread())
    waits = graph.get_state(thread()).interrupts
    assert len(waits) == 2
    resume: Any = Command(resume={one.id: "yes" for one in waits})
    result = graph.invoke(resume, thread())
    assert result["messages"][-1].content == "done"
    last = script.requests[-1]
    assert violations(last, result["messages"][:-1]) == []
    assert [m.tool_call_id for m in last if isinstance(m, ToolMessage)][-2:] == ["x", "y"]


def test_seven_parallel_calls_over_the_budget_move_together(tmp_path: Path) -> None:
    many = [calls(*(f"{step}{i}" for i in range(7)), name="page") for step in "abcdef"]
    script = Scripted(*many, "done")
    graph = agent(script, tmp_path, [page], context_window=8_000, masking=None, memory=None)
    graph.invoke(say("go"), thread())
    assert script.asked["summary"]
    for request in script.requests:
        called = [c["id"] for m in request if isinstance(m, AIMessage) for c in m.tool_calls]
        answered = [m.tool_call_id for m in request if isinstance(m, ToolMessage)]
        assert called == answered


def test_further_messages_in_a_command_follow_the_results(tmp_path: Path) -> None:
    def tell(at: str) -> Any:
        """Return a result and a message of its own."""
        result = ToolMessage(f"r {at}", tool_call_id=at)
        return Command(update={"messages": [result, HumanMessage(f"also {at}")]})

    script = Scripted(calls("a", "b", name="tell"), "done")
    result = agent(script, tmp_path, [tell]).invoke(say("go"), thread())
    assert contents(script.requests[-1])[2:] == ["r a", "r b", "also a", "also b"]
    assert violations(script.requests[-1], result["messages"][:-1]) == []


async def test_a_cancelled_tool_is_reported_on_resume_and_a_finished_one_is_not_run_again(
    tmp_path: Path,
) -> None:
    ran: list[str] = []

    async def work(at: str) -> str:
        """Work; the first time b takes for ever."""
        ran.append(at)
        await asyncio.sleep(60 if at == "b" and ran.count("b") == 1 else 0)
        return f"did {at}"

    graph = agent(Scripted(calls("a", "b", name="work"), "done"), tmp_path, [work])
    run = asyncio.create_task(graph.ainvoke(say("go"), thread()))
    while "did a" not in contents((await graph.aget_state(thread())).values.get("messages", [])):
        await asyncio.sleep(0.01)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    result = await graph.ainvoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "did a", INTERRUPTED, "done"]
    assert ran == ["a", "b"]


async def test_a_cancelled_tool_and_a_new_question_make_a_valid_request(tmp_path: Path) -> None:
    async def wait(at: str) -> str:
        """Wait for ever."""
        started.set()
        await asyncio.sleep(60)
        return "never"

    started = asyncio.Event()
    script = Scripted(calls("a", name="wait"), "done")
    graph = agent(script, tmp_path, [wait])
    run = asyncio.create_task(graph.ainvoke(say("go"), thread()))
    await started.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    result = await graph.ainvoke(say("never mind"), thread())
    assert [m.type for m in script.requests[-1]] == ["human", "ai", "tool", "human"]
    assert violations(script.requests[-1], result["messages"][:-1]) == []


async def test_a_cancelled_model_call_resumes_where_it_was(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "done")
    graph = agent(script, tmp_path, interrupt_after=["tools"])
    await graph.ainvoke(say("go"), thread())
    run = asyncio.create_task(graph.ainvoke(None, thread()))
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    result = await graph.ainvoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "saw a", "done"]


def test_system_messages_in_the_conversation_are_sent_as_reference(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path, system_prompt="Be brief.")
    given = [SystemMessage("lead"), HumanMessage("a"), SystemMessage("middle"), HumanMessage("b")]
    graph.invoke({"messages": given}, thread())
    assert [m.type for m in script.requests[0]] == ["system", "human", "human", "human"]
    assert script.requests[0][0].content == "Be brief.\n\nlead"
    assert "HARNESS_CONTEXT" in str(script.requests[0][2].content)


@pytest.mark.parametrize("returned", [None, {"a": 1}, "", b"\xff\x00", [], ["x"], 7])
def test_whatever_a_tool_returns_is_a_result(returned: Any, tmp_path: Path) -> None:
    def give(at: str) -> Any:
        """Return something."""
        return returned

    script = Scripted(calls("a", name="give"), "done")
    graph = agent(script, tmp_path, [give])
    result = graph.invoke(say("go"), thread())
    assert [m.type for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    state = graph.get_state(thread()).values
    assert project_context(state, context_policy(graph))[:-1] == script.requests[-1]


def test_calls_of_an_imported_journal_that_cannot_be_told_apart_make_a_valid_request(
    tmp_path: Path,
) -> None:
    def call(call_id: str | None, at: str) -> Any:
        return {"name": "look", "args": {"at": at}, "id": call_id, "type": "tool_call"}

    block = {"type": "tool_use", "id": "x", "name": "look", "input": {}}
    script = Scripted("done")
    given = [
        HumanMessage("a"),
        AIMessage("", tool_calls=[call("x", "1"), call("x", "2")]),
        ToolMessage("r1", tool_call_id="x"),
        ToolMessage("r2", tool_call_id="x"),
        AIMessage([block, block], tool_calls=[call("x", "1"), call("x", "2"), call(None, "3")]),
        AIMessage(
            "text",
            invalid_tool_calls=[invalid_tool_call(name="look", args="{", id=None, error=None)],
        ),
        HumanMessage("b"),
    ]
    result = agent(script, tmp_path).invoke({"messages": given}, thread())
    assert violations(script.requests[-1], result["messages"][:-1], to_send=True) == []
    assert contents(script.requests[-1])[2] == "r1"
    assert [len(m.tool_calls) for m in script.requests[-1] if isinstance(m, AIMessage)] == [1, 1, 0]
