"""Fixtures for the thread journal: the same tests on every kind of checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore
from notebooks import Notebook, opened, opened_async

from longthread import StoreWorkspace
from longthread.stores import Workspace

KINDS = ("memory", "sqlite", "postgres", "store")
"""`store`: a SQLite checkpointer, and the registry in a LangGraph store."""


def place(kind: str, folder: Path) -> Path | Workspace:
    """Where the registry is."""
    return StoreWorkspace(InMemoryStore(), ("w",)) if kind == "store" else folder / "workspace"


@pytest.fixture(params=KINDS)
def notebook(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Notebook]:
    """Ann's threads in every kind of checkpointer."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    with opened(request.param.replace("store", "sqlite"), tmp_path, url) as saver:
        yield Notebook(saver, place(request.param, tmp_path))


@pytest.fixture(params=KINDS)
async def anotebook(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Notebook]:
    """Ann's threads in every kind of asynchronous checkpointer."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    async with opened_async(request.param.replace("store", "sqlite"), tmp_path, url) as saver:
        yield Notebook(saver, place(request.param, tmp_path))


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Notebook]:
    """Ann's threads in SQLite, where the index is a file of the workspace."""
    with opened("sqlite", tmp_path) as saver:
        yield Notebook(saver, tmp_path / "workspace")
