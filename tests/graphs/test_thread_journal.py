"""The journal of threads that agents have worked on: registered, owned, sealed, nested."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph, add_messages
from typing_extensions import TypedDict

from longthread import (
    CompactionConfig,
    LongthreadError,
    ThreadContext,
    ThreadJournal,
    create_agent_graph,
)
from longthread.stores import LocalWorkspace, Owner
from longthread.stores.journal.registry import read_record, record_names

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as opened:
        yield opened


def journal(saver: Any, tmp_path: Path, **owner: Any) -> ThreadJournal:
    return ThreadJournal(saver, tmp_path / "workspace", **owner)


def plain(saver: Any, script: Any = lambda m: "ok") -> Any:
    """A graph as anybody makes one: `add_messages`, no agent of ours."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    graph = StateGraph(State)
    graph.add_node("answer", lambda state: {"messages": [AIMessage(script(state["messages"]))]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(checkpointer=saver)


def test_a_call_registers_its_thread_and_whose_it_is(saver: SqliteSaver, tmp_path: Path) -> None:
    graph = agent(Scripted("Blue."), tmp_path, checkpointer=saver)
    graph.invoke(say("What   colour is\nthe sky?"), thread(), context=ThreadContext(user_id="ann"))
    (info,) = journal(saver, tmp_path, user="ann").threads()
    assert (info.thread_id, info.first_words) == ("t", "What colour is the sky?")
    assert info.messages == 2
    assert info.created is not None
    assert info.updated is not None
    assert info.created <= info.updated
    assert graph.get_state(thread()).values["owner"] == {"user": "ann", "agent": "agent"}
    graph.invoke(say("And the sea?"), thread(), context=ThreadContext(user_id="ann"))
    (again,) = journal(saver, tmp_path, user="ann").threads()
    assert (again.first_words, again.created, again.messages) == (
        info.first_words,
        info.created,
        4,
    )
    assert journal(saver, tmp_path).threads() == []


def test_without_a_checkpointer_nothing_is_registered(tmp_path: Path) -> None:
    agent(Scripted("ok"), tmp_path, checkpointer=None).invoke(say("hi"), thread())
    assert record_names(LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))) == []


def test_a_thread_stays_with_whoever_began_it(saver: SqliteSaver, tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path, checkpointer=saver)
    graph.invoke(say("mine"), thread(), context=ThreadContext(user_id="ann"))
    graph.invoke(say("also here"), thread(), context=ThreadContext(user_id="bob"))
    assert journal(saver, tmp_path, user="bob").threads() == []
    assert journal(saver, tmp_path, user="bob").search("here") == []
    assert len(journal(saver, tmp_path, user="ann").search("here")) == 1


def test_a_registry_that_cannot_be_written_does_not_stop_the_call(
    saver: SqliteSaver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph = agent(Scripted("ok"), tmp_path, checkpointer=saver, memory=None)
    blocked = tmp_path / "workspace" / "users" / "_default" / "agents" / "agent" / ".longthread"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder should be")
    assert graph.invoke(say("hi"), thread())["messages"][-1].content == "ok"
    assert "not in the registry" in caplog.text
    blocked.unlink()
    found = journal(saver, tmp_path)
    assert found.reindex().threads == 1
    assert found.threads()[0].first_words == "hi"


def test_the_record_counts_what_the_thread_had_when_the_call_began(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    graph = agent(Scripted("ok"), tmp_path, checkpointer=saver)
    for _ in range(3):
        graph.invoke(say("hi"), thread())
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))
    (name,) = record_names(files)
    record = read_record(files, name)
    assert record is not None
    assert record.messages == 5


def test_tool_calls_and_results_are_found_and_shown(saver: SqliteSaver, tmp_path: Path) -> None:
    script = Scripted(calls("c1", note="the-needle"), "done")
    graph = agent(script, tmp_path, [lookup], checkpointer=saver)
    graph.invoke(say("look"), thread())
    found = journal(saver, tmp_path)
    assert [h.role for h in found.search("needle")] == ["tool look", "assistant"]
    assert contents(found.history("t")) == ["look", "", "saw the-needle", "done"]


def lookup(at: str, note: str) -> str:
    """Look at something."""
    return f"saw {note}"


lookup.__name__ = "look"


def test_a_plain_thread_is_the_default_users_until_somebody_goes_on_with_it(
    saver: SqliteSaver, tmp_path: Path
) -> None:
    graph = plain(saver)
    graph.invoke(say("an old question"), thread("old"))
    graph.invoke(say("another"), thread("other"))
    found = journal(saver, tmp_path)
    assert contents(found.history("old")) == ["an old question", "ok"]
    assert found.search("old question") == []
    assert found.reindex().threads == 2
    assert [h.thread_id for h in found.search("old question")] == ["old"]
    ann = journal(saver, tmp_path, user="ann")
    assert ann.reindex().threads == 0
    with pytest.raises(LongthreadError, match="no thread"):
        ann.history("old")
    ours = agent(Scripted("new"), tmp_path, checkpointer=saver)
    ours.invoke(say("go on"), thread("old"), context=ThreadContext(user_id="ann"))
    assert contents(ann.history("old")) == ["an old question", "ok", "go on", "new"]
    assert [h.position for h in ann.search("o", max_results=9)] == [2, 1, 0]
    assert [t.thread_id for t in found.threads()] == ["other"]


def test_a_sealed_thread_reads_and_searches_as_one(saver: SqliteSaver, tmp_path: Path) -> None:
    script = Scripted(lambda m: f"answer to {m[-1].content}")
    graph = agent(
        script, tmp_path, checkpointer=saver, memory=None, compaction=SOON, journal_window=12
    )
    found = journal(saver, tmp_path)
    expected = []
    for turn in range(40):
        graph.invoke(say(f"question {turn}."), thread())
        expected += [f"question {turn}.", f"answer to question {turn}."]
        if turn % 3 == 0:
            assert len(found.search("answer to", max_results=999)) == turn + 1
    sealed = graph.get_state(thread()).values["sealed"]
    assert sealed["count"] > 30
    assert contents(found.history("t", 999)) == expected
    for start in range(0, 70, 7):
        assert contents(found.history("t", 7, start + 7)) == expected[start : start + 7]
    first = found.history("t", 2, 2)[1].id
    assert contents(found.history("t", 5, first)) == ["question 0."]
    assert [h.position for h in found.search("question 0.")] == [1, 0]
    assert found.page("t", 1).total == found.threads()[0].messages == 80
    fresh = ThreadJournal(saver, tmp_path / "workspace")
    assert fresh.reindex().messages == 80
    assert {(h.position, h.text) for h in fresh.search("question", max_results=999)} == set(
        enumerate(expected)
    )


def test_a_damaged_segment_hides_what_it_held_and_nothing_else(
    saver: SqliteSaver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph = agent(
        Scripted("ok"),
        tmp_path,
        checkpointer=saver,
        memory=None,
        compaction=SOON,
        journal_window=12,
    )
    for turn in range(20):
        graph.invoke(say(f"question {turn}."), thread())
    graph.invoke(say("question of another"), thread("u"))
    for segment in (tmp_path / "workspace").rglob("segments/**/*.json"):
        segment.unlink()
    found = journal(saver, tmp_path)
    assert found.reindex().threads == 2
    assert "cannot be searched" in caplog.text
    assert [h.thread_id for h in found.search("question of another")] == ["u"]
    assert found.search("question 19.")[0].position == 38
    assert found.search("question 0.") == []
    assert contents(found.history("t", 2)) == ["question 19.", "ok"]
    with pytest.raises(LongthreadError, match=r"segment \w+ of thread 't' cannot be read"):
        found.history("t", 999)


@pytest.mark.parametrize("kind", [InMemorySaver, None])
def test_an_agent_inside_another_graph_has_a_journal_of_its_own(
    kind: Any, saver: SqliteSaver, tmp_path: Path
) -> None:
    used: Any = saver if kind is None else kind()
    inner = create_agent_graph(
        Scripted(calls("c1"), "inner answer").model,
        [look],
        workspace=tmp_path / "workspace",
        checkpointer=True,
    )

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    outer = StateGraph(State)
    outer.add_node("helper", lambda state: _answer(inner, state))
    outer.add_edge(START, "helper")
    outer.add_edge("helper", END)
    graph: Any = outer.compile(checkpointer=used)
    graph.invoke(say("outer question"), thread())
    found = journal(used, tmp_path)
    (info,) = found.threads()
    assert (info.thread_id, info.checkpoint_ns, info.messages) == ("t", "helper", 4)
    assert [(h.checkpoint_ns, h.position) for h in found.search("saw c1")] == [("helper", 2)]
    assert contents(found.history("t"))[2] == "saw c1"
    assert contents(found.history("t", checkpoint_ns="")) == ["outer question", "inner answer"]
    fresh = ThreadJournal(used, tmp_path / "fresh")
    assert fresh.reindex().threads == 2
    assert {t.checkpoint_ns for t in fresh.threads()} == {"", "helper"}


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def _answer(inner: Any, state: Any) -> Any:
    answer = inner.invoke({"messages": [HumanMessage(state["messages"][-1].content)]})
    return {"messages": [AIMessage(answer["messages"][-1].content)]}
