"""What an agent sees of threads through its own tools, and what it never sees."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic import Field
from typing_extensions import TypedDict

from longthread import MemoryConfig, ThreadContext, create_agent_graph
from longthread.graphs.scripted import ScriptedModel

ANN, BOB = ThreadContext(user_id="ann"), ThreadContext(user_id="bob")


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield InMemorySaver()
        return
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
        yield opened


@pytest.fixture
async def asaver(tmp_path: Path) -> AsyncIterator[Any]:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
        yield opened


def call(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c"}])


def asked(
    saver: Any,
    tmp_path: Path,
    name: str,
    context: ThreadContext = ANN,
    at: str = "now",
    **arguments: Any,
) -> str:
    """Have the agent call a tool in a thread, and return what it was told."""
    graph = agent(Scripted(call(name, **arguments), "done"), tmp_path, [], checkpointer=saver)
    answer = graph.invoke(say("look it up"), thread(at), context=context)
    (result,) = [m for m in answer["messages"][-3:] if isinstance(m, ToolMessage)]
    return str(result.content)


def talk(
    saver: Any,
    tmp_path: Path,
    name: str,
    *said: str,
    context: ThreadContext = ANN,
    answer: str = "ok",
) -> None:
    graph = agent(Scripted(answer), tmp_path, [], checkpointer=saver)
    for text in said:
        graph.invoke(say(text), thread(name), context=context)


class Binding(ScriptedModel):
    """Notes the names of the tools that each request shows."""

    shown: list[list[str]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self.bind(names=[convert_to_openai_tool(t)["function"]["name"] for t in tools])

    def _generate(self, messages: Any, *args: Any, names: Any = (), **kwargs: Any) -> ChatResult:
        self.shown.append(list(names))
        return super()._generate(messages, *args, **kwargs)


def test_past_threads_are_found_and_read(saver: Any, tmp_path: Path) -> None:
    talk(saver, tmp_path, "past", "My sister lives in Oslo.", "She likes it there.")
    found = asked(saver, tmp_path, "thread_search", query="oslo")
    assert found.splitlines() == [
        "1 match for 'oslo', newest first:",
        "[past #0 user] My sister lives in Oslo.",
    ]
    read = asked(saver, tmp_path, "thread_history", thread_id="past", before=3)
    assert read.splitlines() == [
        "Thread 'past', messages 0 to 2 of 4 (counted from 0):",
        "#0 user: My sister lives in Oslo.",
        "#1 assistant: ok",
        "#2 user: She likes it there.",
    ]


def test_the_present_call_is_not_an_answer_to_itself(saver: Any, tmp_path: Path) -> None:
    talk(saver, tmp_path, "now", "look it up, in Oslo")
    found = asked(saver, tmp_path, "thread_search", query="look it up")
    assert found.splitlines()[1:] == ["[now #0 user] look it up, in Oslo"]
    nothing = asked(saver, tmp_path, "thread_search", query="zebra crossing")
    assert nothing == "No matches for 'zebra crossing' in past threads."


def test_without_a_name_the_present_thread_is_read(saver: Any, tmp_path: Path) -> None:
    talk(saver, tmp_path, "now", "first", "second")
    assert asked(saver, tmp_path, "thread_history", last_n=3).splitlines() == [
        "Thread 'now', messages 3 to 5 of 6 (counted from 0):",
        "#3 assistant: ok",
        "#4 user: look it up",
        '#5 assistant: [calls thread_history {"last_n": 3}]',
        "[older messages: before=3]",
    ]


def test_another_users_threads_are_not_found_and_not_read(saver: Any, tmp_path: Path) -> None:
    talk(saver, tmp_path, "anns", "a secret word")
    assert "No matches" in asked(saver, tmp_path, "thread_search", BOB, "b", query="secret")
    refused = asked(saver, tmp_path, "thread_history", BOB, "b", thread_id="anns")
    assert refused == "Error: there is no thread 'anns' of this user and agent"
    assert "No matches" in asked(
        saver,
        tmp_path,
        "thread_search",
        ThreadContext(agent="other", user_id="ann"),
        "o",
        query="sec",
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"query": "x", "match_mode": ""}, "match_mode=''"),
        ({"query": "x", "matchMode": "fuzzy"}, "match_mode='fuzzy'"),
        ({"query": "x", "max_results": 0}, "max_results"),
        ({"query": "x", "maxResults": 101}, "max_results"),
        ({}, "query"),
    ],
)
def test_a_search_that_cannot_be_made_is_explained(
    arguments: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    said = asked(InMemorySaver(), tmp_path, "thread_search", **arguments)
    assert said.startswith("Error: ")
    assert problem in said


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"last_n": 0}, "last_n"),
        ({"lastN": 101}, "last_n"),
        ({"before": -1}, "before=-1"),
        ({"before": "no-such-id"}, "no message with this id"),
        ({"message": 7}, "the thread has messages 0 to 1"),
        ({"thread_id": "nowhere"}, "no thread 'nowhere'"),
        ({"thread_id": ""}, "no thread ''"),
        ({"thread_id": "no|where"}, "no thread 'no|where'"),
    ],
)
def test_a_page_that_is_not_there_is_explained(
    arguments: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    said = asked(InMemorySaver(), tmp_path, "thread_history", **arguments)
    assert said.startswith("Error: ")
    assert problem in said


def test_both_spellings_and_nulls_are_understood(saver: Any, tmp_path: Path) -> None:
    talk(saver, tmp_path, "past", "one word", "another word")
    found = asked(saver, tmp_path, "thread_search", query="word one", matchMode="all", maxResults=5)
    assert "[past #0 user] one word" in found
    read = asked(saver, tmp_path, "thread_history", threadId="past", lastN=1, before=None)
    assert "message 3 of 4" in read
    assert "before=3" in read
    assert "#2 user: another word" in asked(
        saver, tmp_path, "thread_history", threadId="past", lastN=1, before="3"
    )


def test_one_huge_message_is_paged_to_its_end(tmp_path: Path) -> None:
    text = "".join(f"{n:06d} 数据🚀\n" for n in range(8_000)) + "the very end"
    saver = InMemorySaver()
    talk(saver, tmp_path, "past", text)
    listed = asked(saver, tmp_path, "thread_history", thread_id="past", lastN=1, before=1)
    assert listed.startswith(
        "Thread 'past', message 0 of 2 (counted from 0):\n#0 user: 000000 数据🚀"
    )
    assert "more characters: message=0, char_offset=" in listed
    parts, offset, number = [], 0, 0
    while True:
        part = asked(
            saver,
            tmp_path,
            "thread_history",
            at=f"read-{number}",
            thread_id="past",
            message=0,
            char_offset=offset,
        )
        title, rest = part.split("\n", 1)
        more = re.search(r"\n\[read on with message=0, char_offset=(\d+)\]$", rest)
        parts.append(rest[: more.start()] if more else rest)
        if more is None:
            break
        offset, number = int(more[1]), number + 1
        assert title.startswith("#0 user, characters ")
    assert "".join(parts) == text
    assert number > 3
    beyond = asked(
        saver,
        tmp_path,
        "thread_history",
        at="beyond",
        thread_id="past",
        message=0,
        char_offset=10**9,
    )
    assert beyond.endswith("nothing is left from there on.")


def test_many_long_messages_are_shown_in_part_within_a_page(tmp_path: Path) -> None:
    saver = InMemorySaver()
    talk(saver, tmp_path, "past", *(f"message {n}: " + "数据 " * 3_000 for n in range(20)))
    shown = asked(saver, tmp_path, "thread_history", thread_id="past", last_n=100)
    assert len(shown) < 12_000
    assert "#39 assistant: ok" in shown
    hits = asked(saver, tmp_path, "thread_search", at="n2", query="数据", max_results=100)
    assert len(hits.splitlines()) == 21
    assert len(hits) < 8_000


def test_the_tools_are_there_only_with_a_checkpointer(tmp_path: Path) -> None:
    both = {"thread_search", "thread_history"}
    expectations: list[tuple[dict[str, Any], set[str]]] = [
        ({"checkpointer": InMemorySaver()}, both),
        ({}, set()),
        ({"checkpointer": InMemorySaver(), "memory": None}, set()),
        ({"checkpointer": InMemorySaver(), "memory": MemoryConfig(tools=False)}, set()),
        ({"checkpointer": InMemorySaver(), "memory": MemoryConfig(enabled=False)}, set()),
    ]
    for options, expected in expectations:
        model = Binding(script=Scripted("ok"))
        graph = create_agent_graph(model, workspace=tmp_path / "workspace", **options)
        graph.invoke(say("hi"), thread())
        assert set(model.shown[0]) & both == expected


def test_a_call_of_a_tool_that_is_not_shown_is_answered(tmp_path: Path) -> None:
    graph = agent(
        Scripted(call("thread_search", query="x"), "done"), tmp_path, [], checkpointer=None
    )
    result = graph.invoke(say("look"))["messages"][-2]
    assert result.content == (
        "Error: past threads are not kept here: the agent has no checkpointer"
    )


def test_a_tool_of_the_applications_own_keeps_its_name(tmp_path: Path) -> None:
    @tool
    def thread_search(query: str) -> str:
        """Search somewhere else."""
        return "found elsewhere"

    model = Binding(script=Scripted(call("thread_search", query="x"), "done"))
    graph = create_agent_graph(
        model, [thread_search], workspace=tmp_path / "workspace", checkpointer=InMemorySaver()
    )
    answer = graph.invoke(say("look"), thread())
    assert answer["messages"][-2].content == "found elsewhere"
    names = model.shown[0]
    assert names.count("thread_search") == 1
    assert any(name.startswith("thread_search_") for name in names)


async def test_an_asynchronous_agent_uses_the_same_tools(asaver: Any, tmp_path: Path) -> None:
    first = agent(Scripted("ok"), tmp_path, [], checkpointer=asaver)
    await first.ainvoke(say("My sister lives in Oslo."), thread("past"), context=ANN)
    script = Scripted(call("thread_search", query="oslo"), call("thread_history"), "done")
    graph = agent(script, tmp_path, [], checkpointer=asaver)
    answer = await graph.ainvoke(say("where?"), thread("now"), context=ANN)
    results = [str(m.content) for m in answer["messages"] if isinstance(m, ToolMessage)]
    assert "[past #0 user] My sister lives in Oslo." in results[0]
    assert "Thread 'now', messages 0 to 3 of 4" in results[1]


def test_an_agent_inside_another_graph_reads_its_own_journal(saver: Any, tmp_path: Path) -> None:
    class State(TypedDict):
        asked: str

    script = Scripted(
        "a first answer", call("thread_search", query="first"), call("thread_history")
    )
    inner = create_agent_graph(script.model, workspace=tmp_path / "workspace", checkpointer=True)
    told: list[str] = []

    def helper(state: State) -> dict[str, Any]:
        answer = inner.invoke({"messages": [HumanMessage(state["asked"])]})
        told.extend(str(m.content) for m in answer["messages"] if isinstance(m, ToolMessage))
        return {}

    builder = StateGraph(State)
    builder.add_node("helper", helper)
    builder.add_edge(START, "helper")
    builder.add_edge("helper", END)
    graph: Any = builder.compile(checkpointer=saver)
    graph.invoke({"asked": "one"}, thread())
    script.answers.append(AIMessage("done"))
    graph.invoke({"asked": "two"}, thread())
    assert "[t|helper #1 assistant] a first answer" in told[0]
    assert told[1].startswith("Thread 't|helper', messages 0 to 5 of 6")
    reader = Scripted(call("thread_history", thread_id="t|helper", last_n=2), "done")
    outside = agent(reader, tmp_path, [], checkpointer=saver)
    read = outside.invoke(say("read"), thread("other"))["messages"][-2].content
    assert read.startswith("Thread 't|helper', messages 6 to 7 of 8")


def test_results_are_never_evicted(tmp_path: Path) -> None:
    saver = InMemorySaver()
    talk(saver, tmp_path, "past", "needle " + "x" * 50_000)
    graph = agent(
        Scripted(call("thread_history", thread_id="past", message=0), "done"),
        tmp_path,
        [],
        checkpointer=saver,
        context_window=16_000,
    )
    graph.invoke(say("read"), thread("now"))
    assert not graph.get_state(thread("now")).values.get("evictions")
