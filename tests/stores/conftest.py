"""Fixtures for the stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from longthread.stores import LocalWorkspace, Owner, ScopedWorkspace, Workspace


@pytest.fixture(params=["local"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """Every kind of workspace: a test that takes this fixture states what they have in common."""
    assert request.param == "local"
    return LocalWorkspace(tmp_path / "root")


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
