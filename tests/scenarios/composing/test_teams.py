"""Several agents in one graph: a supervisor, agents that hand over, parallel branches, nesting."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from agents import Scripted, calls, contents, look, say, thread
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, Send, interrupt
from parents import chain, inner, inside, journal
from pydantic import BaseModel
from typing_extensions import TypedDict

from longthread import agent_node
from longthread.graphs.subthread import named_namespace


def _supervised(tmp_path: Path, finder: Scripted, writer: Scripted) -> Any:
    """A supervisor that sends a question to the finder, then to the writer."""

    def supervisor(state: MessagesState) -> Command[Literal["finder", "writer", "__end__"]]:
        match state["messages"][-1].name:
            case "writer":
                return Command(goto="__end__")
            case "finder":
                return Command(goto="writer")
            case _:
                return Command(goto="finder")

    builder = StateGraph(MessagesState)
    builder.add_node("supervisor", supervisor)
    for name, script in (("finder", finder), ("writer", writer)):
        builder.add_node(name, agent_node(inner(script, tmp_path, name=name)))
        builder.add_edge(name, "supervisor")
    builder.add_edge(START, "supervisor")
    return builder.compile(checkpointer=InMemorySaver())


def test_a_supervisor_with_shared_messages(tmp_path: Path) -> None:
    finder, writer = (
        Scripted(calls("a"), "found", "found more"),
        Scripted("written", "more written"),
    )
    parent = _supervised(tmp_path, finder, writer)
    parent.invoke(say("go"), thread())
    result = parent.invoke(say("on"), thread())
    assert contents(result["messages"]) == [
        "go", "found", "written", "on", "found more", "more written",
    ]  # fmt: skip
    assert contents(finder.requests[-1]) == [
        "go", "", "saw a", "found", "[writer]\nwritten", "on",
    ]  # fmt: skip
    assert contents(writer.requests[-1])[-1] == "[finder]\nfound more"
    assert parent.get_graph(xray=True).nodes.keys() > {"finder:reasoning", "writer:reasoning"}


class Ticket(TypedDict, total=False):
    task: str
    solution: str
    done: int


def test_a_supervisor_with_a_state_of_its_own(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "solved 1", "solved 2")
    node = agent_node(
        inner(script, tmp_path),
        input=lambda state: f"Task: {state['task']}",
        output=lambda result: {"solution": result["messages"][-1].content},
    )
    parent = chain(
        None, Ticket, solver=node, count=lambda state: {"done": state.get("done", 0) + 1}
    )
    assert parent.invoke({"task": "one"}, thread())["solution"] == "solved 1"
    result = parent.invoke({"task": "two"}, thread())
    assert result == {"task": "two", "solution": "solved 2", "done": 2}
    assert contents(script.requests[-1])[-2:] == ["solved 1", "Task: two"]


def test_two_agents_hand_over(tmp_path: Path) -> None:
    def transfer(to: str) -> Any:
        @tool(f"to_{to}")
        def hand_over(runtime: ToolRuntime) -> Command[Any]:
            """Hand over."""
            call = runtime.state["messages"][-1]
            done = ToolMessage(f"{to} goes on", tool_call_id=runtime.tool_call_id)
            return Command(goto=to, graph=Command.PARENT, update={"messages": [call, done]})

        return hand_over

    one = Scripted(calls("x1", name="to_two"), "one again")
    two = Scripted("two here", calls("x2", name="to_one"))
    for script in (one, two):
        for answer in script.answers:
            if isinstance(answer, AIMessage):
                answer.tool_calls[0]["args"] = {}
    builder = StateGraph(MessagesState)
    for name, other, script in (("one", "two", one), ("two", "one", two)):
        node = agent_node(inner(script, tmp_path, [transfer(other)], name=name))
        builder.add_node(name, node, destinations=(other,))

    def last_speaker(state: MessagesState) -> str:
        speakers = [m.name for m in state["messages"] if m.name in ("one", "two")]
        return speakers[-1] if speakers else "one"

    builder.add_conditional_edges(START, last_speaker, ["one", "two"])
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    result = parent.invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "", "two goes on", "two here"]
    result = parent.invoke(say("on"), thread())
    assert contents(result["messages"])[4:] == ["on", "", "one goes on", "one again"]
    assert contents(journal(parent, "one")) == [
        "go", "", "two goes on", "[two]\ntwo here", "on", "", "one goes on", "one again",
    ]  # fmt: skip
    assert contents(journal(parent, "two")) == [
        "go", "", "two goes on", "two here", "on", "",
    ]  # fmt: skip


def test_an_agent_inside_a_team_inside_a_graph(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask."""
        return f"they said {interrupt('may I?')}"

    script = Scripted(calls("a", name="ask"), "one", "two")
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent_node(inner(script, tmp_path, [ask])))
    builder.add_edge(START, "helper")
    team = builder.compile(checkpointer=True)
    parent = chain(team=team)
    parent.invoke(say("go"), thread())
    result = parent.invoke(Command(resume="yes"), thread())
    assert contents(result["messages"]) == ["go", "one"]
    result = parent.invoke(say("on"), thread())
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    said = parent.get_state(inside("team", "helper")).values["messages"]
    assert contents(said) == ["go", "", "they said yes", "one", "on", "two"]


class Orders(TypedDict, total=False):
    orders: list[str]
    order: str


def test_parallel_calls_that_ask_are_answered_one_by_one(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask."""
        return f"they said {interrupt(at)}"

    def reply(messages: list[Any]) -> AIMessage:
        last = messages[-1]
        if last.type == "human":
            return calls(str(last.content), name="ask")
        return AIMessage(f"{last.content}!")

    script = Scripted(reply)
    node = agent_node(
        inner(script, tmp_path, [ask]),
        input=lambda state: state["order"],
        output=lambda result: {},
        thread=lambda state: state["order"],
    )
    builder = StateGraph(Orders)
    builder.add_node("clerk", node)
    builder.add_conditional_edges(
        START, lambda s: [Send("clerk", {"order": o}) for o in s["orders"]], ["clerk"]
    )
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    paused = parent.invoke({"orders": ["tea", "milk"]}, thread())
    answers = {i.id: f"yes to {i.value}" for i in paused["__interrupt__"]}
    assert len(answers) == 2
    first = dict([next(iter(answers.items()))])
    paused = parent.invoke(Command(resume=first), thread())
    assert len(paused["__interrupt__"]) == 1
    parent.invoke(Command(resume=answers), thread())
    for order in ("tea", "milk"):
        place = inside(named_namespace("clerk", order))
        said = contents(parent.get_state(place).values["messages"])
        assert said == [order, "", f"they said yes to {order}", f"they said yes to {order}!"]


def test_an_agent_can_be_added_directly(tmp_path: Path) -> None:
    for keeps, known in ((None, 3), (True, 5)):
        script = Scripted(calls("a"), "one", "two")
        parent = chain(helper=inner(script, tmp_path).copy(update={"checkpointer": keeps}))
        parent.invoke(say("go"), thread())
        result = parent.invoke(say("on"), thread())
        assert contents(result["messages"]) == ["go", "", "saw a", "one", "on", "two"]
        assert len(script.requests[-1]) >= known


def test_an_agent_calls_another_as_a_tool(tmp_path: Path) -> None:
    expert = agent_node(inner(Scripted("forty-two"), tmp_path, name="expert"), input=lambda q: q)

    def consult(question: str) -> str:
        """Ask the expert."""
        return str(expert.invoke(question)["messages"][-1].content)

    call = AIMessage("", tool_calls=[{"name": "consult", "args": {"question": "?"}, "id": "c"}])
    script = Scripted(call, "so it is")
    parent = chain(helper=agent_node(inner(script, tmp_path, [consult, look])))
    result = parent.invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "so it is"]
    assert contents(journal(parent)) == ["go", "", "forty-two", "so it is"]


def test_a_workflow_in_the_functional_api_calls_two_agents(tmp_path: Path) -> None:
    agents: dict[str, Any] = {}
    scripts = {"finder": Scripted("found", "found more"), "writer": Scripted("wrote", "wrote more")}
    for name, script in scripts.items():
        agents[name] = agent_node(
            inner(script, tmp_path, name=name),
            input=lambda text: text,
            output=lambda result: result["messages"][-1].content,
            thread=lambda _, name=name: name,  # type: ignore[misc]
        )
    failed: list[str] = []

    @entrypoint(checkpointer=InMemorySaver())
    def workflow(topic: str) -> str:
        found = agents["finder"].invoke(topic)
        if topic == "more" and not failed:
            failed.append(topic)
            raise RuntimeError("in between")
        return str(agents["writer"].invoke(f"write: {found}"))

    assert workflow.invoke("otters", thread()) == "wrote"
    with pytest.raises(RuntimeError, match="in between"):
        workflow.invoke("more", thread())
    assert workflow.invoke(None, thread()) == "wrote more"
    assert contents(scripts["finder"].requests[-1]) == ["otters", "found", "more"]
    assert contents(scripts["writer"].requests[-1]) == [
        "write: found", "wrote", "write: found more",
    ]  # fmt: skip
    assert len(scripts["finder"].requests) == 2


def test_a_parent_whose_state_is_a_model(tmp_path: Path) -> None:
    class State(BaseModel):
        messages: Annotated[list[Any], add_messages]
        topic: str = "tea"

    parent = chain(None, State, helper=agent_node(inner(Scripted("one", "two"), tmp_path)))
    parent.invoke(say("go"), thread())
    result = parent.invoke(say("on"), thread())
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    assert contents(journal(parent)) == ["go", "one", "on", "two"]
