"""The agent graph as a whole: what runs, in which order, and what it leaves in the thread."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, look, nodes_run, say, thread
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from longthread import (
    LongthreadError,
    MemoryConfig,
    ThreadState,
    build_agent_graph,
    context_policy,
    create_agent_graph,
    project_context,
)
from longthread.state.body import INTERRUPTED
from longthread.state.errors import ConfigurationError, ThreadBudgetError
from longthread.state.validity import violations


def test_a_quiet_step_runs_exactly_reasoning_and_tools(tmp_path: Path) -> None:
    script = Scripted(calls("a"), calls("b"), calls("c"), "done")
    graph = agent(script, tmp_path, memory=None)
    assert nodes_run(graph, say("go"), thread()) == [
        "recall",
        *["reasoning", "tools"] * 3,
        "reasoning",
    ]
    # One superstep each, and the input's: nothing runs hidden from the stream.
    steps = [c.metadata["step"] for c in graph.get_state_history(thread()) if c.metadata]
    assert max(steps) == 8


def test_a_quiet_step_with_parallel_calls_runs_exactly_reasoning_and_tools(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b", "c"), "done")
    graph = agent(script, tmp_path, memory=None)
    expected = ["recall", "reasoning", *["tools"] * 3, "reasoning"]
    assert nodes_run(graph, say("go"), thread()) == expected
    steps = [c.metadata["step"] for c in graph.get_state_history(thread()) if c.metadata]
    assert max(steps) == 4


def test_the_end_of_a_call_flushes_and_the_first_one_consolidates(tmp_path: Path) -> None:
    graph = agent(Scripted("hello", facts="- Kim likes tea."), tmp_path)
    first = nodes_run(graph, say("I am Kim, I like tea"), thread())
    assert first == ["recall", "reasoning", "flush", "consolidation"]
    assert nodes_run(graph, say("hi again"), thread()) == ["recall", "reasoning", "flush"]


def test_the_journal_keeps_everything_that_was_said(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a"), "first", "second"), tmp_path)
    graph.invoke(say("one"), thread())
    result = graph.invoke(say("two"), thread())
    assert contents(result["messages"]) == ["one", "", "saw a", "first", "two", "second"]
    assert set(result) == {"messages"}


async def test_the_asynchronous_twin_does_the_same(tmp_path: Path) -> None:
    def journal(result: dict[str, Any]) -> list[tuple[str, str]]:
        return [(m.type, str(m.content)) for m in result["messages"]]

    answers = (calls("a", "b"), calls("c"), "done")
    sync = agent(Scripted(*answers, facts="- Fact."), tmp_path / "sync").invoke(say("go"), thread())
    script = Scripted(*answers, facts="- Fact.")
    graph = agent(script, tmp_path / "async")
    assert journal(await graph.ainvoke(say("go"), thread())) == journal(sync)
    assert len(script.asked["facts"]) == 1


async def test_asynchronous_tools_and_prompts_are_awaited(tmp_path: Path) -> None:
    async def slow_look(at: str) -> str:
        """Look at something, taking time."""
        return f"slowly saw {at}"

    async def prompt(state: Any, runtime: Any) -> str:
        return f"You have {len(state['messages'])} messages."

    script = Scripted(calls("a", "b", name="slow_look"), "done")
    graph = agent(script, tmp_path, [slow_look], system_prompt=prompt)
    result = await graph.ainvoke(say("go"), thread())
    assert contents(result["messages"])[2:4] == ["slowly saw a", "slowly saw b"]
    prompts = [request[0].content for request in script.requests]
    assert prompts == ["You have 1 messages.", "You have 4 messages."]


def test_an_id_that_the_provider_repeats_overwrites_nothing(tmp_path: Path) -> None:
    graph = agent(Scripted(AIMessage("one", id="msg_1"), AIMessage("two", id="msg_1")), tmp_path)
    graph.invoke(say("a"), thread())
    result = graph.invoke(say("b"), thread())
    assert contents(result["messages"]) == ["a", "one", "b", "two"]


def test_call_ids_that_the_provider_repeats_get_their_own_results(tmp_path: Path) -> None:
    script = Scripted(calls("call_0"), calls("call_0"), calls("call_0", "call_0"), "done")
    graph = agent(script, tmp_path)
    result = graph.invoke(say("go"), thread())
    messages = result["messages"]
    results = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    assert len(results) == len(set(results)) == 4
    assert all(violations(request, messages) == [] for request in script.requests)


def test_what_goes_wrong_in_a_tool_is_a_message_that_the_model_can_read(tmp_path: Path) -> None:
    def broken(at: str) -> str:
        """Fail."""
        raise RuntimeError(f"no {at} today")

    unreadable = AIMessage(
        "", invalid_tool_calls=[invalid_tool_call(name="look", args="{at:", id="x", error="bad")]
    )
    script = Scripted(
        calls("a", name="broken"), calls("b", name="unknown"), calls("c", bad=1), unreadable, "done"
    )
    result = agent(script, tmp_path, [look, broken]).invoke(say("go"), thread())
    errors = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert [m.status for m in errors] == ["error", "error", "success", "error"]
    assert "no a today" in errors[0].content
    assert "unknown is not a valid tool" in errors[1].content
    assert "could not be read" in errors[3].content


def test_an_error_of_the_model_is_the_callers_and_the_thread_resumes(tmp_path: Path) -> None:
    script = Scripted(calls("a"), ValueError("the model is ill"), "well again")
    graph = agent(script, tmp_path)
    with pytest.raises(ValueError, match="the model is ill"):
        graph.invoke(say("go"), thread())
    state = graph.get_state(thread())
    assert state.next == ("reasoning",)
    assert contents(state.values["messages"]) == ["go", "", "saw a"]
    result = graph.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "saw a", "well again"]


class Noticing(InMemorySaver):
    """A checkpointer that says when the result of a tool call is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.stored = threading.Event()

    def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
        """Store, then say so."""
        super().put_writes(config, writes, *args, **kwargs)
        if "ToolMessage" in repr(writes):
            self.stored.set()


@pytest.mark.parametrize("idempotent", [True, False])
def test_after_a_crash_only_calls_for_which_that_is_harmless_run_again(
    idempotent: bool, tmp_path: Path
) -> None:
    ran: list[str] = []
    broken = True
    saver = Noticing()

    def work(at: str) -> str:
        """Work, unless the process dies."""
        ran.append(at)
        if at == "b" and broken:
            assert saver.stored.wait(60), "the other call's result"
            raise KeyboardInterrupt
        return f"worked {at}"

    tool = StructuredTool.from_function(work, metadata={"idempotent": idempotent})
    script = Scripted(calls("a", "b", name="work"), "done")
    graph = agent(script, tmp_path, [tool], checkpointer=saver)
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(say("go"), thread())
    broken = False
    result = graph.invoke(None, thread())
    second = "worked b" if idempotent else INTERRUPTED
    assert contents(result["messages"])[2:] == ["worked a", second, "done"]
    assert sorted(ran) == (["a", "b", "b"] if idempotent else ["a", "b"])


def test_a_question_that_was_answered_before_a_crash_is_not_acted_on_twice(
    tmp_path: Path,
) -> None:
    paid: list[str] = []

    def pay(at: str) -> str:
        """Pay, once it is approved; the first time the process dies right after."""
        answer = interrupt({"pay": at})
        paid.append(answer)
        raise KeyboardInterrupt

    graph = agent(Scripted(calls("a", name="pay"), "done"), tmp_path, [pay])
    graph.invoke(say("go"), thread())
    graph.invoke(None, thread())  # nobody has answered: it asks again
    assert len(graph.get_state(thread()).interrupts) == 1
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(Command(resume="yes"), thread())
    result = graph.invoke(None, thread())
    assert contents(result["messages"])[2:] == [INTERRUPTED, "done"]
    assert paid == ["yes"]


def test_a_tool_may_ask_twice(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask two questions."""
        return f"{interrupt('first')} {interrupt('second')}"

    graph = agent(Scripted(calls("a", name="ask"), "done"), tmp_path, [ask])
    graph.invoke(say("go"), thread())
    graph.invoke(Command(resume="one"), thread())
    result = graph.invoke(Command(resume="two"), thread())
    assert contents(result["messages"])[2:] == ["one two", "done"]


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
def test_a_call_that_was_never_begun_runs_when_the_thread_is_resumed(
    where: str, tmp_path: Path
) -> None:
    node = "tools" if where == "interrupt_before" else "reasoning"
    script = Scripted(calls("a"), "done")
    saver = InMemorySaver()
    graph = agent(script, tmp_path, checkpointer=saver, **{where: [node]})
    graph.invoke(say("go"), thread())
    graph = agent(script, tmp_path, checkpointer=saver)  # as another process would
    result = graph.invoke(None, thread())
    assert contents(result["messages"])[2:] == ["saw a", "done"]


def test_going_back_to_before_a_call_runs_it_again(tmp_path: Path) -> None:
    ran: list[str] = []

    def work(at: str) -> str:
        """Work."""
        ran.append(at)
        return "worked"

    graph = agent(Scripted(calls("a", name="work"), "done"), tmp_path, [work])
    graph.invoke(say("go"), thread())
    before = next(s for s in graph.get_state_history(thread()) if s.next == ("tools",))
    result = graph.invoke(None, before.config)
    assert contents(result["messages"])[2:] == ["worked", "done"]
    assert ran == ["a", "a"]


def test_a_checkpointer_that_cannot_record_a_call_stops_the_run_before_it(
    tmp_path: Path,
) -> None:
    class Full(InMemorySaver):
        full = False

        def put_writes(self, *args: Any, **kwargs: Any) -> None:
            if self.full:
                raise OSError("no space left on device")
            super().put_writes(*args, **kwargs)

    ran: list[str] = []

    def work(at: str) -> str:
        """Work."""
        ran.append(at)
        return "worked"

    saver = Full()
    script = Scripted(calls("a", name="work"), "done")
    graph = agent(script, tmp_path, [work], checkpointer=saver, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    saver.full = True
    with pytest.raises(OSError, match="no space left"):
        graph.invoke(None, thread())
    assert ran == []
    saver.full = False
    result = graph.invoke(None, thread())
    assert contents(result["messages"])[2:] == ["worked", "done"]


def test_interrupts_inside_parallel_tools_resume_as_usual(tmp_path: Path) -> None:
    ran: list[str] = []

    def ask(at: str) -> str:
        """Ask the user."""
        ran.append(at)
        return f"{at}: {interrupt({'question': at})}" if at != "b" else "b: no question"

    graph = agent(Scripted(calls("a", "b", "c", name="ask"), "done"), tmp_path, [ask])
    graph.invoke(say("go"), thread())
    pending = {i.value["question"]: i.id for i in graph.get_state(thread()).interrupts}
    assert list(pending) == ["a", "c"]
    resume: Any = Command(resume={pending["a"]: "yes"})
    graph.invoke(resume, thread())
    pending = {i.value["question"]: i.id for i in graph.get_state(thread()).interrupts}
    assert list(pending) == ["c"]
    result = graph.invoke(Command(resume="no"), thread())
    assert contents(result["messages"])[2:] == ["a: yes", "b: no question", "c: no", "done"]
    assert ran.count("b") == 1


def test_a_new_question_settles_what_an_interruption_left_open(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b"), "done")
    graph = agent(script, tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    assert graph.get_state(thread()).next == ("tools", "tools")
    result = graph.invoke(say("never mind"), thread())
    kinds = [m.type for m in result["messages"]]
    assert kinds == ["human", "ai", "human", "tool", "tool", "ai"]
    assert [m.type for m in script.requests[-1]] == ["human", "ai", "tool", "tool", "human"]
    assert violations(script.requests[-1], result["messages"]) == []


def test_calls_that_the_application_answered_are_not_run(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a", "b"), "done"), tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    own = ToolMessage("by hand", tool_call_id="a", name="look")
    graph.update_state(thread(), {"messages": [own]}, as_node="reasoning")
    result = graph.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "by hand", "saw b", "done"]


def test_an_edited_call_runs_as_edited(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a"), "done"), tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    answer = graph.get_state(thread()).values["messages"][-1]
    edited = answer.model_copy(
        update={"tool_calls": [{**answer.tool_calls[0], "args": {"at": "elsewhere"}}]}
    )
    graph.update_state(thread(), {"messages": [edited]})
    result = graph.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "saw elsewhere", "done"]


def test_a_tool_can_return_a_command(tmp_path: Path) -> None:
    class Counted(ThreadState, total=False):
        visits: int

    def visit(at: str) -> Any:
        """Visit."""
        done = ToolMessage("visited", tool_call_id=at, name="visit")
        return Command(update={"visits": 7, "messages": [done]})

    script = Scripted(calls("a", name="visit"), "done")
    graph = agent(script, tmp_path, [visit], state_schema=Counted)
    result = graph.invoke(say("go"), thread())
    assert result["visits"] == 7
    assert contents(result["messages"]) == ["go", "", "visited", "done"]


def test_messages_in_every_form_that_langgraph_takes(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    for given in ("text", ("user", "pair"), {"role": "user", "content": "dict"}):
        graph.invoke({"messages": given}, thread())
        graph.invoke({"messages": [given]}, thread())
    messages = graph.get_state(thread()).values["messages"]
    humans = [m for m in messages if isinstance(m, HumanMessage)]
    assert contents(humans) == ["text", "text", "pair", "pair", "dict", "dict"]
    ids = [m.id for m in messages]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert [m.id for m in graph.get_state(thread()).values["messages"]] == ids


def test_applications_can_remove_messages(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    graph.invoke({"messages": [HumanMessage("secret", id="s")]}, thread())
    graph.update_state(thread(), {"messages": [RemoveMessage(id="s")]})
    result = graph.invoke(say("hello"), thread())
    assert contents(result["messages"]) == ["ok", "hello", "ok"]


def test_projection_of_the_final_state_is_what_the_model_was_sent(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "done")
    graph = agent(script, tmp_path, system_prompt="Be brief.")
    graph.invoke(say("go"), thread())
    state = graph.get_state(thread()).values
    projected = project_context(state, context_policy(graph))
    assert projected[:-1] == script.requests[-1]
    assert projected[0].content == "Be brief."


def test_input_and_output_carry_only_the_messages(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path)
    assert set(graph.get_input_jsonschema()["properties"]) == {"messages"}
    assert set(graph.get_output_jsonschema()["properties"]) == {"messages", "structured_response"}


def test_a_structured_response_comes_with_the_answer(tmp_path: Path) -> None:
    class Verdict(BaseModel):
        good: bool

    class Structured(ScriptedModelWithSchema):
        pass

    script = Scripted("it is good")
    model = Structured(script=script)
    graph = create_agent_graph(
        model, checkpointer=InMemorySaver(), workspace=tmp_path, response_format=Verdict
    )
    result = graph.invoke(say("well?"), thread())
    assert result["structured_response"] == {"good": True}
    assert contents(result["messages"]) == ["well?", "it is good"]


def test_an_extended_state_schema_keeps_its_own_keys(tmp_path: Path) -> None:
    class Mine(ThreadState, total=False):
        ticket: str

    graph = agent(Scripted("ok"), tmp_path, state_schema=Mine)
    result = graph.invoke({**say("hi"), "ticket": "T-1"}, thread())
    assert result["ticket"] == "T-1"


def test_a_callers_own_context_schema_gets_the_defaults(tmp_path: Path) -> None:
    class Context(TypedDict):
        tenant: str

    graph = agent(Scripted("ok", facts="- Fact."), tmp_path, context_schema=Context)
    graph.invoke(say("hi"), thread(), context={"tenant": "x"})
    assert (tmp_path / "workspace/users/_default/agents/agent/memory").is_dir()


def test_users_and_agents_are_kept_apart(tmp_path: Path) -> None:
    graph = agent(Scripted("ok", facts="- Fact."), tmp_path)
    graph.invoke(say("hi"), thread("1"), context={"user_id": "ann"})
    graph.invoke(say("hi"), thread("2"), context={"user_id": "bob", "agent": "helper"})
    users = tmp_path / "workspace/users"
    assert (users / "ann/agents/agent/memory").is_dir()
    assert (users / "bob/agents/helper/memory").is_dir()
    assert not (users / "_default").exists()


def test_overhead_that_leaves_no_room_is_named(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path, system_prompt="word " * 3_000, context_window=2_000)
    with pytest.raises(ThreadBudgetError, match=r"system \d,\d+, tools \d+") as caught:
        graph.invoke(say("hi"), thread())
    assert caught.value.code == "NO_ROOM_FOR_CONVERSATION"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": None}, ["model=None", "provider:model"]),
        ({"model": "gpt-5"}, ["model='gpt-5'", "openai:gpt-5"]),
        ({"model": "claude-sonnet-4-5"}, ["as 'anthropic:claude-sonnet-4-5'"]),
        ({"model": "nowhere:x"}, ["nowhere:x"]),
        ({"name": "../x"}, ["../x"]),
        ({"model": " openai: "}, ["write 'provider:model', as 'openai:openai'"]),
        ({"context_window": 0}, ["context_window=0", "in tokens"]),
        ({"context_window": "16k"}, ["context_window='16k'", "in tokens"]),
        ({"compaction": False}, ["compaction=False", "CompactionConfig(…), or None"]),
        ({"masking": {"turns": 3}}, ["masking={'turns': 3}", "MaskingConfig(…)"]),
        ({"tools": look}, ["pass a list of tools"]),
        ({"tools": ["look"]}, ["tools[0]='look'"]),
        ({"tools": [look, look]}, ["two of them are called 'look'"]),
        ({"system_prompt": 3}, ["system_prompt=3"]),
        ({"reference": "rules"}, ["reference='rules'", "pass a list"]),
        ({"reference": [3]}, ["reference[0]=3"]),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_at_once(
    arguments: dict[str, Any], words: list[str], tmp_path: Path
) -> None:
    given: dict[str, Any] = {"model": Scripted().model, "workspace": tmp_path, **arguments}
    with pytest.raises(LongthreadError) as caught:
        create_agent_graph(**given)
    assert all(word in str(caught.value) for word in words), caught.value
    assert caught.value.code


def test_without_langchain_other_providers_say_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(ConfigurationError, match=r"nowhere:x.*install 'langchain'"):
        create_agent_graph("nowhere:x", workspace=tmp_path)


def test_a_policy_can_only_be_read_from_an_agent_graph() -> None:
    with pytest.raises(ConfigurationError, match="not a graph made by create_agent_graph"):
        context_policy(object())


def test_build_returns_a_graph_to_add_to(tmp_path: Path) -> None:
    builder = build_agent_graph(Scripted("ok").model, workspace=tmp_path, memory=None)
    builder.add_node("audit", lambda _: {"messages": [("ai", "seen")]})
    graph = builder.compile()
    assert "audit" in graph.get_graph().nodes
    assert context_policy(builder) is context_policy(graph)


def test_the_drawn_graph_shows_every_node_and_labels_every_conditional_edge(tmp_path: Path) -> None:
    drawn = agent(Scripted(), tmp_path).get_graph()
    assert set(drawn.nodes) == {
        "__start__",
        "recall",
        "seal",
        "eviction",
        "masking",
        "flush",
        "compaction",
        "reasoning",
        "tools",
        "overflow_retry",
        "consolidation",
        "__end__",
    }
    conditional = [edge for edge in drawn.edges if edge.conditional]
    assert len(conditional) >= 20
    assert all(edge.data for edge in conditional)


def test_state_is_plain_json_apart_from_messages(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "done", facts="- Fact.")
    graph = agent(script, tmp_path)
    graph.invoke(say("go"), thread())
    graph.invoke(say("go"), thread())
    values = dict(graph.get_state(thread()).values)
    values.pop("messages")
    assert {"usage", "memory"} <= set(values)
    assert json.loads(json.dumps(values)) == values


def test_a_result_that_is_for_the_user_ends_the_call(tmp_path: Path) -> None:
    @tool(return_direct=True)
    def report(at: str) -> str:
        """Report to the user."""
        return f"report {at}"

    for memory, last in ((MemoryConfig(background=False), "consolidation"), (None, "reasoning")):
        script = Scripted(calls("a", "b", name="report"), "not asked")
        graph = agent(script, tmp_path, [report, look], memory=memory)
        config = thread(last)
        assert nodes_run(graph, say("go"), config)[-1] == last
        state = graph.get_state(config)
        assert contents(state.values["messages"]) == ["go", "", "report a", "report b"]
        assert state.next == ()
    script = Scripted(calls("a", name="report"), "done")
    script.answers[0] = AIMessage(
        "",
        tool_calls=[
            {"name": "report", "args": {"at": "a"}, "id": "a"},
            {"name": "look", "args": {"at": "b"}, "id": "b"},
        ],
    )
    result = agent(script, tmp_path, [report, look]).invoke(say("go"), thread("mixed"))
    assert result["messages"][-1].content == "done"


def test_a_model_without_tools_works_and_is_refused_with_some(tmp_path: Path) -> None:
    model = FakeListChatModel(responses=["hi"])
    graph = create_agent_graph(model, workspace=tmp_path, memory=None)
    assert graph.invoke(say("hello"))["messages"][-1].content == "hi"
    with pytest.raises(ConfigurationError, match="FakeListChatModel cannot call tools"):
        create_agent_graph(model, [look], workspace=tmp_path)


@pytest.mark.parametrize("saver", [None, InMemorySaver()])
def test_an_agent_with_its_own_saver_is_a_node_of_any_parent(
    saver: InMemorySaver | None, tmp_path: Path
) -> None:
    inner = agent(Scripted(calls("a"), "done"), tmp_path, memory=None)
    builder = StateGraph(MessagesState)
    builder.add_node("inner", inner)
    builder.add_edge(START, "inner")
    outer: Any = builder.compile(checkpointer=saver)
    result = outer.invoke(say("go"), thread("parent"))
    assert contents(result["messages"]) == ["go", "", "saw a", "done"]


def test_a_step_is_on_disk_before_the_next_one_starts(tmp_path: Path) -> None:
    saver = InMemorySaver()

    def committed(messages: list[BaseMessage]) -> AIMessage:
        stored = saver.get_tuple(thread())
        assert stored is not None
        steps.append(stored.metadata["step"])
        return calls(f"c{len(steps)}") if len(steps) < 3 else AIMessage("done")

    steps: list[int] = []
    agent(Scripted(committed), tmp_path, checkpointer=saver, memory=None).invoke(
        say("go"), thread()
    )
    assert steps == [1, 3, 5]


def test_a_context_that_names_nobody_is_refused(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    with pytest.raises(ConfigurationError, match=r"context='bob': pass ThreadContext\(user_id="):
        graph.invoke(say("hi"), thread(), context="bob")


def test_memory_off_writes_nothing(tmp_path: Path) -> None:
    for memory in (None, MemoryConfig(enabled=False), MemoryConfig(hooks=False)):
        script = Scripted(calls("a"), "done", facts="- Fact.")
        graph = agent(script, tmp_path, memory=memory)
        assert nodes_run(graph, say("go"), thread())[-1] == "reasoning"
        assert script.asked["facts"] == []
    assert not list((tmp_path / "workspace").rglob("*.md"))


class ScriptedModelWithSchema(type(Scripted().model)):  # type: ignore[misc]
    """A scripted model that can answer in a schema."""

    def with_structured_output(self, schema: Any, **_: Any) -> Any:
        from langchain_core.runnables import RunnableLambda

        return RunnableLambda(lambda _: dict.fromkeys(schema.model_fields, True))


def test_our_own_tools_may_run_again_after_a_crash(tmp_path: Path) -> None:
    node: Any = agent(Scripted(), tmp_path).builder.nodes["tools"].runnable
    ours = node.runner.tools_by_name
    own = {name for name, made in ours.items() if (made.metadata or {}).get("idempotent")}
    assert own == set(ours) - {"look"}


def test_an_error_of_a_tool_whose_result_is_for_the_user_is_for_the_model(tmp_path: Path) -> None:
    @tool(return_direct=True)
    def report(at: str) -> str:
        """Report to the user."""
        return f"report {at}"

    wrong = AIMessage("", tool_calls=[{"name": "report", "args": {"to": "a"}, "id": "a"}])
    script = Scripted(wrong, calls("b", name="report"), "not asked")
    graph = agent(script, tmp_path, [report])
    answered = contents(graph.invoke(say("go"), thread())["messages"])
    assert answered[-1] == "report b"
    assert "Field required" in contents(script.requests[1])[-1]
    assert graph.get_state(thread()).next == ()


def test_a_prompt_that_is_none_is_left_out_and_anything_else_but_text_is_refused(
    tmp_path: Path,
) -> None:
    script = Scripted("ok")
    agent(script, tmp_path, system_prompt=lambda *_: None).invoke(say("go"), thread())
    assert contents(script.requests[-1]) == ["go"]
    for wrong in (["a", "list"], 5):
        graph = agent(script, tmp_path, system_prompt=lambda *_, made=wrong: made)
        with pytest.raises(ConfigurationError, match="return a text"):
            graph.invoke(say("go"), thread())


async def test_what_is_asynchronous_is_not_shown_as_an_object(tmp_path: Path) -> None:
    async def later(*_: Any) -> str:
        return "from afar"

    for option in ({"system_prompt": later}, {"reference": [later]}):
        script = Scripted("ok")
        graph = agent(script, tmp_path, **option)
        with pytest.raises(ConfigurationError, match="later is asynchronous"):
            await asyncio.to_thread(graph.invoke, say("go"), thread())
        await graph.ainvoke(say("go"), thread("other"))
        assert "from afar" in contents(script.requests[-1])[0]


def test_reference_material_that_is_none_is_left_out(tmp_path: Path) -> None:
    script = Scripted("ok")
    agent(script, tmp_path, reference=[lambda *_: None]).invoke(say("go"), thread())
    assert contents(script.requests[-1]) == ["go"]


@pytest.mark.parametrize("schema", [MessagesState, BaseModel, dict])
def test_a_state_schema_without_our_channels_is_refused(tmp_path: Path, schema: Any) -> None:
    with pytest.raises(ConfigurationError, match="ThreadState"):
        agent(Scripted("ok"), tmp_path, state_schema=schema)


def test_a_state_schema_that_means_something_else_by_our_names_is_refused(tmp_path: Path) -> None:
    class Own(ThreadState, total=False):
        usage: str  # type: ignore[misc]

    with pytest.raises(ConfigurationError, match="'usage' is not that of ThreadState"):
        agent(Scripted("ok"), tmp_path, state_schema=Own)


def test_an_agent_that_wants_no_checkpointer_works_in_a_graph_that_has_one(tmp_path: Path) -> None:
    script = Scripted(calls("a"), "done")
    inner = agent(script, tmp_path, checkpointer=False)
    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", inner)
    builder.add_edge(START, "agent")
    parent = builder.compile(checkpointer=InMemorySaver())
    for _ in range(2):
        result = parent.invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "", "saw a", "done", "go", "done"]
    assert violations(script.requests[-1], result["messages"], to_send=True) == []


def test_a_notebook_draws_the_graph_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: Any, **__: Any) -> bytes:
        raise AssertionError("a server on the net was asked")

    monkeypatch.setattr("langchain_core.runnables.graph.Graph.draw_mermaid_png", asked)
    shown = agent(Scripted(), tmp_path)._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/vnd.mermaid"] in shown["text/markdown"]
    assert "reasoning" in shown["text/vnd.mermaid"]
