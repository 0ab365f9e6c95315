"""Of hundreds of parallel results the previews alone, and the calls themselves, can be too much."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, overflow_error, say, thread
from langchain_core.messages import AIMessage, BaseMessage

from longthread import LongthreadError, context_policy
from longthread.graphs.compiled import AgentGraph
from longthread.state.counting import count_message

WINDOW = 16_000


def ids(number: int) -> list[str]:
    return [f"call_{i:04d}_abcdefghijklmnopqrstuvwx" for i in range(number)]


def tokens(graph: AgentGraph, request: list[BaseMessage]) -> int:
    return context_policy(graph).tools_tokens + sum(map(count_message, request))


def refusing(graph_of: list[AgentGraph]) -> Any:
    """Answer as a provider does that takes no more than its window."""

    def answer(request: list[BaseMessage]) -> AIMessage:
        if tokens(graph_of[0], request) > WINDOW:
            raise overflow_error(WINDOW, tokens(graph_of[0], request))
        return AIMessage("done")

    return answer


def reader(words: int) -> Any:
    def look(at: str) -> str:
        """Look at something."""
        return f"{at}: " + "some words of text " * words

    return look


@pytest.mark.parametrize(
    ("number", "words", "kept"),
    [
        *((60, 3_000, True), (100, 100, True), (100, 3_000, True)),
        *((200, 3_000, False), (200, 100, False), (200, 20, False), (600, 3, False)),
    ],
)
def test_no_request_is_above_the_window_however_many_results_come_in_at_once(
    number: int, words: int, kept: bool, tmp_path: Path
) -> None:
    graphs: list[AgentGraph] = []
    script = Scripted(calls(*ids(number)), refusing(graphs))
    graph = agent(script, tmp_path, [reader(words)], context_window=WINDOW, memory=None)
    graphs.append(graph)
    journal = graph.invoke(say("go"), thread())["messages"]
    assert journal[-1].content == "done"
    assert len(script.requests) == 2  # nothing was refused
    assert max(tokens(graph, request) for request in script.requests) <= WINDOW * 0.875
    # The journal has it all, and the request either says where each result is or sums them up.
    assert [len(m.content) for m in journal[2:-1]] == [len(reader(words)(i)) for i in ids(number)]
    asked = script.requests[-1]
    assert (len(asked) == number + 2) is kept
    if kept:
        assert all("full text at large_tool_results/t/" in text for text in contents(asked)[2:])
    else:
        assert "Go on." in contents(asked)[0]
        assert contents(asked)[-1] == "go"
        assert "words of text" in contents(script.asked["summary"][-1])[-1]


async def test_so_it_is_asynchronously_and_when_the_summariser_fails(tmp_path: Path) -> None:
    graphs: list[AgentGraph] = []
    script = Scripted(calls(*ids(200)), refusing(graphs), summary=RuntimeError("down"))
    graph = agent(script, tmp_path, [reader(100)], context_window=WINDOW, memory=None)
    graphs.append(graph)
    journal = (await graph.ainvoke(say("go"), thread()))["messages"]
    assert len(journal) == 203
    assert len(script.requests) == 2
    assert tokens(graph, script.requests[-1]) <= WINDOW
    again = (await graph.ainvoke(say("go on"), thread()))["messages"]
    assert contents(again)[-2:] == ["go on", "done"]


@pytest.mark.parametrize(("number", "fits"), [(100, True), (300, False)])
def test_without_compaction_what_cannot_fit_is_refused_by_name_and_the_thread_goes_on(
    number: int, fits: bool, tmp_path: Path
) -> None:
    script = Scripted(calls(*ids(number)), "done")
    options: dict[str, Any] = {"context_window": WINDOW, "memory": None}
    graph = agent(script, tmp_path, [reader(100)], compaction=None, **options)
    if fits:
        graph.invoke(say("go"), thread())
        assert tokens(graph, script.requests[-1]) <= WINDOW
        return
    with pytest.raises(LongthreadError, match=r"last step alone is too long.*messages 2\d,\d\d\d"):
        graph.invoke(say("go"), thread())
    assert len(script.requests) == 1
    state = graph.get_state(thread())
    assert state.next == ("reasoning",)
    assert len(state.values["messages"]) == number + 2
    larger = agent(
        script, tmp_path, [reader(100)], memory=None, context_window=64_000,
        checkpointer=graph.checkpointer,
    )  # fmt: skip
    assert larger.invoke(None, thread())["messages"][-1].content == "done"


def test_arguments_are_cut_short_before_the_step_becomes_a_summary(tmp_path: Path) -> None:
    asked = calls(*ids(20), why="because " * 300)
    script = Scripted(asked, "done")

    def look(at: str, why: str) -> str:
        """Look at something."""
        return f"{at}: " + "some words of text " * 70

    graph = agent(script, tmp_path, [look], context_window=WINDOW, memory=None)
    graph.invoke(say("go"), thread())
    assert script.asked["summary"] == []
    assert len(script.requests[-1]) == 22
    assert tokens(graph, script.requests[-1]) <= WINDOW
