"""What a tool, a prompt or reference material does to the state it is shown stays its own."""

import logging
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import InjectedState, ToolRuntime
from langgraph.types import Command

from longthread import (
    ConfigurationError,
    MemoryConfig,
    ThreadState,
    context_policy,
    project_context,
)
from longthread.state.journal import append_messages, as_journal
from longthread.state.lent import lent


def spoil(state: Any) -> None:
    """Change everything that can be reached."""
    messages = state["messages"]
    for message in messages:
        if isinstance(message.content, list):
            message.content[0]["text"] = "spoiled"
        else:
            message.content = "spoiled"
        message.additional_kwargs["spoiled"] = True
        if isinstance(message, AIMessage):
            message.response_metadata["spoiled"] = True
            for call in message.tool_calls:
                call["args"]["at"] = "spoiled"
    messages.append(HumanMessage("spoiled"))
    messages.reverse()


@tool
def by_state(at: Any, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look, and spoil the state."""
    spoil(state)
    at["more"] = "spoiled"
    return "saw it"


@tool
def by_field(at: Any, messages: Annotated[list[Any], InjectedState("messages")]) -> str:
    """Look, and spoil the messages."""
    spoil({"messages": messages})
    at["more"] = "spoiled"
    return "saw it"


@tool
def by_runtime(at: Any, runtime: ToolRuntime[Any, Any]) -> str:
    """Look, and spoil the state."""
    spoil(runtime.state)
    at["more"] = "spoiled"
    return "saw it"


def prompt(state: Any, _: Any) -> str:
    spoil(state)
    return "Be brief."


def material(state: Any, _: Any) -> str:
    spoil(state)
    return "Some facts."


def asked(name: str) -> AIMessage:
    return AIMessage(
        [{"type": "text", "text": "let me see"}],
        tool_calls=[
            {"name": name, "args": {"at": {"place": [i]}}, "id": f"{name}-{i}"} for i in range(2)
        ],
    )


TOOLS = [by_state, by_field, by_runtime]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_tools_prompts_and_material_change_nothing_but_their_own(
    durability: Any, is_async: bool, tmp_path: Path
) -> None:
    script = Scripted(*[asked(t.name) for t in TOOLS], "done")
    graph = agent(script, tmp_path, TOOLS, system_prompt=prompt, reference=[material], memory=None)
    for _ in range(2):
        script.answers = [*[asked(t.name) for t in TOOLS], "done"]
        given: Any = {"messages": [HumanMessage([{"type": "text", "text": "go"}])]}
        if is_async:
            result = await graph.ainvoke(given, thread(), durability=durability)
        else:
            result = graph.invoke(given, thread(), durability=durability)
    stored = graph.get_state(thread()).values["messages"]
    for journal in (result["messages"], stored, *script.requests):
        assert "spoiled" not in repr(journal)
    assert len(stored) == 2 * (2 + 3 * 3)
    assert stored == result["messages"]
    policy = context_policy(graph)
    again = project_context(graph.get_state(thread()).values, policy)
    assert [m.content for m in again if isinstance(m, ToolMessage)] == ["saw it"] * 12


def test_a_list_that_a_tool_returns_and_goes_on_filling_is_copied(tmp_path: Path) -> None:
    found: list[Any] = []

    def collect(at: str) -> list[Any]:
        """Collect something."""
        found.append({"type": "text", "text": at})
        return found

    script = Scripted(calls("a", name="collect"), calls("b", name="collect"), "done")
    journal = agent(script, tmp_path, [collect], memory=None).invoke(say("go"), thread())
    assert [len(m.content) for m in journal["messages"] if m.type == "tool"] == [1, 2]


def test_each_message_is_copied_once_and_no_more_than_is_new_with_each_step() -> None:
    journal = as_journal([HumanMessage(f"{i}", id=f"{i}") for i in range(100)])
    first = lent({"messages": journal})["messages"]
    longer = append_messages(journal, [HumanMessage("more", id="more")])
    second = lent({"messages": longer})["messages"]
    assert all(a is b for a, b in zip(first, second, strict=False))
    assert second == list(longer)
    assert not any(a is b for a, b in zip(second, longer, strict=True))


def test_branches_and_edits_get_copies_of_what_they_hold() -> None:
    journal = as_journal([HumanMessage("a", id="a")])
    one = append_messages(journal, [HumanMessage("b", id="b")])
    lent({"messages": one})
    two = append_messages(journal, [HumanMessage("c", id="c"), HumanMessage("d", id="d")])
    assert contents(lent({"messages": two})["messages"]) == ["a", "c", "d"]
    edited = append_messages(one, [HumanMessage("B", id="b")])
    assert contents(lent({"messages": edited})["messages"]) == ["a", "B"]
    shorter = append_messages(edited, [HumanMessage("a2", id="a")])
    assert contents(lent({"messages": shorter})["messages"]) == ["a2", "B"]
    assert lent({"other": 1}) == {"other": 1}


def parent(node: Any) -> Any:
    builder = StateGraph(ThreadState)
    builder.add_node("node", node)
    builder.add_node("after", lambda _: {"messages": [HumanMessage("after", id="after")]})
    builder.add_edge(START, "node")
    builder.add_edge("node", "after")
    return builder.compile()


def test_what_a_node_of_ones_own_appends_in_place_counts_if_it_is_returned_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def returns(state: Any) -> Any:
        state["messages"].append(HumanMessage("mine", id="mine"))
        return state

    def forgets(state: Any) -> Any:
        state["messages"].append(HumanMessage("mine", id="mine"))

    with caplog.at_level(logging.WARNING, "longthread"):
        assert contents(parent(returns).invoke(say("go"))["messages"]) == ["go", "mine", "after"]
        assert contents(parent(forgets).invoke(say("go"))["messages"]) == ["go", "after"]
    assert "put into the state's list in place" in caplog.text


def test_anything_else_that_is_done_to_the_list_in_place_is_an_error() -> None:
    def drops(state: Any) -> Any:
        del state["messages"][0]

    with pytest.raises(ConfigurationError, match=r"changed in place, from 1 messages to 0"):
        parent(drops).invoke(say("go"))

    def replaces(state: Any) -> Any:
        state["messages"][-1] = HumanMessage("mine", id="mine")

    with pytest.raises(ConfigurationError, match=r"changed in place, from 1 messages to 1"):
        parent(replaces).invoke(say("go"))


@pytest.mark.parametrize("memory", [None, MemoryConfig(background=False)])
def test_a_reader_of_the_stream_who_appends_does_not_keep_the_agent_going(
    memory: MemoryConfig | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Scripted("done", facts="- A fact.")
    graph = agent(script, tmp_path, memory=memory)
    config: RunnableConfig = {**thread(), "recursion_limit": 50}
    with caplog.at_level(logging.WARNING, "longthread"):
        for state in graph.stream(say("go"), config, stream_mode="values"):
            state["messages"].append(HumanMessage("mine"))
    assert len(script.requests) == 1
    assert contents(graph.get_state(thread()).values["messages"]) == ["go", "done"]
    assert caplog.text.count("put into the state's list in place") <= 2  # not with every look


def test_what_is_said_after_something_was_appended_in_place_is_kept() -> None:
    journal = as_journal([HumanMessage("a", id="a")])
    journal.append(HumanMessage("mine"))
    assert contents(as_journal(journal)) == ["a"]
    journal.pop()
    longer = append_messages(journal, [HumanMessage("b", id="b")])
    longer.append(HumanMessage("mine"))
    assert contents(as_journal(longer)) == ["a", "b"]


def test_a_caller_may_ask_what_would_be_sent_with_one_message_more(tmp_path: Path) -> None:
    graph = agent(Scripted("done"), tmp_path, memory=None)
    result = graph.invoke(say("go"), thread())
    result["messages"].append(HumanMessage("and?"))
    assert contents(project_context(result, context_policy(graph)))[-1] == "and?"


def test_the_result_of_a_call_is_the_callers(tmp_path: Path) -> None:
    script = Scripted("done")
    graph = agent(script, tmp_path, memory=None)
    result = graph.invoke(say("go"), thread())
    messages: list[BaseMessage] = result["messages"]
    messages.append(HumanMessage("and?"))
    again = graph.invoke({"messages": messages}, thread())
    assert contents(again["messages"]) == ["go", "done", "and?", "done"]


def test_a_model_that_keeps_its_answer_and_changes_it_changes_no_earlier_one(
    tmp_path: Path,
) -> None:
    kept = AIMessage("first", id="kept")

    def answer(_: list[BaseMessage]) -> AIMessage:
        kept.content = "second" if script.requests[1:] else "first"
        return kept

    script = Scripted(answer)
    graph = agent(script, tmp_path, memory=None)
    seen = graph.invoke(say("go"), thread())["messages"]
    graph.invoke(say("go"), thread())
    assert contents(seen) == ["go", "first"]
    stored = graph.get_state(thread()).values["messages"]
    assert contents(stored) == ["go", "first", "go", "second"]


@pytest.mark.parametrize("name", ["by_runtime", "thread_history"])
def test_what_describes_a_call_for_approval_changes_nothing(name: str, tmp_path: Path) -> None:
    def describe(call: Any, state: Any, _: Any) -> str:
        spoil(state)
        return f"May it run {call['name']}?"

    def asks(**arguments: Any) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c"}])

    script = Scripted(asks(at={}) if name == "by_runtime" else asks(), "done")
    allowed: Any = {name: {"allowed_decisions": ["approve"], "description": describe}}
    graph = agent(script, tmp_path, TOOLS, interrupt_on=allowed)
    assert "__interrupt__" in graph.invoke(say("go"), thread())
    journal = graph.invoke(Command(resume={"type": "approve"}), thread())["messages"]
    assert contents(journal)[-1] == "done"
    assert "spoiled" not in repr(graph.get_state(thread()).values["messages"])
    assert "spoiled" not in repr(script.requests[-1])
