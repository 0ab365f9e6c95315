"""Threads whose registry and sealed parts are in a LangGraph store, shared by many processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, contents, say, thread
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from longthread import (
    CompactionConfig,
    LongthreadError,
    MemoryConfig,
    StoreWorkspace,
    ThreadContext,
    ThreadJournal,
    adrain,
    aopen_checkpointer,
    create_agent_graph,
    drain,
    erase_thread,
    open_checkpointer,
)
from longthread.graphs.compiled import AgentGraph
from longthread.stores import Owner

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)
ANN = ThreadContext(user_id="ann")
TURNS = 16
SAID = [text for n in range(TURNS) for text in (f"question {n}", f"answer to question {n}")]


class Shared:
    """A store and a checkpointer that processes share.

    Args:
        kind: Which store: memory, sqlite or postgres; the checkpointer is PostgreSQL for the last.
        folder: Where SQLite files are.
        url: The PostgreSQL database.
    """

    def __init__(self, kind: str, folder: Path, url: str | None) -> None:
        self.kind = kind
        self.folder = folder
        self.url = url
        self.memory = InMemoryStore()

    @contextmanager
    def process(self) -> Iterator[tuple[Any, StoreWorkspace]]:
        """A checkpointer and a workspace that nobody has used yet."""
        with self._store() as store, open_checkpointer(self._checkpoints) as saver:
            yield saver, StoreWorkspace(store, ("longthread",))
            drain()  # background work uses the store, which is about to be closed

    @property
    def _checkpoints(self) -> str:
        return self.url if self.url is not None else f"sqlite:///{self.folder}/threads.db"

    @contextmanager
    def _store(self) -> Iterator[BaseStore]:
        if self.kind == "memory":
            yield self.memory
        elif self.kind == "sqlite":
            with SqliteStore.from_conn_string(str(self.folder / "store.db")) as sqlite:
                sqlite.setup()
                yield sqlite
        else:
            assert self.url is not None
            with PostgresStore.from_conn_string(self.url) as postgres:
                postgres.setup()
                yield postgres


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Shared:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return Shared(request.param, tmp_path, url)


def agent_in(workspace: StoreWorkspace, saver: Any, script: Scripted | None = None) -> AgentGraph:
    """An agent that compacts every few messages and seals every few more."""
    script = script or Scripted(lambda m: f"answer to {m[-1].content}")
    return create_agent_graph(
        script.model,
        workspace=workspace,
        checkpointer=saver,
        compaction=SOON,
        journal_window=12,
        memory=MemoryConfig(hooks=False),
    )


def talk(shared: Shared) -> None:
    """Have a long thread of Ann's and a short one of Bob's, in two processes."""
    for begin, end in ((0, TURNS // 2), (TURNS // 2, TURNS)):
        with shared.process() as (saver, workspace):
            graph = agent_in(workspace, saver)
            for turn in range(begin, end):
                graph.invoke(say(f"question {turn}"), thread("long"), context=ANN)
            bob = ThreadContext(user_id="bob")
            graph.invoke(say("question of bob's"), thread("his"), context=bob)


def test_a_sealed_thread_in_a_store_is_listed_read_searched_and_erased(shared: Shared) -> None:
    talk(shared)
    with shared.process() as (saver, workspace):
        journal = ThreadJournal(saver, workspace, user="ann")
        graph = agent_in(workspace, saver)
        assert graph.get_state(thread("long")).values["sealed"]["count"] > 10
        files = workspace.scoped(Owner("ann", "agent"))
        assert files.list_json("segments/long")

        [info] = journal.threads()
        assert (info.thread_id, info.messages, info.first_words) == (
            "long",
            2 * TURNS,
            "question 0",
        )
        assert contents(journal.history("long", last_n=100)) == SAID
        assert contents(journal.history("long", last_n=2, before=3)) == SAID[1:3]
        found = journal.search("QUESTION 1", max_results=100)
        assert {hit.text for hit in found} == {t for t in SAID if "question 1" in t}
        assert [hit.position for hit in journal.search("answer 0", "all")][-1] == 1
        assert journal.search("bob") == []
        with pytest.raises(LongthreadError, match="no thread"):
            journal.history("his")
        assert journal.reindex().threads == 1

        erase_thread(graph, thread("long"))
        assert files.list_json("segments/long") == []
        assert journal.threads() == []
        assert journal.search("question") == []
        assert [i.thread_id for i in journal.threads("bob")] == ["his"]


def test_the_agents_tools_look_into_threads_of_another_process(shared: Shared) -> None:
    talk(shared)
    script = Scripted(
        calls("a", name="thread_search", query="question 3"),
        calls("b", name="thread_history", thread_id="long", last_n=2, before=4),
        "done",
    )
    # A call that a tool does not know is a message that the model can read: only what it has.
    for answer in script.answers[:2]:
        answer.tool_calls[0]["args"].pop("at")  # type: ignore[union-attr]
    with shared.process() as (saver, workspace):
        graph = agent_in(workspace, saver, script)
        said = graph.invoke(say("look"), thread("new"), context=ANN)["messages"]
    results = [str(m.content) for m in said if m.type == "tool"]
    assert "[long #6 user] question 3" in results[0]
    assert "question 1" in results[1]
    assert "answer to question 1" in results[1]
    assert "bob" not in "".join(results)


async def test_an_asynchronous_store_and_checkpointer_do_the_same(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    async with (
        AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as store,
        aopen_checkpointer(url) as saver,
    ):
        await store.setup()
        graph = agent_in(StoreWorkspace(store, ("longthread",)), saver)
        for turn in range(TURNS):
            await graph.ainvoke(say(f"question {turn}"), thread("long"), context=ANN)
        journal = ThreadJournal(saver, StoreWorkspace(store, ("longthread",)), user="ann")
        assert (await graph.aget_state(thread("long"))).values["sealed"]["count"] > 10
        assert contents(await journal.ahistory("long", last_n=100)) == SAID
        assert [i.messages for i in await journal.athreads()] == [2 * TURNS]
        assert [h.position for h in await journal.asearch("to question 2", "phrase", 100)][-1] == 5
        await adrain()
