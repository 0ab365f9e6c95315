"""The folder that the model may see, and nothing outside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from longthread.apps.chat.folder import MAX_BYTES, Folder
from longthread.apps.chat.reading_tools import reading_tools
from longthread.state.errors import ToolInputError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src/a.py").write_text("one\ntwo needle\nthree\n")
    (tmp_path / "secret.txt").write_text("needle in a secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/b.txt").write_text("needle outside")
    return root


@pytest.fixture
def use(root: Path) -> Any:
    tools = {tool.name: tool for tool in reading_tools(Folder(root, [root / "auth.json"]))}
    return lambda name, **arguments: str(tools[name].invoke(arguments))


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "src/../../secret.txt",
        "/etc/passwd",
        "link/b.txt",
        "file-link",
        "src/\0",
        "src/..",
        "\udc80",
        "auth.json",
        "to-auth",
    ],
)
def test_no_path_leads_out(root: Path, use: Any, path: str) -> None:
    (root / "link").symlink_to("../outside")
    (root / "file-link").symlink_to("../secret.txt")
    (root / "auth.json").write_text("needle key")
    (root / "to-auth").symlink_to("auth.json")
    for name in ("view_file", "list_files", "search_files"):
        given = {"query": "needle"} if name == "search_files" else {}
        shown = use(name, path=path, **given)
        assert shown.startswith("Error: "), shown
        assert "needle " not in shown
    with pytest.raises(ToolInputError):
        Folder(root, [root / "auth.json"]).write(path, "x")
    assert (root.parent / "secret.txt").read_text() == "needle in a secret"


def test_a_search_follows_no_link_and_shows_nothing_hidden(root: Path, use: Any) -> None:
    (root / "link").symlink_to("../outside")
    (root / "loop").symlink_to(".")
    (root / "file-link").symlink_to("../secret.txt")
    (root / "auth.json").write_text("needle key")
    (root / ".git").mkdir()
    (root / ".git/x").write_text("needle")
    assert use("search_files", query="NEEDLE") == "src/a.py:2: two needle"
    assert use("search_files", query="nothing like it") == "No matches."
    assert "auth.json" not in use("list_files")
    assert "link (link)" in use("list_files")


@pytest.mark.parametrize(
    "name",
    [
        "proj/auth.json",
        "proj/.env",
        ".env.local",
        "a/b/Server.PEM",
        "id_rsa",
        ".ssh/config",
        "x.key",
    ],
)
def test_what_usually_holds_keys_is_not_to_be_seen_wherever_it_is(
    name: str, root: Path, use: Any
) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text("sesame")
    (root / "link").symlink_to(name)
    for path in (name, "link"):
        assert "is not to be seen" in use("view_file", path=path)
        assert "is not to be seen" in use("search_files", path=path, query="sesame")
        with pytest.raises(ToolInputError, match="is not to be seen"):
            Folder(root).write(path, "x")
    folder, _, last = name.rpartition("/")
    if not folder.startswith(".ssh"):
        assert last not in use("list_files", path=folder)
    assert use("search_files", query="sesame") == "No matches."
    assert (root / name).read_text() == "sesame"


@pytest.mark.parametrize(
    "name", [".env.example", "environment", "keys.py", "id_rsa.pub", "pem.txt"]
)
def test_what_is_only_named_alike_is_seen(name: str, root: Path, use: Any) -> None:
    (root / name).write_text("open")
    assert use("view_file", path=name) == "open"


def test_a_link_inside_is_followed(root: Path, use: Any) -> None:
    (root / "inside").symlink_to("src/a.py")
    assert use("view_file", path="inside") == "one\ntwo needle\nthree"


def test_files_that_are_no_text_are_named(root: Path, use: Any) -> None:
    (root / "x.bin").write_bytes(b"MZ\0\1")
    with open(root / "huge.log", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    os.mkfifo(root / "pipe")
    assert use("view_file", path="x.bin") == "x.bin: binary file, 4 bytes"
    assert "too large to read" in use("view_file", path="huge.log")
    assert "no regular file" in use("view_file", path="pipe")
    assert "no such file" in use("view_file", path="nowhere").lower()
    assert use("search_files", query="MZ") == "No matches."


def test_a_file_is_read_by_pages(root: Path, use: Any) -> None:
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    first = use("view_file", path="long.txt")
    assert first.startswith("line 1\n")
    assert first.endswith("line 400\n(lines 1 to 400 of 1000)")
    assert use("view_file", path="long.txt", offset=1000) == "line 1000"
    assert "has 1000 lines" in use("view_file", path="long.txt", offset=1001)
    (root / "wide.txt").write_text("x" * 100_000)
    assert len(use("view_file", path="wide.txt")) < 17_000


def test_writing_replaces_a_file_as_a_whole_and_keeps_its_mode(root: Path) -> None:
    folder = Folder(root)
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o755)
    assert folder.write("run.sh", "néw") == 4
    assert (root / "run.sh").read_text() == "néw"
    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
    with pytest.raises(ToolInputError, match="is a folder"):
        folder.write("src", "x")
    assert sorted(p.name for p in root.iterdir()) == ["run.sh", "src"]
