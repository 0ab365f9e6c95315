"""`agent_node`: what is new goes into the agent, the answer comes out, nothing is lost between."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, calls, contents, say, thread
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, Send, interrupt
from parents import around, chain, inner, inside, journal
from typing_extensions import TypedDict

from longthread import CompactionConfig, LongthreadError, compact_thread
from longthread.graphs.agent_node import agent_node
from longthread.graphs.subthread import named_namespace
from longthread.state.errors import ConfigurationError


def test_only_the_answer_comes_out_and_only_what_is_new_goes_in(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "one", "two")
    parent = around(script, tmp_path)
    parent.invoke(say("go"), thread())
    result = parent.invoke(say("on"), thread())
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    assert [m.name for m in result["messages"]] == [None, "helper", None, "helper"]
    assert contents(journal(parent)) == ["go", "", "saw a", "one", "on", "two"]
    assert [contents(r) for r in script.requests][-1] == ["go", "", "saw a", "one", "on"]


async def test_the_asynchronous_twin_does_the_same(tmp_path: Path) -> None:
    parent = around(Scripted(calls("a"), "one", "two"), tmp_path)
    await parent.ainvoke(say("go"), thread())
    result = await parent.ainvoke(say("on"), thread())
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    assert contents(journal(parent)) == ["go", "", "saw a", "one", "on", "two"]


def test_a_parent_without_a_checkpointer_tells_everything_every_time(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "one", "two")
    parent = around(script, tmp_path, False)
    messages = parent.invoke(say("go"))["messages"]
    result = parent.invoke({"messages": [*messages, ("user", "on")]})
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    assert contents(script.requests[-1]) == ["go", "one", "on"]


def test_a_node_works_outside_any_graph(tmp_path: Path) -> None:
    node = agent_node(inner(Scripted("one"), tmp_path))
    assert contents(node.invoke(say("go"))["messages"]) == ["one"]


def test_what_the_parent_edits_is_edited_and_what_it_removes_stays(tmp_path: Path) -> None:
    script = Scripted("one", "two", "three")
    parent = around(script, tmp_path)
    first = parent.invoke(say("go"), thread())["messages"]
    edited = [HumanMessage("go!", id=first[0].id), AIMessage("ONE", id=first[1].id, name="helper")]
    parent.update_state(thread(), {"messages": edited})
    parent.invoke(say("on"), thread())
    assert contents(journal(parent)) == ["go!", "ONE", "on", "two"]
    assert journal(parent)[1].name is None
    parent.update_state(thread(), {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES)]})
    parent.invoke(say("more"), thread())
    assert contents(journal(parent)) == ["go!", "ONE", "on", "two", "more", "three"]


def test_the_application_can_remove_a_message_from_the_agent_too(tmp_path: Path) -> None:
    node = agent_node(
        inner(Scripted("one", "two"), tmp_path),
        input=lambda state: [*map(RemoveMessage, state["gone"]), *state["messages"]],
        output=lambda result: {"messages": result["messages"]},
    )

    class State(MessagesState):
        gone: list[str]

    parent = chain(schema=State, helper=node)
    first = parent.invoke({**say("secret"), "gone": []}, thread())["messages"][0]
    given = {"messages": [RemoveMessage(str(first.id)), HumanMessage("on")], "gone": [first.id]}
    parent.invoke(given, thread())
    assert contents(journal(parent)) == ["one", "on", "two"]


def test_several_agents_are_told_what_the_others_said_as_something_said_to_them(
    tmp_path: Path,
) -> None:
    writer, critic = Scripted("A text.", "Better."), Scripted("Too short.", "Fine.")
    parent = chain(
        writer=agent_node(inner(writer, tmp_path)), critic=agent_node(inner(critic, tmp_path))
    )
    parent.invoke(say("write"), thread())
    result = parent.invoke(say("again"), thread())
    assert [m.name for m in result["messages"]] == [
        None, "writer", "critic", None, "writer", "critic",
    ]  # fmt: skip
    told = [(m.type, m.content) for m in critic.requests[0]]
    assert told == [("human", "write"), ("human", "[writer]\nA text.")]
    told = [(m.type, m.content) for m in writer.requests[1]]
    assert told == [
        ("human", "write"),
        ("ai", "A text."),
        ("human", "[critic]\nToo short."),
        ("human", "again"),
    ]


def test_attachments_of_another_agent_come_along_and_its_calls_do_not(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    said = AIMessage([{"type": "text", "text": "Look."}, image], name="painter", id="p")
    call = {"name": "paint", "args": {}, "id": "c"}
    quiet = AIMessage("", name="painter", tool_calls=[call], id="q")
    script = Scripted("Nice.")
    parent = around(script, tmp_path)
    result = ToolMessage("painted", tool_call_id="c", id="r")
    parent.invoke({"messages": [HumanMessage("go"), quiet, result, said]}, thread())
    assert [m.type for m in journal(parent)] == ["human", "human", "ai"]
    assert journal(parent)[1].content == [{"type": "text", "text": "[painter]\nLook."}, image]


def test_compaction_survives_between_calls_and_works_on_demand(tmp_path: Path) -> None:
    script = Scripted(lambda _: "word " * 800, summary="## Intent\nGo.")
    parent = around(
        script, tmp_path, context_window=4_000, compaction=CompactionConfig(keep_tokens=600)
    )
    for n in range(8):
        parent.invoke(say(f"question {n}"), thread())
    record = parent.get_state(inside("helper")).values["compaction"]
    assert record["generation"] >= 1
    assert "Go." in str(script.requests[-1][0].content)
    result = compact_thread(parent, inside("helper"))
    assert result.new_size > record["size"]


def test_a_tool_inside_asks_and_the_parent_answers(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask."""
        return f"they said {interrupt('may I?')}"

    parent = around(Scripted(calls("a", name="ask"), "one", "two"), tmp_path, tools=[ask])
    paused = parent.invoke(say("go"), thread())
    assert [i.value for i in paused["__interrupt__"]] == ["may I?"]
    result = parent.invoke(Command(resume="yes"), thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert contents(journal(parent)) == ["go", "", "they said yes", "one"]
    parent.invoke(say("on"), thread())
    assert contents(journal(parent))[4:] == ["on", "two"]


def test_an_application_may_write_to_the_parent_while_a_tool_inside_waits(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask."""
        return f"they said {interrupt('may I?')}"

    parent = around(Scripted(calls("a", name="ask"), "one"), tmp_path, tools=[ask])
    parent.invoke(say("go"), thread())
    parent.update_state(thread(), {"messages": [("user", "by the way")]})
    result = parent.invoke(Command(resume="yes"), thread())
    assert contents(result["messages"]) == ["go", "by the way", "one"]
    assert "they said yes" in contents(journal(parent))


def test_a_new_message_instead_of_an_answer_settles_the_call(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask, when it is b."""
        return f"did {at}" if at == "a" else str(interrupt("?"))

    parent = around(Scripted(calls("a", "b", name="ask"), "one"), tmp_path, tools=[ask])
    parent.invoke(say("go"), thread())
    result = parent.invoke(say("never mind"), thread())
    assert contents(result["messages"]) == ["go", "never mind", "one"]
    said = contents(journal(parent))
    assert said[:2] == ["go", ""]
    assert "did a" in said  # what finished before is not lost
    assert any(text.startswith("[interrupted") for text in said)


def test_a_call_that_failed_goes_on_where_it_failed(tmp_path: Path) -> None:
    script = Scripted(calls("a"), RuntimeError("down"), "one", "two")
    parent = around(script, tmp_path)
    with pytest.raises(RuntimeError, match="down"):
        parent.invoke(say("go"), thread())
    result = parent.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert contents(journal(parent)) == ["go", "", "saw a", "one"]
    parent.invoke(say("on"), thread())
    assert contents(journal(parent))[4:] == ["on", "two"]


def test_a_parent_that_fails_after_the_agent_does_not_ask_it_again(tmp_path: Path) -> None:
    script = Scripted("one", "two")

    def after(state: Any) -> Any:
        if not failed:
            failed.append(1)
            raise RuntimeError("after")
        return {}

    failed: list[int] = []
    node = agent_node(inner(script, tmp_path))

    def twice(state: Any, config: RunnableConfig) -> Any:
        return {**node.invoke(state, config), **after(state)}

    parent = chain(helper=twice)
    with pytest.raises(RuntimeError, match="after"):
        parent.invoke(say("go"), thread())
    result = parent.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert len(script.requests) == 1


@pytest.mark.parametrize("resume", [None, Command(resume="x")])
def test_a_parent_that_stops_before_the_agent_tells_it_what_is_new(
    resume: Any, tmp_path: Path
) -> None:
    parent = around(Scripted("one", "two"), tmp_path)
    parent.interrupt_before_nodes = ["helper"]
    for said, answer in (("go", "one"), ("on", "two")):
        parent.invoke(say(said), thread())
        result = parent.invoke(resume, thread())
        assert contents(result["messages"])[-2:] == [said, answer]
    assert contents(journal(parent)) == ["go", "one", "on", "two"]


def test_going_back_in_the_parent_goes_back_in_the_agent(tmp_path: Path) -> None:
    script = Scripted("one", "two", "instead", "then")
    parent = around(script, tmp_path)
    parent.invoke(say("go"), thread())
    first = parent.get_state(thread()).config
    parent.invoke(say("on"), thread())
    result = parent.invoke(say("rather"), first)
    assert contents(result["messages"]) == ["go", "one", "rather", "instead"]
    assert contents(script.requests[-1]) == ["go", "one", "rather"]
    parent.invoke(say("so"), thread())
    assert contents(script.requests[-1]) == ["go", "one", "rather", "instead", "so"]


def test_asking_again_from_before_the_agent_asks_the_same_question(tmp_path: Path) -> None:
    script = Scripted("one", "two", "another two")
    parent = around(script, tmp_path)
    parent.invoke(say("go"), thread())
    parent.invoke(say("on"), thread())
    before = next(s for s in parent.get_state_history(thread()) if s.next == ("helper",))
    result = parent.invoke(None, before.config)
    assert contents(result["messages"]) == ["go", "one", "on", "another two"]
    assert contents(script.requests[-1]) == ["go", "one", "on"]


def test_one_agent_in_two_branches_keeps_two_threads(tmp_path: Path) -> None:
    script = Scripted(lambda messages: f"heard {messages[-1].content}")
    agent = inner(script, tmp_path)
    builder = StateGraph(MessagesState)
    for name in ("left", "right"):
        builder.add_node(name, agent_node(agent))
        builder.add_edge(START, name)
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    parent.invoke(say("go"), thread())
    result = parent.invoke(say("on"), thread())
    assert sorted(contents(result["messages"])[-2:]) == ["heard on", "heard on"]
    for name, other in (("left", "right"), ("right", "left")):
        said = contents(journal(parent, name))
        assert said == ["go", "heard go", f"[{other}]\nheard go", "on", "heard on"]


class Cities(TypedDict, total=False):
    cities: list[str]
    city: str
    reports: Annotated[list[Any], lambda old, new: [*old, *new]]


def _fan_out(tmp_path: Path, thread_of: Any) -> Any:
    script = Scripted(lambda messages: f"{len(messages)}: {messages[-1].content}")
    node = agent_node(
        inner(script, tmp_path),
        input=lambda state: state["city"],
        output=lambda result: {"reports": [result["messages"][-1].content]},
        thread=thread_of,
    )
    builder = StateGraph(Cities)
    builder.add_node("reporter", node)
    builder.add_conditional_edges(
        START, lambda s: [Send("reporter", {"city": c}) for c in s["cities"]], ["reporter"]
    )
    return builder.compile(checkpointer=InMemorySaver())


def test_parallel_calls_of_one_node_have_threads_by_name(tmp_path: Path) -> None:
    parent = _fan_out(tmp_path, lambda state: state["city"])
    result = parent.invoke({"cities": ["Oslo", "Rome", "Lima"]}, thread())
    assert sorted(result["reports"]) == ["1: Lima", "1: Oslo", "1: Rome"]
    result = parent.invoke({"cities": ["Rome", "Oslo"]}, thread())
    assert sorted(result["reports"][3:]) == ["3: Oslo", "3: Rome"]


def test_parallel_calls_that_would_share_a_thread_are_refused(tmp_path: Path) -> None:
    parent = _fan_out(tmp_path, None)
    with pytest.raises(LongthreadError, match="thread=lambda state") as caught:
        parent.invoke({"cities": ["Oslo", "Rome", "Lima"]}, thread())
    assert caught.value.code == "SESSION_BUSY"


def test_an_agent_in_a_loop_is_told_every_time_what_is_new(tmp_path: Path) -> None:
    script = Scripted("one", "two", "three")

    def check(state: MessagesState) -> Command[str]:
        said = [m for m in state["messages"] if m.type == "human"]
        if len(said) == 3:
            return Command(goto="__end__")
        return Command(goto="helper", update={"messages": [("user", f"again {len(said)}")]})

    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent_node(inner(script, tmp_path)))
    builder.add_node("check", check, destinations=("helper", "__end__"))
    builder.add_edge(START, "helper")
    builder.add_edge("helper", "check")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    result = parent.invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "one", "again 1", "two", "again 2", "three"]
    assert contents(journal(parent)) == contents(result["messages"])


def test_a_result_that_is_for_the_user_is_the_answer(tmp_path: Path) -> None:
    from langchain_core.tools import tool

    @tool(return_direct=True)
    def show(at: str) -> str:
        """Show."""
        return f"shown {at}"

    parent = around(Scripted(calls("a", name="show"), "two"), tmp_path, tools=[show])
    result = parent.invoke(say("go"), thread())
    assert [(m.type, m.content) for m in result["messages"]] == [
        ("human", "go"),
        ("ai", "shown a"),
    ]
    parent.invoke(say("on"), thread())
    assert [m.type for m in journal(parent)] == ["human", "ai", "tool", "human", "ai"]


@pytest.mark.parametrize("added", ["as a node", "directly"])
def test_a_parent_whose_channels_have_our_names_and_other_types_is_left_alone(
    added: str, tmp_path: Path
) -> None:
    from longthread import ThreadState

    ours = sorted(set(ThreadState.__annotations__) - {"messages"})
    fields: Any = {"messages": Annotated[list[Any], add_messages], **dict.fromkeys(ours, int)}
    make: Any = TypedDict
    schema = make("Colliding", fields, total=False)
    agent = inner(Scripted(calls("a"), "one", "two"), tmp_path)
    node = agent_node(agent) if added == "as a node" else agent.copy({"checkpointer": True})
    parent = chain(schema=schema, helper=node)
    given = {name: at for at, name in enumerate(ours)}
    for said in ("go", "on"):
        result = parent.invoke({**say(said), **given}, thread())
    assert {name: result[name] for name in ours} == given
    calls_of_its_own = ["", "saw a"] if added == "directly" else []
    assert contents(result["messages"]) == ["go", *calls_of_its_own, "one", "on", "two"]


def test_a_parent_without_messages_is_told_what_to_say(tmp_path: Path) -> None:
    class Task(TypedDict):
        task: str

    parent = chain(schema=Task, helper=agent_node(inner(Scripted("one"), tmp_path)))
    with pytest.raises(ConfigurationError, match="input=lambda state"):
        parent.invoke({"task": "go"}, thread())


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not a graph made by create_agent_graph"):
        agent_node(StateGraph(MessagesState))


def test_what_is_sealed_is_not_told_again(tmp_path: Path) -> None:
    soon = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)
    script = Scripted(lambda messages: f"answer to {messages[-1].content}")
    parent = around(script, tmp_path, compaction=soon, journal_window=12)
    told: list[int] = []
    for turn in range(30):
        given = say(f"question {turn}")
        stream = parent.stream(given, thread(), stream_mode="updates", subgraphs=True)
        told += [len(c["recall"]["messages"]) for _, c in stream if c.get("recall")]
    values = parent.get_state(inside("helper")).values
    assert values["sealed"]["count"] > 20
    assert len(values["messages"]) < 20
    assert told == [1] * 30
    assert len(parent.get_state(thread()).values["messages"]) == 60


def test_a_named_thread_can_be_compacted_on_demand(tmp_path: Path) -> None:
    script = Scripted("word " * 100, summary="## Intent\nGo.")
    node = agent_node(inner(script, tmp_path), thread=lambda state: "one")
    parent = chain(helper=node)
    for turn in range(3):
        parent.invoke(say(f"question {turn}"), thread())
    place = inside(named_namespace("helper", "one"))
    assert compact_thread(parent, place).new_size > 0


def test_a_node_whose_name_is_a_number_is_refused(tmp_path: Path) -> None:
    parent = StateGraph(MessagesState)
    parent.add_node("1", agent_node(inner(Scripted("done"), tmp_path)))
    parent.add_edge(START, "1")
    graph: Any = parent.compile(checkpointer=InMemorySaver())
    with pytest.raises(ConfigurationError, match="name it by a word"):
        graph.invoke(say("go"), thread())


@pytest.mark.parametrize("given", [None, {"desk": "9"}])
def test_input_that_tells_the_agent_nothing_is_refused(tmp_path: Path, given: Any) -> None:
    agent = inner(Scripted("done"), tmp_path)
    parent: Any = StateGraph(MessagesState)
    parent.add_node("agent", agent_node(agent, input=lambda _: given))
    parent.add_edge(START, "agent")
    with pytest.raises(ConfigurationError, match="a dict with 'messages'"):
        parent.compile(checkpointer=InMemorySaver()).invoke(say("go"), thread())


def test_a_number_may_name_a_thread(tmp_path: Path) -> None:
    script = Scripted("done")
    node: Any = agent_node(inner(script, tmp_path), thread=lambda _: 7)  # type: ignore[arg-type, return-value]
    parent: Any = StateGraph(MessagesState)
    parent.add_node("agent", node)
    parent.add_edge(START, "agent")
    graph = parent.compile(checkpointer=InMemorySaver())
    for _ in range(2):
        graph.invoke(say("go"), thread())
    assert contents(script.requests[-1]) == ["go", "done", "go"]
