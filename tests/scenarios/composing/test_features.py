"""What LangGraph can do with a node, it can do with an agent in it, and with an agent as it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, look, say, thread
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import CachePolicy, Command, RetryPolicy
from parents import around, chain, inner, inside, journal
from pydantic import BaseModel

from longthread import ThreadContext, ThreadState, agent_node, build_agent_graph


class Shape(BaseModel):
    """A shape that answers take."""

    ok: bool


class ShapedModel(type(Scripted().model)):  # type: ignore[misc]
    """A scripted model that can answer in a schema."""

    def with_structured_output(self, schema: Any, **_: Any) -> Any:
        from langchain_core.runnables import RunnableLambda

        return RunnableLambda(lambda _: {"ok": True})


async def test_streams_show_the_agent_inside_in_every_mode(tmp_path: Path) -> None:
    seen: dict[str, list[Any]] = {}
    modes = ["values", "updates", "messages", "custom", "tasks", "checkpoints", "debug"]
    for at, mode in enumerate(modes):
        script = Scripted(calls("a"), "one two")
        parent = around(script, tmp_path / mode)
        given: Any = {"stream_mode": mode, "subgraphs": True}
        seen[mode] = list(parent.stream(say("go"), thread(str(at)), **given))
        script.answers = [calls("a"), AIMessage("one two")]
        twin = [c async for c in parent.astream(say("go"), thread(f"a{at}"), **given)]
        assert [c[0] for c in twin] == [c[0] for c in seen[mode]]
    names = [(place, *chunk) for place, chunk in seen["updates"]]
    assert names == [
        (("helper",), "recall"),
        (("helper",), "reasoning"),
        (("helper",), "tools"),
        (("helper",), "reasoning"),
        ((), "helper"),
    ]
    said = [(m.type, m.content, where["langgraph_node"]) for _, (m, where) in seen["messages"]]
    assert said[0] == ("ai", "", "reasoning")
    assert said[1][0] == "tool"
    assert "".join(text for _, text, _ in said[2:]) == "one two"
    assert contents(seen["values"][-1][1]["messages"]) == ["go", "one two"]
    assert all(seen[mode] for mode in modes if mode != "custom")


def test_custom_events_of_the_agent_reach_the_parents_stream(tmp_path: Path) -> None:
    big = lambda at: "x" * 100_000  # noqa: E731
    big.__name__, big.__doc__ = "look", "Look."
    parent = around(Scripted(calls("a"), "one"), tmp_path, tools=[big])
    events = [
        e for _, e in parent.stream(say("go"), thread(), stream_mode="custom", subgraphs=True)
    ]
    assert [e["type"] for e in events] == ["eviction"]


def test_the_answer_alone_is_streamed_to_who_does_not_look_inside(tmp_path: Path) -> None:
    parent = around(Scripted(calls("a"), "one two"), tmp_path)
    chunks = list(parent.stream(say("go"), thread(), stream_mode="messages"))
    assert "".join(str(m.content) for m, _ in chunks) == "one two"


def test_a_node_can_be_retried_and_goes_on_where_it_failed(tmp_path: Path) -> None:
    ran: list[str] = []

    def once(at: str) -> str:
        """Do it once."""
        ran.append(at)
        return "did it"

    script = Scripted(calls("a", name="once"), ConnectionError("down"), "one")
    builder = StateGraph(MessagesState)
    builder.add_node(
        "helper",
        agent_node(inner(script, tmp_path, [once])),
        retry_policy=RetryPolicy(initial_interval=0, jitter=False),
    )
    builder.add_edge(START, "helper")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    result = parent.invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert ran == ["a"]


def test_a_model_inside_can_be_retried(tmp_path: Path) -> None:
    policy = RetryPolicy(initial_interval=0, jitter=False)
    parent = around(Scripted(ConnectionError("down"), "one"), tmp_path, retry_policy=policy)
    assert contents(parent.invoke(say("go"), thread())["messages"]) == ["go", "one"]


def test_a_cached_answer_does_not_ask_the_agent_again(tmp_path: Path) -> None:
    script = Scripted("one", "two")
    builder = StateGraph(MessagesState)
    policy: Any = CachePolicy(key_func=lambda state: str([m.content for m in state["messages"]]))
    builder.add_node("helper", agent_node(inner(script, tmp_path)), cache_policy=policy)
    builder.add_edge(START, "helper")
    parent: Any = builder.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())
    for name in ("a", "b"):
        result = parent.invoke(say("go"), thread(name))
        assert contents(result["messages"]) == ["go", "one"]
    result = parent.invoke(say("on"), thread("b"))
    # What another thread had been answered is part of this one: the agent is told of it.
    assert contents(script.requests[-1]) == ["go", "one", "on"]


def test_nodes_that_an_application_adds_to_the_agent_can_be_cached(tmp_path: Path) -> None:
    looked: list[str] = []

    def lookup(state: Any) -> dict[str, Any]:
        looked.append(state["topic"])
        return {"facts": f"facts about {state['topic']}"}

    class Extended(ThreadState, total=False):
        topic: str
        facts: str

    script = Scripted("one")
    builder = build_agent_graph(
        script.model,
        workspace=tmp_path,
        memory=None,
        state_schema=Extended,
        system_prompt=lambda state, runtime: f"You know {state['facts']}.",
    )
    policy: Any = CachePolicy(key_func=lambda state: str(state["topic"]))
    builder.add_node("lookup", lookup, cache_policy=policy)
    builder.edges.discard((START, "recall"))
    builder.add_edge(START, "lookup")
    builder.add_edge("lookup", "recall")
    graph: Any = builder.compile(checkpointer=InMemorySaver(), cache=InMemoryCache())
    for name in ("a", "b"):
        graph.invoke({**say("go"), "topic": "tea"}, thread(name))
    assert looked == ["tea"]
    assert script.requests[-1][0].content == "You know facts about tea."


class Desk(ThreadState, total=False):
    desk: str
    count: int


def test_keys_of_an_extended_state_go_in_and_out_where_they_are_named(tmp_path: Path) -> None:
    def where(desk: Annotated[str, InjectedState("desk")]) -> str:
        """Say where the desk is."""
        return f"desk {desk}"

    call = AIMessage("", tool_calls=[{"name": "where", "args": {}, "id": "c"}])
    script = Scripted(call, "one")
    node = agent_node(
        inner(script, tmp_path, [where], state_schema=Desk),
        input=lambda state: {"messages": state["messages"], "desk": state["place"], "count": 1},
        output=lambda result: {"messages": result["messages"], "place": result["desk"] + "!"},
    )

    class Office(MessagesState):
        place: str

    parent = chain(None, Office, helper=node)
    result = parent.invoke({**say("go"), "place": "9b"}, thread())
    assert result["place"] == "9b!"
    assert contents(journal(parent)) == ["go", "", "desk 9b", "one"]


@dataclass
class Caller:
    user_id: str
    trace: str = ""


@pytest.mark.parametrize("context", [Caller("ann"), ThreadContext(user_id="ann")])
def test_the_parents_context_reaches_the_agent(context: Any, tmp_path: Path) -> None:
    files = tmp_path / "workspace/users"
    for user in ("ann", "bob"):
        path = files / user / "agents/agent/MEMORY.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"- I am {user}.\n")
    script = Scripted("one")
    from longthread import MemoryConfig

    node = agent_node(inner(script, tmp_path, memory=MemoryConfig()))
    builder = StateGraph(MessagesState, context_schema=type(context))
    builder.add_node("helper", node)
    builder.add_edge(START, "helper")
    parent: Any = builder.compile(checkpointer=InMemorySaver())
    parent.invoke(say("go"), thread(), context=context)
    assert "I am ann." in str(script.requests[0][0].content)
    assert "I am bob." not in str(script.requests[0][0].content)


def test_a_structured_response_comes_out_of_the_agent(tmp_path: Path) -> None:
    from longthread import create_agent_graph

    shaped = create_agent_graph(
        ShapedModel(script=Scripted("one")), workspace=tmp_path, memory=None, response_format=Shape
    )

    class State(MessagesState):
        structured_response: Any

    parent = chain(None, State, helper=agent_node(shaped))
    result = parent.invoke(say("go"), thread())
    assert result["structured_response"] == {"ok": True}
    assert contents(result["messages"]) == ["go", "one"]


def test_an_agent_that_stops_before_its_tools_stops_the_parent(tmp_path: Path) -> None:
    parent = around(Scripted(calls("a"), "one"), tmp_path, interrupt_before=["tools"])
    parent.invoke(say("go"), thread())
    assert parent.get_state(thread()).next == ("helper",)
    state = parent.get_state(inside("helper"))
    assert state.next == ("tools",)
    edited = state.values["messages"][-1].model_copy(update={"tool_calls": calls("b").tool_calls})
    edited.tool_calls[0]["id"] = "a"
    parent.update_state(state.config, {"messages": [edited]}, as_node="reasoning")
    result = parent.invoke(Command(resume=True), thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert contents(journal(parent)) == ["go", "", "saw b", "one"]


async def test_an_interrupted_stream_of_the_parent_leaves_the_agent_resumable(
    tmp_path: Path,
) -> None:
    harmless = StructuredTool.from_function(look, metadata={"idempotent": True})
    parent = around(Scripted(calls("a"), "one"), tmp_path, tools=[harmless])
    stream = parent.astream(say("go"), thread(), stream_mode="updates", subgraphs=True)
    async for _, chunk in stream:
        if "reasoning" in chunk:
            break
    await stream.aclose()
    result = await parent.ainvoke(None, thread())
    assert contents(result["messages"]) == ["go", "one"]
    assert contents(journal(parent)) == ["go", "", "saw a", "one"]


def test_the_drawn_parent_shows_the_agent(tmp_path: Path) -> None:
    parent = around(Scripted("one"), tmp_path)
    drawn = parent.get_graph(xray=True)
    assert {"helper:recall", "helper:reasoning", "helper:tools"} <= drawn.nodes.keys()
    assert "helper" in parent.get_graph().nodes
    assert [name for name, _ in parent.get_subgraphs()] == ["helper"]


def test_dumped_messages_and_dicts_are_taken_in_once(tmp_path: Path) -> None:
    parent = around(Scripted("one", "two"), tmp_path)
    parent.invoke({"messages": [{"role": "user", "content": "go"}]}, thread())
    result = parent.invoke({"messages": [HumanMessage("on").model_dump()]}, thread())
    assert contents(result["messages"]) == ["go", "one", "on", "two"]
    assert contents(journal(parent)) == ["go", "one", "on", "two"]


def test_an_agent_keeps_working_in_a_graph_of_its_own(tmp_path: Path) -> None:
    alone = agent(Scripted("one", "two", "three"), tmp_path, memory=None)
    parent = chain(helper=agent_node(alone))
    parent.invoke(say("go"), thread())
    alone.invoke(say("alone"), thread())
    parent.invoke(say("on"), thread())
    messages: list[AnyMessage] = alone.get_state(thread()).values["messages"]
    assert contents(messages) == ["alone", "two"]
    assert contents(journal(parent)) == ["go", "one", "on", "three"]
