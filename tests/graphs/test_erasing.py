"""Erasing a thread, or a user: nothing of it is left anywhere, and nothing of others is touched."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from longthread import (
    CompactionConfig,
    ErasureResult,
    LocalWorkspace,
    LongthreadError,
    MemoryConfig,
    ThreadContext,
    ThreadJournal,
    ToolResultEvictionConfig,
    aclose_thread,
    aerase_thread,
    aerase_user,
    agent_node,
    aopen_checkpointer,
    create_agent_graph,
    drain,
    erase_thread,
    erase_user,
    open_checkpointer,
)
from longthread.graphs import erasing
from longthread.graphs.compiled import AgentGraph
from longthread.state.channels import ThreadState
from longthread.state.errors import ConfigurationError
from longthread.stores import Owner

KINDS = ["memory", "sqlite", "postgres"]
SECRETS = {"ann-1": "zebrafish", "ann-2": "quokka", "bob-1": "platypus"}
SOON = CompactionConfig(trigger_messages=6, keep_messages=2, keep_tokens=0, min_progress=0.01)


@dataclass
class House:
    """Two users, three threads, each with a secret word in everything that it can leave."""

    graph: AgentGraph
    folder: Path
    url: str

    def journal(self) -> ThreadJournal:
        saver = self.graph.checkpointer
        assert isinstance(saver, BaseCheckpointSaver)
        return ThreadJournal(saver, self.folder / "workspace")

    def places(self, word: str) -> list[str]:
        """Where a word stands, in whatever is stored."""
        found = set()
        if self.url.startswith("sqlite:"):
            # What SQLite has moved within a page before may be left in the free part of that page.
            with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for path in self.folder.rglob("*"):
            if (path.is_file() and word.encode() in path.read_bytes()) or word in path.name:
                # What stands in the log of a database stands in the database.
                found.add(str(path.relative_to(self.folder)).removesuffix("-wal"))
        saver = self.graph.checkpointer
        if isinstance(saver, InMemorySaver) and word in repr((saver.storage, saver.writes)):
            found.add("saver")
        if "postgres" in self.url:
            found.update(_tables_with(self.url, word))
        return sorted(found)

    def segments(self, name: str) -> list[str]:
        user = name.partition("-")[0]
        files = LocalWorkspace(self.folder / "workspace").scoped(Owner(user, "agent"))
        return files.list_json(f"segments/{name}")


def _tables_with(url: str, word: str) -> Iterator[str]:
    import psycopg

    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        ).fetchall()
        for (name,) in tables:
            text = f"SELECT count(*) FROM {name} t WHERE t::text LIKE %s OR t::text LIKE %s"
            sought = (f"%{word}%", f"%{word.encode().hex()}%")
            if connection.execute(text.encode(), sought).fetchone() != (0,):
                yield name


@contextmanager
def house(url: str, tmp_path: Path) -> Iterator[House]:
    def fetch(at: str) -> str:
        """Fetch a lot."""
        return f"{SECRETS[at]} result " + "lorem ipsum " * 100

    def answer(messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if last.type == "human" and str(last.content).startswith("fetch "):
            name = str(last.content).split()[1]
            return calls(f"call-{last.id}", name="fetch").model_copy(
                update={
                    "tool_calls": [
                        {"name": "fetch", "args": {"at": name}, "id": f"{name}-{last.id}"}
                    ]
                }
            )
        return AIMessage(f"answer to {str(last.content)[:40]}")

    def facts(messages: list[BaseMessage]) -> AIMessage:
        text = str(messages[-1].content).partition("<conversation>")[2]
        words = [word for word in SECRETS.values() if word in text]
        return AIMessage(f"They spoke of the {' and the '.join(words)}." if words else "NO_REPLY")

    with open_checkpointer(url, compress=False) as saver:
        graph = agent(
            Scripted(
                answer,
                facts=facts,
                summary="## Intent\nAnimals.",
                memory="- I spoke.",
            ),
            tmp_path,
            [fetch],
            checkpointer=saver,
            compaction=SOON,
            journal_window=8,
            eviction=ToolResultEvictionConfig(max_chars=500, preview_chars=100),
        )
        for name, secret in SECRETS.items():
            context = ThreadContext(user_id=name.partition("-")[0])
            for text in (f"fetch {name}", *[f"tell me of the {secret}, {n}" for n in range(8)]):
                graph.invoke(say(text), thread(name), context=context)
        yield House(graph, tmp_path, url)


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    match request.param:
        case "memory":
            url = "memory://"
        case "sqlite":
            url = f"sqlite:///{tmp_path}/threads.db"
        case _:
            url = request.getfixturevalue("postgres_url")
    with house(url, tmp_path) as made:
        for user, word in (("ann", "zebrafish"), ("ann", "quokka"), ("bob", "platypus")):
            assert made.journal().search(word, user=user)
        yield made


@pytest.mark.parametrize("home", KINDS, indirect=True)
def test_nothing_of_an_erased_thread_is_left_and_nothing_of_others_is_touched(
    home: House, tmp_path: Path
) -> None:
    assert home.places("zebrafish")
    assert home.segments("ann-1")
    others = {word: home.places(word) for word in ("quokka", "platypus")}
    planned = erase_thread(home.graph, thread("ann-1"), dry_run=True)
    assert home.places("zebrafish")
    done = erase_thread(home.graph, thread("ann-1"))
    assert done == planned
    assert done.threads == ("ann-1",)
    assert min(done.checkpoints, done.records, done.ledger_entries) > 0
    assert [path.partition("/")[0] for path in done.files] == ["large_tool_results"]
    assert home.places("zebrafish") == []
    assert home.places("ann-1") == []
    assert home.segments("ann-1") == []
    assert {word: home.places(word) for word in others} == others
    assert home.segments("ann-2")
    assert [t.thread_id for t in home.journal().threads(user="ann")] == ["ann-2"]
    assert home.journal().search("zebrafish", user="ann") == []
    assert home.journal().search("quokka", user="ann")
    for path in (tmp_path / "workspace").rglob("*.sqlite*"):
        assert b"zeb" not in path.read_bytes()
    assert erase_thread(home.graph, thread("ann-1")).nothing
    result = home.graph.invoke(say("hello"), thread("ann-1"))
    assert contents(result["messages"]) == ["hello", "answer to hello"]


@pytest.mark.parametrize("home", KINDS, indirect=True)
async def test_nothing_of_an_erased_user_is_left(home: House) -> None:
    planned = erase_user(home.graph, "ann", dry_run=True)
    assert home.places("quokka")
    done = (
        await aerase_user(home.graph, "ann")
        if home.url == "memory://"
        else erase_user(home.graph, "ann")
    )
    assert done == planned
    assert done.threads == ("ann-1", "ann-2")
    assert "MEMORY.md" in done.files
    for word in ("zebrafish", "quokka", "ann-1", "ann-2"):
        assert home.places(word) == []
    assert not (home.folder / "workspace/users/ann").exists()
    assert home.places("platypus")
    assert home.journal().threads(user="ann") == []
    assert home.journal().search("platypus", user="bob")
    assert erase_user(home.graph, "ann").nothing


def test_a_thread_with_a_blank_name_is_refused_and_one_that_is_there_is_erased(
    tmp_path: Path,
) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    with pytest.raises(ConfigurationError, match="name the thread"):
        graph.invoke(say("go"), thread(""))
    # In a graph of LangGraph's own it can be made.
    builder: Any = StateGraph(ThreadState)
    builder.add_node("agent", agent_node(graph))
    builder.add_edge(START, "agent")
    builder.compile(checkpointer=graph.checkpointer).invoke(say("secret"), thread(""))
    done = erase_user(graph, None)
    assert done.threads == ("",)
    assert list(graph.checkpointer.list(None)) == []  # type: ignore[union-attr]


class Crash(Exception):
    """The process ends here."""


@pytest.mark.parametrize("whole_user", [False, True])
@pytest.mark.parametrize("home", ["sqlite"], indirect=True)
def test_whenever_a_crash_comes_in_between_the_second_time_finishes(
    home: House, whole_user: bool
) -> None:
    crashes = 0
    graph: Any = home.graph
    while True:
        steps = (
            erasing._erase_user(graph, "ann", False)
            if whole_user
            else erasing._erase_thread(graph, "ann-1", None, False)
        )
        if not _crashed_after(steps, crashes):
            break
        crashes += 1
    assert crashes > 10
    assert home.places("zebrafish") == []
    assert home.places("ann-1") == []
    assert bool(home.places("quokka")) is not whole_user
    assert home.places("platypus")


def _crashed_after(steps: Any, effects: int) -> bool:
    """Perform that many effects and no further one, except letting go of what is held."""
    effect = next(steps)
    try:
        for _ in range(effects):
            effect = steps.send(effect.run())
        effect = steps.throw(Crash())
        while True:
            effect = steps.send(effect.run())
    except Crash:
        return True
    except StopIteration:
        return False


async def test_the_asynchronous_twins_do_the_same(tmp_path: Path) -> None:
    with house("memory://", tmp_path) as home:
        planned = await aerase_thread(home.graph, thread("ann-1"), dry_run=True)
        assert await aerase_thread(home.graph, thread("ann-1")) == planned
        assert home.places("zebrafish") == []


def test_another_users_thread_is_not_found_and_stays(tmp_path: Path) -> None:
    with house("memory://", tmp_path) as home:
        for dry_run in (True, False):
            with pytest.raises(LongthreadError, match="no thread 'ann-1'") as refused:
                erase_thread(
                    home.graph,
                    thread("ann-1"),
                    context=ThreadContext(user_id="bob"),
                    dry_run=dry_run,
                )
            assert refused.value.code == "SESSION_NOT_FOUND"
        assert home.places("zebrafish")
        assert not erase_thread(home.graph, thread("bob-1"), context={"user_id": "bob"}).nothing


def test_a_thread_that_is_being_worked_on_is_busy(tmp_path: Path) -> None:
    with (
        house("memory://", tmp_path) as home,
        closing(home.graph.stream(say("more"), thread("ann-1"))) as stream,
    ):
        next(stream)
        with pytest.raises(LongthreadError) as refused:
            erase_thread(home.graph, thread("ann-1"))
        assert refused.value.code == "SESSION_BUSY"
        assert home.places("zebrafish")


def test_memory_work_that_waits_in_the_background_goes_with_its_thread(tmp_path: Path) -> None:
    begun, may_go_on = threading.Event(), threading.Event()

    def facts(messages: list[BaseMessage]) -> AIMessage:
        begun.set()
        assert may_go_on.wait(30)
        return AIMessage("A fact about " + ("one" if "first" in str(messages) else "two"))

    graph = agent(Scripted("yes", facts=facts), tmp_path, memory=MemoryConfig(background=True))
    graph.invoke(say("the first"), thread("1"))
    assert begun.wait(30)
    graph.invoke(say("the second"), thread("2"))
    graph.invoke(say("the third"), thread("3"))
    erase_thread(graph, thread("2"))
    threading.Timer(0.2, may_go_on.set).start()
    erase_thread(graph, thread("1"))  # waits for what is being written, and removes it
    assert drain(30)
    ledgers = list((tmp_path / "workspace").rglob("memory/*.md"))
    assert [path.read_text().count("A fact") for path in ledgers] == [1]
    assert "thread=3" in ledgers[0].read_text()


def test_what_is_left_of_a_ledger_is_not_merged_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def merged(messages: list[BaseMessage]) -> AIMessage:
        asked.append(str(messages[-1].content))
        return AIMessage("- A fact that they spoke of.")

    script = Scripted("yes", facts=lambda m: AIMessage(f"Fact {len(asked)}"), memory=merged)
    memory = MemoryConfig(background=False, consolidation_min_gap=0)  # type: ignore[arg-type]
    graph = agent(script, tmp_path, memory=memory)
    for name in ("1", "2"):
        graph.invoke(say(f"I am {name}"), thread(name))
    before = len(asked)
    erase_thread(graph, thread("1"))
    graph.invoke(say("and more"), thread("2"))
    assert len(asked) == before + 1
    ledger = next((tmp_path / "workspace").rglob("memory/*.md")).read_text()
    assert "thread=1" not in ledger
    assert ledger.count("thread=2") == 2
    assert asked[-1].count("Fact") == 1  # only what is new


def test_agents_inside_another_graph_go_with_its_thread(tmp_path: Path) -> None:
    inner = create_agent_graph(
        Scripted("I know the secret", facts="The secret is known.").model,
        workspace=tmp_path / "inner",
        name="helper",
        memory=MemoryConfig(background=False),
        checkpointer=True,
    )
    parent = StateGraph(ThreadState)
    parent.add_node("helper", agent_node(inner))
    parent.add_edge(START, "helper")
    graph: Any = parent.compile(checkpointer=InMemorySaver())
    graph.invoke(say("hi"), thread("outer"))
    assert list((tmp_path / "inner").rglob("memory/*.md"))
    done = erase_thread(graph, thread("outer"))
    assert done.ledger_entries == 1
    assert list((tmp_path / "inner").rglob("memory/*.md")) == []
    assert graph.get_state(thread("outer")).created_at is None


def test_without_a_checkpointer_of_its_own_a_graph_erases_nothing(tmp_path: Path) -> None:
    graph = agent(Scripted("yes"), tmp_path, checkpointer=None)
    with pytest.raises(LongthreadError, match="no checkpointer of its own"):
        erase_thread(graph, thread())
    with pytest.raises(LongthreadError, match="no checkpointer of its own"):
        erase_user(graph, None)


def test_threads_of_other_graphs_in_the_same_checkpointer_belong_to_nobody(tmp_path: Path) -> None:
    saver = InMemorySaver()
    plain = StateGraph(ThreadState)
    plain.add_node("say", lambda _: {"messages": [("ai", "hello")]})
    plain.add_edge(START, "say")
    other: Any = plain.compile(checkpointer=saver)
    other.invoke(say("hi"), thread("other"))
    graph = agent(Scripted("yes"), tmp_path, checkpointer=saver)
    graph.invoke(say("hi"), thread("mine"))
    assert erase_user(graph, None).threads == ("mine",)
    assert other.get_state(thread("other")).created_at is not None


def test_the_lease_of_an_erased_thread_leaves_no_file(tmp_path: Path) -> None:
    with open_checkpointer(f"sqlite:///{tmp_path}/threads.db") as saver:
        graph = agent(Scripted("yes"), tmp_path, checkpointer=saver)
        graph.invoke(say("hi"), thread())
        assert os.listdir(tmp_path / "threads.db-leases")
        erase_thread(graph, thread())
        assert os.listdir(tmp_path / "threads.db-leases") == []


def test_an_erasure_of_nothing_says_so(tmp_path: Path) -> None:
    assert ErasureResult().nothing
    assert not ErasureResult(("t",), 1).nothing
    graph = agent(Scripted("yes"), tmp_path)
    assert erase_thread(graph, thread("nobody's")).nothing
    assert erase_user(graph, "nobody").nothing
    with pytest.raises(LongthreadError, match="thread_id"):
        erase_thread(graph, {"configurable": {}})


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_asynchronous_checkpointers_are_erased_and_closed_as_well(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    async with aopen_checkpointer(url, compress=False) as saver:
        graph = agent(Scripted("the zebrafish"), tmp_path, checkpointer=saver)
        for number in (1, 2, 3):  # an id need not be a text
            config: RunnableConfig = {"configurable": {"thread_id": number}}
            await graph.ainvoke(say("hi"), config)
        assert await aclose_thread(graph, {"configurable": {"thread_id": 1}})
        done = await aerase_thread(graph, {"configurable": {"thread_id": 1}})
        assert done.threads == ("1",)
        assert done.checkpoints > 0
        rest = await aerase_user(graph, None)
        assert rest.threads == ("2", "3")
        assert (await aerase_user(graph, None)).nothing
    home = House(graph, tmp_path, url)
    assert home.places("zebrafish") == []
