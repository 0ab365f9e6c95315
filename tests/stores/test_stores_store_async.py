"""The workspace in asynchronous stores, in PostgreSQL, and in the store of a running graph."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import AsyncPostgresStore, PoolConfig, PostgresStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from longthread import StoreWorkspace
from longthread.state.errors import WorkspaceError
from longthread.stores import Owner, ScopedWorkspace
from longthread.stores.langgraph_store.locks import traits_of

ANN = Owner("ann", "coder")
Namespace = tuple[str, ...]


@asynccontextmanager
async def asynchronous(
    kind: str, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[BaseStore, str]]:
    """Open an asynchronous store; gives it with its address."""
    if kind == "sqlite":
        file = str(request.getfixturevalue("tmp_path") / "x.db")
        async with AsyncSqliteStore.from_conn_string(file) as sqlite:
            await sqlite.setup()
            yield sqlite, file
    else:
        url: str = request.getfixturevalue("shared_postgres")
        pool: PoolConfig | None = {"min_size": 1, "max_size": 2} if kind == "pool" else None
        async with AsyncPostgresStore.from_conn_string(url, pool_config=pool) as postgres:
            yield postgres, url


def count_up(view: ScopedWorkspace, times: int) -> None:
    for _ in range(times):
        view.update_json("count", lambda old: {"n": (old or {"n": 0})["n"] + 1})
        view.append_text("log.md", "line")


@pytest.mark.parametrize("kind", ["sqlite", "postgres", "pool"])
async def test_an_asynchronous_store_works_from_threads_and_shares_its_locks_with_its_twin(
    kind: str, request: pytest.FixtureRequest, namespace: Namespace
) -> None:
    async with asynchronous(kind, request) as (store, address):
        view = StoreWorkspace(store, namespace).scoped(ANN)
        twin_kind = SqliteStore if kind == "sqlite" else PostgresStore
        with twin_kind.from_conn_string(address) as twin:
            other = StoreWorkspace(twin, namespace).scoped(ANN)
            await asyncio.gather(
                *(asyncio.to_thread(count_up, each, 15) for each in (view, view, other))
            )
            assert other.read_json("count") == {"n": 45}
        assert await asyncio.to_thread(view.read_text, "log.md") == "line\n" * 45
        assert traits_of(store).exclusive


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_an_asynchronous_store_is_refused_in_the_thread_of_its_own_loop(
    kind: str, request: pytest.FixtureRequest, namespace: Namespace
) -> None:
    async with asynchronous(kind, request) as (store, _):
        view = StoreWorkspace(store, namespace).scoped(ANN)
        for action in (
            lambda: view.read_text("MEMORY.md"),
            lambda: view.write_text("MEMORY.md", "x"),
            lambda: view.append_text("MEMORY.md", "x"),
        ):
            with pytest.raises(WorkspaceError, match=r"MEMORY\.md.*asyncio\.to_thread"):
                action()
        await asyncio.to_thread(view.write_text, "MEMORY.md", "x")
        with pytest.raises(WorkspaceError, match=r"asyncio\.to_thread"):
            view.write_text("MEMORY.md", "y")
        assert await asyncio.to_thread(view.read_text, "MEMORY.md") == "x"


def test_an_asynchronous_store_whose_loop_has_ended_is_an_error_not_a_hang(tmp_path: Path) -> None:
    async def make() -> AsyncSqliteStore:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "x.db")) as store:
            return store

    view = StoreWorkspace(asyncio.run(make()), ("x",)).scoped(ANN)
    with pytest.raises(WorkspaceError, match="event loop of the store is not running"):
        view.read_text("MEMORY.md")
    with pytest.raises(WorkspaceError, match="event loop of the store is not running"):
        view.write_text("MEMORY.md", "x")


@pytest.fixture
def postgres_store(shared_postgres: str) -> Iterator[PostgresStore]:
    with PostgresStore.from_conn_string(shared_postgres) as store:
        yield store


def test_postgres_without_tables_says_what_to_do(postgres_url: str) -> None:
    with PostgresStore.from_conn_string(postgres_url) as store:
        view = StoreWorkspace(store, ("x",)).scoped(ANN)
        with pytest.raises(WorkspaceError, match=r"call store\.setup\(\) once"):
            view.read_text("MEMORY.md")


def test_a_pool_of_one_connection_is_enough(shared_postgres: str, namespace: Namespace) -> None:
    pool: PoolConfig = {"min_size": 1, "max_size": 1}
    with PostgresStore.from_conn_string(shared_postgres, pool_config=pool) as store:
        view = StoreWorkspace(store, namespace, lock_timeout=5).scoped(ANN)
        count_up(view, 3)
        assert view.read_json("count") == {"n": 3}


def test_a_lock_connection_that_the_server_closed_is_opened_again(
    postgres_store: PostgresStore, shared_postgres: str, namespace: Namespace
) -> None:
    view = StoreWorkspace(postgres_store, namespace).scoped(ANN)
    view.write_text("MEMORY.md", "one")
    own = postgres_store.conn.info.backend_pid  # type: ignore[union-attr]
    with psycopg.connect(shared_postgres, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid NOT IN (%s, pg_backend_pid())",
            [own],
        )
    view.write_text("MEMORY.md", "two")
    assert view.read_text("MEMORY.md") == "two"


def test_whoever_dies_with_a_lock_in_postgres_lets_go_of_it(
    postgres_store: PostgresStore, shared_postgres: str, namespace: Namespace
) -> None:
    view = StoreWorkspace(postgres_store, namespace).scoped(ANN)
    with PostgresStore.from_conn_string(shared_postgres) as other:
        held, done = threading.Event(), threading.Event()

        def hold(_: str | None) -> None:
            held.set()
            done.wait()

        holder = StoreWorkspace(other, namespace).scoped(ANN)
        thread = threading.Thread(target=holder.update_text, args=("MEMORY.md", hold))
        thread.start()
        held.wait()
        impatient = StoreWorkspace(postgres_store, namespace, lock_timeout=0.05).scoped(ANN)
        with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*more than 0\.05 seconds"):
            impatient.write_text("MEMORY.md", "x")
        with psycopg.connect(shared_postgres, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                " WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()"
            )
        view.write_text("MEMORY.md", "mine now")
        done.set()
        thread.join()
    assert view.read_text("MEMORY.md") == "mine now"


def test_a_forked_process_leaves_the_connections_of_its_parent_alone(
    postgres_store: PostgresStore, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = StoreWorkspace(postgres_store, namespace).scoped(ANN)
    view.write_text("MEMORY.md", "x")
    locks: Any = traits_of(postgres_store).locks
    [of_the_parent] = locks._idle
    with monkeypatch.context() as forked:
        forked.setattr("longthread.stores.advisory_locks.os.getpid", lambda: 0)
        locks.close()
        assert not of_the_parent.closed
        locks._idle.append(of_the_parent)
        view.write_text("MEMORY.md", "y")
        assert of_the_parent not in locks._idle
        [its_own] = locks._idle
    of_the_parent.close()
    its_own.close()


def test_nothing_stays_open_when_the_store_is_gone(
    shared_postgres: str, namespace: Namespace
) -> None:
    with PostgresStore.from_conn_string(shared_postgres) as store:
        StoreWorkspace(store, namespace).scoped(ANN).write_text("MEMORY.md", "x")
        locks: Any = traits_of(store).locks
        [connection] = locks._idle
        del store
    import gc

    gc.collect()
    assert connection.closed


def test_the_store_of_the_running_graph_can_be_the_workspace() -> None:
    workspace = StoreWorkspace(get_store, ("longthread",))
    later: list[ScopedWorkspace] = []

    def node(state: MessagesState) -> dict[str, Any]:
        view = workspace.scoped(ANN)
        view.append_text("log.md", str(state["messages"][-1].content))
        later.append(view)
        return {}

    async def asynchronous_node(state: MessagesState) -> dict[str, Any]:
        return await asyncio.to_thread(node, state)

    early = workspace.scoped(ANN)
    with pytest.raises(WorkspaceError, match="compile the graph with a store"):
        early.read_text("log.md")
    store = InMemoryStore()
    for function, run in ((node, False), (asynchronous_node, True)):
        builder = StateGraph(MessagesState)
        builder.add_node("node", function)
        builder.add_edge(START, "node")
        graph = builder.compile(store=store)
        question: Any = {"messages": [("user", f"{run}")]}
        if run:
            asyncio.run(graph.ainvoke(question))
        else:
            graph.invoke(question)
    later[0].append_text("log.md", "from the background")
    # Background work that asks for its files after the run finds those of the latest one.
    assert workspace.scoped(ANN).read_text("log.md") == "False\nTrue\nfrom the background\n"
    assert early.read_text("log.md") == workspace.scoped(ANN).read_text("log.md")
