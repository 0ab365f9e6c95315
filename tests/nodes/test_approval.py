"""A person decides on calls before they run, as with LangChain's middleware, call by call."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, look, say, thread
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ValidationError

from longthread import LongthreadError, ThreadState, agent_node
from longthread.graphs.compiled import AgentGraph
from longthread.nodes import approval, tool_runner
from longthread.state.lent import lent


class Notes(ThreadState):
    notes: Annotated[list[str], operator.add]


def asked(result: dict[str, Any]) -> list[Any]:
    """What the pauses show, in order."""
    return [pause.value for pause in result.get("__interrupt__", ())]


def stopped(tmp_path: Path, *ids: str, want: Any = True, **options: Any) -> AgentGraph:
    """An agent that waits for a decision about calls of `look`."""
    script = Scripted(calls(*ids), "done")
    graph = agent(script, tmp_path, interrupt_on={"look": want}, **options)
    assert asked(graph.invoke(say("go"), thread()))
    return graph


def decide(graph: AgentGraph, decision: dict[str, Any]) -> ToolMessage:
    """Answer the only pause; returns the result that the model is told."""
    result = graph.invoke(Command(resume=decision), thread())
    assert contents(result["messages"])[-1] == "done"
    told = result["messages"][-2]
    assert isinstance(told, ToolMessage)
    return told


def test_a_client_is_shown_what_langchains_middleware_shows_it(tmp_path: Path) -> None:
    script = Scripted(calls("1"), "done")
    theirs: Any = create_agent(
        script.model,
        [look],
        middleware=[HumanInTheLoopMiddleware({"look": True}, interrupt_mode="per_call")],
        checkpointer=InMemorySaver(),
    )
    (shown,) = asked(theirs.invoke(say("go"), thread()))
    graph = agent(Scripted(calls("1"), "done"), tmp_path, interrupt_on={"look": True})
    (ours,) = asked(graph.invoke(say("go"), thread()))
    assert {**ours, "description": ""} == {**shown, "description": ""}


@pytest.mark.parametrize(
    ("decision", "told", "status"),
    [
        ({"type": "approve"}, "saw 1", "success"),
        ({"type": "respond", "message": "nothing there"}, "nothing there", "success"),
        ({"type": "reject", "message": "too far"}, "too far", "error"),
    ],
)
def test_what_is_decided_is_done_and_the_model_is_told(
    tmp_path: Path, decision: dict[str, Any], told: str, status: str
) -> None:
    result = decide(stopped(tmp_path, "1"), decision)
    assert told in str(result.content)
    assert result.status == status


def test_an_edited_call_runs_with_the_new_arguments_and_says_so(tmp_path: Path) -> None:
    edited = {"name": "look", "args": {"at": "the sea"}}
    result = decide(stopped(tmp_path, "1"), {"type": "edit", "edited_action": edited})
    assert str(result.content).endswith("saw the sea")
    assert '{"at": "the sea"}' in str(result.content).splitlines()[0]


@pytest.mark.parametrize(
    "wrong",
    [
        "yes",
        {"type": "perhaps"},
        {"type": "edit", "edited_action": {"name": "other", "args": {}}},
        {"type": "respond"},
    ],
)
def test_an_answer_that_does_not_fit_is_refused_and_can_be_given_again(
    tmp_path: Path, wrong: Any
) -> None:
    graph = stopped(tmp_path, "1")
    with pytest.raises(ValidationError):
        graph.invoke(Command(resume=wrong), thread())
    assert decide(graph, {"type": "approve"}).content == "saw 1"


def test_a_tools_own_question_can_be_answered_again_too(tmp_path: Path) -> None:
    class Amount(BaseModel):
        euros: int

    def pay() -> str:
        """Pay."""
        return f"paid {interrupt('how much?', response_schema=Amount).euros}"

    graph = agent(Scripted(calls("1", name="pay"), "done"), tmp_path, tools=[pay])
    graph.invoke(say("go"), thread())
    with pytest.raises(ValidationError):
        graph.invoke(Command(resume={"euros": "many"}), thread())
    assert decide(graph, {"euros": 3}).content == "paid 3"


def test_parallel_calls_are_decided_one_by_one(tmp_path: Path) -> None:
    graph = stopped(tmp_path, "1", "2")
    first, second = graph.get_state(thread()).interrupts
    assert {first.value["tool_call_id"], second.value["tool_call_id"]} == {"1", "2"}
    answers = {first.id: {"type": "approve"}, second.id: {"type": "reject"}}
    results = graph.invoke(Command(resume=answers), thread())["messages"][2:4]
    assert [m.status for m in results] == ["success", "error"]


def test_a_call_that_nobody_decided_on_is_known_not_to_have_run(tmp_path: Path) -> None:
    graph = stopped(tmp_path, "1", "2")
    first = graph.get_state(thread()).interrupts[0]
    graph.invoke(Command(resume={first.id: {"type": "approve"}}), thread())
    messages = graph.invoke(say("never mind"), thread())["messages"]
    told = {m.tool_call_id: m.content for m in messages if isinstance(m, ToolMessage)}
    (ran,) = {first.value["tool_call_id"]}
    (waited,) = {"1", "2"} - {ran}
    assert told[ran] == f"saw {ran}"
    assert "did not run" in told[waited]


def test_so_it_is_where_a_finished_one_has_written_to_a_channel_of_the_application(
    tmp_path: Path,
) -> None:
    @tool
    def note(at: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note."""
        told = ToolMessage("noted", tool_call_id=tool_call_id)
        return Command(update={"notes": [at], "messages": [told]})

    both = AIMessage("", tool_calls=[*calls("1", name="note").tool_calls, *calls("2").tool_calls])
    graph = agent(
        Scripted(both, "done"),
        tmp_path,
        [note, look],
        interrupt_on={"look": True},
        state_schema=Notes,
    )
    assert asked(graph.invoke(say("go"), thread()))
    result = graph.invoke(say("never mind"), thread())
    told = {m.tool_call_id: m.content for m in result["messages"] if isinstance(m, ToolMessage)}
    assert told["1"] == "noted"
    assert "did not run" in str(told["2"])
    assert graph.get_state(thread()).values["notes"] == ["1"]


def test_so_it_is_for_a_tool_that_may_run_twice(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    def harmless(at: str) -> str:
        """Look, harmlessly."""
        ran.append(at)
        if len(ran) == 1:
            raise KeyboardInterrupt
        return f"saw {at}"

    harmless.metadata = {"idempotent": True}

    def waits(where: str) -> Any:
        script = Scripted(calls("1", name="harmless"), "done")
        graph = agent(script, tmp_path / where, [harmless], interrupt_on={"harmless": True})
        assert asked(graph.invoke(say("go"), thread()))
        return graph

    result = waits("one").invoke(say("never mind"), thread())
    assert "did not run" in str(next(m.content for m in result["messages"] if m.type == "tool"))
    graph = waits("two")
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume={"type": "approve"}), thread())
    assert graph.invoke(None, thread())["messages"][-2].content == "saw 1"
    assert ran == ["1", "1"]


def test_a_call_that_was_approved_and_cut_off_is_not_said_not_to_have_run(tmp_path: Path) -> None:
    def fall(at: str) -> str:
        """Fall."""
        raise KeyboardInterrupt

    graph = agent(
        Scripted(calls("1", name="fall"), "done"), tmp_path, [fall], interrupt_on={"fall": True}
    )
    graph.invoke(say("go"), thread())
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume={"type": "approve"}), thread())
    messages = graph.invoke(say("never mind"), thread())["messages"]
    (told,) = [m.content for m in messages if isinstance(m, ToolMessage)]
    assert "whether it had an effect is not known" in told


@pytest.mark.parametrize("refused_first", [False, True])
def test_a_call_that_was_approved_and_cut_off_is_neither_asked_about_nor_run_again(
    refused_first: bool, tmp_path: Path
) -> None:
    ran: list[str] = []

    def fall(at: str) -> str:
        """Fall."""
        ran.append(at)
        raise KeyboardInterrupt

    graph = agent(
        Scripted(calls("1", name="fall"), "done"), tmp_path, [fall], interrupt_on={"fall": True}
    )
    (waits,) = graph.invoke(say("go"), thread())["__interrupt__"]
    if refused_first:
        with pytest.raises(ValidationError):
            graph.invoke(Command(resume={waits.id: "yes"}), thread())
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume={waits.id: {"type": "approve"}}), thread())
    result = graph.invoke(None, thread())
    assert not asked(result)
    assert "whether it had an effect is not known" in str(result["messages"][-2].content)
    assert ran == ["1"]


async def test_a_crash_leaves_the_calls_beside_it_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others come back to their question too, and may not have got there."""
    graph = stopped(tmp_path, "1", "2")
    first, second = graph.get_state(thread()).interrupts
    monkeypatch.setattr(approval, "interrupt", _crash_unless_decided(first.value["tool_call_id"]))
    decided: Command[Any] = Command(resume={first.id: {"type": "reject"}})
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(decided, thread())
    monkeypatch.undo()
    (waits,) = asked(await graph.ainvoke(decided, thread()))
    assert waits["tool_call_id"] == second.value["tool_call_id"]


def _crash_unless_decided(call_id: str) -> Any:
    def crashing(question: dict[str, Any], **options: Any) -> Any:
        if question["tool_call_id"] != call_id:
            raise KeyboardInterrupt
        return interrupt(question, **options)

    return crashing


def test_only_calls_that_the_condition_names_are_asked_about(tmp_path: Path) -> None:
    wanted = {"when": lambda request: request.state["messages"][-1].tool_calls[0]["id"] == "2"}
    script = Scripted(calls("1"), calls("2"), "done")
    graph = agent(script, tmp_path, interrupt_on={"look": wanted})
    (shown,) = asked(graph.invoke(say("go"), thread()))
    assert shown["tool_call_id"] == "2"


def test_the_thread_is_copied_only_for_what_looks_at_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[int] = []

    def counted(state: Any) -> dict[str, Any]:
        copied.append(len(state["messages"]))
        return lent(state)

    monkeypatch.setattr(tool_runner, "lent", counted)
    ran = {"when": lambda _: False}
    for want, copies in ((True, 0), ({"description": "Look?"}, 0), (ran, 1)):
        copied.clear()
        graph = agent(Scripted(calls("1"), "done"), tmp_path, interrupt_on={"look": want})
        if asked(graph.invoke(say("go"), thread())):
            graph.invoke(Command(resume={"type": "approve"}), thread())
        assert len(copied) == copies


def test_a_decision_that_is_not_allowed_is_refused(tmp_path: Path) -> None:
    graph = stopped(tmp_path, "1", want={"allowed_decisions": ["approve"], "description": "Look?"})
    assert graph.get_state(thread()).interrupts[0].value["description"] == "Look?"
    with pytest.raises(ValidationError):
        graph.invoke(Command(resume={"type": "reject"}), thread())


async def test_it_asks_asynchronously_and_tools_keep_what_is_injected(tmp_path: Path) -> None:
    @tool
    async def where(at: str, runtime: ToolRuntime[Any, Any]) -> str:
        """Say where."""
        return f"{at} in {runtime.config['configurable']['thread_id']}"

    graph = agent(
        Scripted(calls("1", name="where"), "done"),
        tmp_path,
        tools=[where],
        interrupt_on={"where": {"description": lambda call, *_: f"{call['id']}?"}},
    )
    assert asked(await graph.ainvoke(say("go"), thread()))[0]["description"] == "1?"
    edited = {"name": "where", "args": {"at": "here"}}
    answer: Command[Any] = Command(resume={"type": "edit", "edited_action": edited})
    result = await graph.ainvoke(answer, thread())
    assert str(result["messages"][-2].content).endswith("here in t")


@pytest.mark.parametrize(
    "wanted",
    [
        ["look"],
        {"lok": True},
        {"look": "yes"},
        {"look": {"allowed": ["approve"]}},
        {"look": {"allowed_decisions": ["accept"]}},
        {"look": {"allowed_decisions": []}},
    ],
)
def test_what_cannot_be_used_is_refused_at_once(tmp_path: Path, wanted: Any) -> None:
    with pytest.raises(LongthreadError, match="interrupt_on"):
        agent(Scripted(), tmp_path, interrupt_on=wanted)


def test_false_asks_nothing(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("1"), "done"), tmp_path, interrupt_on={"look": False})
    assert not asked(graph.invoke(say("go"), thread()))


async def test_inside_a_parent_a_call_nobody_decided_on_is_known_not_to_have_run(
    tmp_path: Path,
) -> None:
    script = Scripted(calls("1"), "done")
    inner = agent(script, tmp_path, interrupt_on={"look": True}, checkpointer=None)
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent_node(inner))
    builder.add_edge(START, "helper")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    assert asked(await parent.ainvoke(say("go"), thread()))
    await parent.ainvoke(say("never mind"), thread())
    assert "did not run" in str(contents(script.requests[-1]))
