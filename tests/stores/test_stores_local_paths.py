"""The local workspace: where files are, and what may not leave it."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longthread.state.errors import WorkspaceError
from longthread.stores import LocalWorkspace, Owner, ScopedWorkspace


def everything_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_files_lie_where_the_documentation_says(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path)
    view = workspace.scoped(Owner("ann", "coder"))
    view.write_text("MEMORY.md", "x")
    view.write_text("memory/2026-11-30.md", "x")
    view.write_text("global/MEMORY.md", "x")
    view.update_json("flush/t1", lambda _: {"a": 1})
    view.update_json("global/maintenance", lambda _: {"a": 1})
    workspace.scoped(Owner(None, "coder")).write_text("MEMORY.md", "x")
    found = everything_below(tmp_path)
    assert {path for path in found if not path.startswith(".longthread/locks/")} == {
        "users/ann/agents/coder/MEMORY.md",
        "users/ann/agents/coder/memory/2026-11-30.md",
        "users/ann/agents/coder/.longthread/flush/t1.json",
        "users/ann/global/MEMORY.md",
        "users/ann/global/.longthread/maintenance.json",
        "users/_default/agents/coder/MEMORY.md",
    }


def test_a_user_called_default_does_not_get_the_folder_of_no_user(tmp_path: Path) -> None:
    workspace = LocalWorkspace(tmp_path)
    workspace.scoped(Owner("_default", "coder")).write_text("MEMORY.md", "x")
    assert not (tmp_path / "users" / "_default").exists()


def test_making_a_workspace_creates_nothing(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    view = LocalWorkspace(root).scoped(Owner("ann", "coder"))
    view.read_text("MEMORY.md")
    view.list_files()
    view.read_json("x")
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_is_a_file_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(WorkspaceError, match=r"file' is a file; name a folder"):
        LocalWorkspace(file)


@pytest.mark.parametrize("root", ["", "a\0b"])
def test_a_root_that_is_no_path_is_refused_at_once(root: str) -> None:
    with pytest.raises(WorkspaceError, match="root"):
        LocalWorkspace(root)


def test_a_relative_root_is_fixed_when_the_workspace_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = LocalWorkspace("here")
    monkeypatch.chdir("/")
    assert workspace.root == str(tmp_path / "here")
    workspace.scoped(Owner("ann", "coder")).write_text("MEMORY.md", "x")
    assert (tmp_path / "here" / "users").is_dir()


def test_the_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert LocalWorkspace("~/agents").root == str(tmp_path / "agents")


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    LocalWorkspace(tmp_path / "link").scoped(Owner("ann", "coder")).write_text("MEMORY.md", "x")
    view = LocalWorkspace(tmp_path / "real").scoped(Owner("ann", "coder"))
    assert view.read_text("MEMORY.md") == "x"


def refuses_everything(view: ScopedWorkspace, path: str) -> None:
    with pytest.raises(WorkspaceError, match="leaves the workspace through a link"):
        view.read_text(path)
    with pytest.raises(WorkspaceError, match="link"):
        view.read_chars(path)
    with pytest.raises(WorkspaceError, match="link"):
        view.write_text(path, "evil")
    with pytest.raises(WorkspaceError, match="link"):
        view.append_text(path, "evil")
    with pytest.raises(WorkspaceError, match="link"):
        view.update_text(path, lambda _: "evil")
    with pytest.raises(WorkspaceError, match="link"):
        view.update_texts([path], lambda _: {path: "evil"})
    with pytest.raises(WorkspaceError, match="link"):
        view.delete(path)
    with pytest.raises(WorkspaceError, match="link"):
        view.exists(path)
    assert path not in view.list_files()


def test_a_file_link_that_leaves_the_workspace_is_refused(
    scope: ScopedWorkspace, home: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    home.mkdir(parents=True)
    (home / "MEMORY.md").symlink_to(secret)
    refuses_everything(scope, "MEMORY.md")
    assert secret.read_text() == "secret"


def test_a_parent_link_that_leaves_the_workspace_is_refused(
    scope: ScopedWorkspace, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("secret")
    home.mkdir(parents=True)
    (home / "memory").symlink_to(outside)
    refuses_everything(scope, "memory/x.md")
    refuses_everything(scope, "memory/new/y.md")
    with pytest.raises(WorkspaceError, match="link"):
        scope.list_files("memory")
    assert everything_below(outside) == {"x.md"}


def test_a_dangling_link_cannot_be_used_to_create_a_file_outside(
    scope: ScopedWorkspace, home: Path, tmp_path: Path
) -> None:
    home.mkdir(parents=True)
    (home / "x.md").symlink_to(tmp_path / "not-yet")
    refuses_everything(scope, "x.md")
    assert not (tmp_path / "not-yet").exists()


@pytest.mark.parametrize("linked", ["users", "users/ann", "users/ann/agents/coder"])
def test_a_link_to_another_users_files_is_refused(
    local: LocalWorkspace, tmp_path: Path, linked: str
) -> None:
    bob = local.scoped(Owner("bob", "coder"))
    bob.write_text("MEMORY.md", "bob's")
    link = tmp_path / "root" / linked
    target = tmp_path / "root" / linked.replace("ann", "bob")
    if linked == "users":
        os.rename(target, tmp_path / "elsewhere")
        target = tmp_path / "elsewhere"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    with pytest.raises(WorkspaceError, match="link"):
        local.scoped(Owner("ann", "coder")).read_text("MEMORY.md")


def test_the_hidden_folder_behind_a_link_is_refused(
    scope: ScopedWorkspace, home: Path, tmp_path: Path
) -> None:
    home.mkdir(parents=True)
    (home / ".longthread").symlink_to(tmp_path)
    with pytest.raises(WorkspaceError, match="link"):
        scope.update_json("cursor", lambda _: {"a": 1})
    assert not (tmp_path / "cursor.json").exists()


def test_a_user_behind_a_link_is_not_erased(local: LocalWorkspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("x")
    (tmp_path / "root" / "users").mkdir(parents=True)
    (tmp_path / "root" / "users" / "ann").symlink_to(outside)
    with pytest.raises(WorkspaceError, match="link"):
        local.erase_user("ann")
    assert (outside / "x").exists()


def test_a_link_inside_the_users_folder_works(scope: ScopedWorkspace, home: Path) -> None:
    scope.write_text("global/MEMORY.md", "shared")
    home.mkdir(parents=True)
    (home / "MEMORY.md").symlink_to(home.parents[1] / "global" / "MEMORY.md")
    assert scope.read_text("MEMORY.md") == "shared"
    scope.append_text("MEMORY.md", "more")
    assert scope.read_text("global/MEMORY.md") == "shared\nmore\n"
    assert (home / "MEMORY.md").is_symlink()
    assert scope.list_files() == ["MEMORY.md"]


def test_links_that_form_a_circle_are_an_error_not_a_hang(
    scope: ScopedWorkspace, home: Path
) -> None:
    home.mkdir(parents=True)
    (home / "a.md").symlink_to(home / "b.md")
    (home / "b.md").symlink_to(home / "a.md")
    (home / "memory").mkdir()
    (home / "memory" / "up").symlink_to(home)
    with pytest.raises(WorkspaceError, match=r"a\.md|b\.md"):
        scope.read_text("a.md")
    scope.write_text("memory/x.md", "x")
    assert scope.list_files() == ["memory/x.md"]


def test_names_that_no_path_can_spell_are_not_listed(scope: ScopedWorkspace, home: Path) -> None:
    scope.write_text("ok.md", "x")
    (home / "back\\slash.md").write_text("x")
    (home / "line\nbreak.md").write_text("x")
    (home / ".longthread-0011.tmp").write_text("left by a crash")
    with open(os.fsencode(home) + b"/\xff.md", "w") as file:
        file.write("x")
    assert scope.list_files() == ["ok.md"]


def test_a_pipe_is_an_error_not_a_hang(scope: ScopedWorkspace, home: Path) -> None:
    home.mkdir(parents=True)
    os.mkfifo(home / "pipe.md")
    with pytest.raises(WorkspaceError, match=r"pipe\.md.*not a file"):
        scope.read_text("pipe.md")
    with pytest.raises(WorkspaceError, match=r"pipe\.md"):
        scope.update_text("pipe.md", lambda _: "x")
    assert not scope.exists("pipe.md")
    assert scope.list_files() == []


def test_locks_do_not_show_in_listings(scope: ScopedWorkspace) -> None:
    scope.write_text("global/a.md", "x")
    scope.append_text("b.md", "x")
    scope.update_json("c", lambda _: {"a": 1})
    assert scope.list_files() == ["b.md"]
    assert scope.list_files("global") == ["global/a.md"]
    assert scope.list_json() == ["c"]


def test_nothing_that_shows_in_a_repr_is_secret_or_missing(
    local: LocalWorkspace, scope: ScopedWorkspace
) -> None:
    assert local.root in repr(local)
    assert "'ann'" in repr(scope)
    assert "'coder'" in repr(scope)


@given(st.text(min_size=1, max_size=40) | st.text("./\\\\aA~ ", min_size=1, max_size=8))
def test_whatever_a_user_is_called_their_files_are_in_one_folder_of_their_own(user: str) -> None:
    with tempfile.TemporaryDirectory() as root:
        try:
            view = LocalWorkspace(f"{root}/w").scoped(Owner(user, "coder"))
        except WorkspaceError:
            assert any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in user)
            return
        view.write_text("MEMORY.md", "x")
        [folder] = Path(root, "w", "users").iterdir()
        assert os.listdir(root) == ["w"]
        assert (folder / "agents" / "coder" / "MEMORY.md").read_text() == "x"
