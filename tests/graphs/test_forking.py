"""A fork has everything of the thread that it was made from, and needs nothing of it any more."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt

from longthread import (
    CompactionConfig,
    LocalWorkspace,
    LongthreadError,
    ThreadJournal,
    ToolResultEvictionConfig,
    afork_thread,
    close_thread,
    erase_thread,
    fork_thread,
    open_checkpointer,
)
from longthread.graphs.compiled import AgentGraph
from longthread.stores import Owner

SOON = CompactionConfig(trigger_messages=8, keep_messages=4, keep_tokens=0, min_progress=0.01)
ROUNDS = 14


def answer(messages: list[BaseMessage]) -> AIMessage | str:
    last = messages[-1]
    if last.type == "human" and str(last.content).startswith("fetch"):
        return calls(f"c-{last.id}", name="fetch")
    return f"answer to {str(last.content)[:40]}"


def fetch(at: str) -> str:
    """Fetch a lot."""
    return f"zebrafish {at} " + "lorem ipsum " * 100


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


@pytest.fixture
def graph(tmp_path: Path, database: Path) -> Iterator[AgentGraph]:
    with open_checkpointer(f"sqlite:///{database}", compress=False) as saver:
        made = agent(
            Scripted(answer),
            tmp_path,
            [fetch],
            checkpointer=saver,
            compaction=SOON,
            journal_window=12,
            eviction=ToolResultEvictionConfig(max_chars=500, preview_chars=100),
        )
        for turn in range(ROUNDS):
            made.invoke(say(f"fetch {turn}" if turn % 3 == 0 else f"say {turn}"), thread("one"))
        made.invoke(say("fetch at last"), thread("one"))
        assert made.get_state(thread("one")).values["sealed"]["count"] > 8
        yield made


def copied_by_others(database: Path, old: str, new: str) -> None:
    """Copy a thread's checkpoints as LangGraph Server does: row by row."""
    with closing(sqlite3.connect(database)) as connection, connection:
        for table in ("checkpoints", "writes"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            rest = ", ".join(name for name in columns if name != "thread_id")
            connection.execute(
                f"INSERT INTO {table} (thread_id, {rest}) "
                f"SELECT ?, {rest} FROM {table} WHERE thread_id = ?",
                (new, old),
            )
    connection.close()


def journal(graph: AgentGraph, tmp_path: Path) -> ThreadJournal:
    saver = graph.checkpointer
    assert isinstance(saver, BaseCheckpointSaver)
    return ThreadJournal(saver, tmp_path / "workspace")


def history(graph: AgentGraph, tmp_path: Path, name: str) -> list[str]:
    return contents(journal(graph, tmp_path).history(name, last_n=1_000))


def evicted(graph: AgentGraph, tmp_path: Path, name: str) -> list[str | None]:
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))
    evictions = graph.get_state(thread(name)).values["evictions"].values()
    return [files.read_text(eviction["path"]) for eviction in evictions]


def left(tmp_path: Path, *words: str) -> list[str]:
    """Return the files of the workspace that have one of the words in their path."""
    paths = (str(p.relative_to(tmp_path)) for p in (tmp_path / "workspace").rglob("*"))
    return [path for path in paths if any(word in path.split("/") for word in words)]


@pytest.mark.parametrize("erased", ["one", "two"])
def test_a_fork_and_its_original_outlive_each_other(
    erased: str, graph: AgentGraph, tmp_path: Path
) -> None:
    fork_thread(graph, thread("one"), "two")
    before = history(graph, tmp_path, "one")
    assert history(graph, tmp_path, "two") == before
    texts = evicted(graph, tmp_path, "one")
    assert texts
    other = "two" if erased == "one" else "one"
    done = erase_thread(graph, thread(erased))
    assert done.records > 1
    assert done.files
    assert not done.kept
    assert left(tmp_path, erased) == []
    assert history(graph, tmp_path, other) == before
    assert evicted(graph, tmp_path, other) == texts
    assert "zebrafish" in str(texts)
    for turn in range(ROUNDS):  # until it has been sealed once more
        graph.invoke(say(f"more {turn}"), thread(other))
    assert history(graph, tmp_path, other)[: len(before)] == before
    assert left(tmp_path, erased) == []


async def test_a_fork_of_a_sealed_thread_sees_and_is_listed_as_what_it_is(
    graph: AgentGraph, tmp_path: Path
) -> None:
    fork_thread(graph, thread("one"), "two")
    (old, new) = (graph.get_state(thread(name)).values for name in ("one", "two"))
    assert [m.id for m in new["messages"]] == [m.id for m in old["messages"]]
    assert new["compaction"] == old["compaction"]
    listed = {info.thread_id: info for info in journal(graph, tmp_path).threads()}
    assert listed["two"].first_words == listed["one"].first_words == "fetch 0"
    assert listed["two"].messages == listed["one"].messages
    hits = journal(graph, tmp_path).search("say 1", thread_id="two")
    assert [hit.position for hit in hits] == [
        hit.position for hit in journal(graph, tmp_path).search("say 1", thread_id="one")
    ]
    graph.invoke(say("only here"), thread("two"))
    assert "only here" not in history(graph, tmp_path, "one")


def test_what_a_copy_made_by_others_needs_stays_until_that_is_erased_too(
    graph: AgentGraph, tmp_path: Path, database: Path
) -> None:
    before, texts = history(graph, tmp_path, "one"), evicted(graph, tmp_path, "one")
    copied_by_others(database, "one", "copy")
    planned = erase_thread(graph, thread("one"), dry_run=True)
    assert planned.kept_for == ("copy",)
    assert any(name.startswith("segments/") for name in planned.kept)
    assert any(name.startswith("large_tool_results/") for name in planned.kept)
    assert erase_thread(graph, thread("one")) == planned
    again = erase_thread(graph, thread("one"), dry_run=True)
    assert again.nothing
    assert again.kept_for == ("copy",)
    journal(graph, tmp_path).reindex()
    assert history(graph, tmp_path, "copy") == before
    assert evicted(graph, tmp_path, "copy") == texts
    for turn in range(ROUNDS):
        graph.invoke(say(f"more {turn}"), thread("copy"))
    assert history(graph, tmp_path, "copy")[: len(before)] == before
    assert len(history(graph, tmp_path, "copy")) == len(before) + 2 * ROUNDS
    done = erase_thread(graph, thread("copy"))
    assert not done.kept
    assert left(tmp_path, "one", "copy") == []


def test_erasing_a_copy_made_by_others_leaves_the_original_whole(
    graph: AgentGraph, tmp_path: Path, database: Path
) -> None:
    before, texts = history(graph, tmp_path, "one"), evicted(graph, tmp_path, "one")
    copied_by_others(database, "one", "copy")
    for turn in range(ROUNDS):
        graph.invoke(say(f"more {turn}"), thread("copy"))
    assert left(tmp_path, "copy")
    erase_thread(graph, thread("copy"))
    assert left(tmp_path, "copy") == []
    assert history(graph, tmp_path, "one") == before
    assert evicted(graph, tmp_path, "one") == texts


def test_a_fork_in_the_middle_of_a_turn_goes_on_with_it(tmp_path: Path) -> None:
    ran: list[str] = []

    def look(at: str) -> str:
        """Look at something."""
        ran.append(at)
        return f"saw {at}"

    script = Scripted(calls("a", "b"), ValueError("gone"), "done")
    graph = agent(script, tmp_path, [look])
    with pytest.raises(ValueError, match="gone"):
        graph.invoke(say("go"), thread("one"))
    fork_thread(graph, thread("one"), "two")
    for name in ("two", "one"):
        state = graph.get_state(thread(name))
        assert state.next
        result = graph.invoke(None, thread(name))
        assert contents(result["messages"]) == ["go", "", "saw a", "saw b", "done"]
    assert sorted(ran) == ["a", "b"]


@pytest.mark.parametrize("answered", ["two", "one"])
async def test_a_question_that_is_open_is_open_in_the_fork_as_well(
    answered: str, tmp_path: Path
) -> None:
    def ask(at: str) -> Any:
        """Ask somebody."""
        return f"they said {interrupt(at)}"

    script = Scripted(lambda m: calls("a", name="ask") if m[-1].type == "human" else "done")
    graph = agent(script, tmp_path, [ask])
    await graph.ainvoke(say("go"), thread("one"))
    await afork_thread(graph, thread("one"), "two")
    other = "two" if answered == "one" else "one"
    if not (await graph.aget_state(thread("two"))).interrupts:
        await graph.ainvoke(None, thread("two"))  # asks again
    await graph.ainvoke(Command(resume="yes"), thread(answered))
    assert "they said yes" in contents(
        (await graph.aget_state(thread(answered))).values["messages"]
    )
    assert (await graph.aget_state(thread(other))).interrupts
    await graph.ainvoke(Command(resume="no"), thread(other))
    assert "they said no" in contents((await graph.aget_state(thread(other))).values["messages"])


async def test_a_fork_of_a_closed_thread_is_open(tmp_path: Path) -> None:
    graph = agent(Scripted("one", "two"), tmp_path)
    graph.invoke(say("go"), thread("one"))
    close_thread(graph, thread("one"))
    await afork_thread(graph, thread("one"), "two")
    result = await graph.ainvoke(say("on"), thread("two"))
    assert contents(result["messages"]) == ["go", "one", "on", "two"]


@pytest.mark.parametrize(
    ("config", "new", "code"),
    [
        (thread("nobody"), "two", "SESSION_NOT_FOUND"),
        (thread("one"), "one", "SESSION_EXISTS"),
        (thread("one"), " ", "INVALID_CONFIGURATION"),
        (thread(""), "two", "INVALID_CONFIGURATION"),
        (
            {"configurable": {"thread_id": "one", "checkpoint_ns": "helper"}},
            "two",
            "INVALID_CONFIGURATION",
        ),
    ],
)
def test_what_cannot_be_forked_is_refused_and_nothing_is_written(
    config: Any, new: str, code: str, tmp_path: Path
) -> None:
    graph = agent(Scripted("one"), tmp_path)
    graph.invoke(say("go"), thread("one"))
    before = sorted((tmp_path / "workspace").rglob("*"))
    with pytest.raises(LongthreadError) as caught:
        fork_thread(graph, config, new)
    assert caught.value.code == code
    assert sorted((tmp_path / "workspace").rglob("*")) == before
    assert graph.get_state(thread("two")).created_at is None
    assert contents(graph.get_state(thread("one")).values["messages"]) == ["go", "one"]


async def test_of_two_forks_to_one_id_the_first_is_made_and_stays(tmp_path: Path) -> None:
    graph = agent(Scripted(*(f"answer {n}" for n in range(4))), tmp_path)
    for name in ("one", "two"):
        await graph.ainvoke(say(f"I am {name}"), thread(name))
    made = await asyncio.gather(
        *(afork_thread(graph, thread(name), "new") for name in ("one", "two")),
        return_exceptions=True,
    )
    refused = [error for error in made if isinstance(error, LongthreadError)]
    assert [error.code for error in refused] in (["SESSION_EXISTS"], ["SESSION_BUSY"])
    said = contents(graph.get_state(thread("new")).values["messages"])
    assert said[0] == ("I am one" if isinstance(made[1], LongthreadError) else "I am two")
    assert len(said) == 2
