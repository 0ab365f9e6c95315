"""Fixtures for the stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore
from plain_stores import PlainStore
from postgres_server import postgres_database
from workspaces import SHARED_KINDS, Shared, opened_workspace

from longthread import StoreWorkspace
from longthread.stores import LocalWorkspace, Owner, ScopedWorkspace, Workspace

STORES = ["store-memory", "store-sqlite", "store-postgres", "store-plain"]


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a checkpointer of the kind that is asked for."""
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite-memory":
            return "sqlite:///:memory:"
        case "sqlite":
            return f"sqlite:///{tmp_path}/folder/threads.db"
        case _:
            found: str = request.getfixturevalue("postgres_url")
            return found


@pytest.fixture(scope="session")
def shared_postgres(postgres: str) -> Iterator[str]:
    """The URL of a PostgreSQL database with a store in it, which all tests share."""
    with postgres_database(postgres) as url:
        with PostgresStore.from_conn_string(url) as store:
            store.setup()
        yield url


@contextmanager
def opened_store(kind: str, request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    """Open an empty store, or one in whose other namespaces there may be something."""
    if kind == "store-memory":
        yield InMemoryStore()
    elif kind == "store-plain":
        yield PlainStore(InMemoryStore())
    elif kind == "store-sqlite":
        file: Path = request.getfixturevalue("tmp_path") / "store.db"
        with SqliteStore.from_conn_string(str(file)) as sqlite:
            sqlite.setup()
            sqlite.conn.execute("PRAGMA synchronous = OFF")
            yield sqlite
    else:
        assert kind == "store-postgres"
        url: str = request.getfixturevalue("shared_postgres")
        with PostgresStore.from_conn_string(url) as postgres:
            yield postgres


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[BaseStore]:
    """Every kind of store."""
    with opened_store(request.param, request) as opened:
        yield opened


@pytest.fixture
def namespace() -> tuple[str, ...]:
    """A namespace of this test's own."""
    return ("longthread", uuid4().hex)


@pytest.fixture(params=["local", *STORES])
def make_workspace(
    request: pytest.FixtureRequest, namespace: tuple[str, ...]
) -> Iterator[Callable[..., Workspace]]:
    """Every kind of workspace: makes views of one and the same, with the keywords that it gets."""
    if request.param == "local":
        yield partial(LocalWorkspace, request.getfixturevalue("tmp_path") / "root")
    else:
        with opened_store(request.param, request) as opened:
            yield partial(StoreWorkspace, opened, namespace)


@pytest.fixture
def workspace(make_workspace: Callable[..., Workspace]) -> Workspace:
    """Every kind of workspace: a test that takes this fixture states what they have in common."""
    return make_workspace()


@pytest.fixture(params=SHARED_KINDS)
def shared(request: pytest.FixtureRequest, namespace: tuple[str, ...]) -> Iterator[Shared]:
    """Every kind of workspace that processes can share."""
    if request.param == "store-postgres":
        address: str = request.getfixturevalue("shared_postgres")
    else:
        address = str(request.getfixturevalue("tmp_path") / "shared")
    arguments = (request.param, address, namespace[-1])
    with opened_workspace(*arguments) as workspace:
        yield Shared(arguments, workspace.scoped(Owner("ann", "coder")))


@pytest.fixture
def view(workspace: Workspace) -> ScopedWorkspace:
    """The files of one owner, in every kind of workspace."""
    return workspace.scoped(Owner("ann", "coder"))


@pytest.fixture
def local(tmp_path: Path) -> LocalWorkspace:
    """A workspace on the local disk."""
    return LocalWorkspace(tmp_path / "root", lock_timeout=20)


@pytest.fixture
def scope(local: LocalWorkspace) -> ScopedWorkspace:
    """The files of one owner on the local disk."""
    return local.scoped(Owner("ann", "coder"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of `scope` on the disk."""
    return tmp_path / "root" / "users" / "ann" / "agents" / "coder"
