"""The local workspace when the disk, or what is on it, is not as it should be."""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longthread.state.errors import LongthreadError, WorkspaceError
from longthread.stores import JsonRecord, LocalWorkspace, Owner, ScopedWorkspace


def failing(code: int, when: Callable[..., bool], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    return call


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "locks" not in path.parts
    }


def test_a_full_disk_while_replacing_keeps_the_old_file_and_leaves_nothing_behind(
    scope: ScopedWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text("MEMORY.md", "old")
    before = everything(tmp_path)
    monkeypatch.setattr(os, "replace", failing(errno.ENOSPC, lambda *_: True, os.replace))
    with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*No space left.*ENOSPC.*free") as error:
        scope.write_text("MEMORY.md", "new")
    assert isinstance(error.value, LongthreadError)
    assert error.value.code == "WORKSPACE_ERROR"
    assert isinstance(error.value.__cause__, OSError)
    with pytest.raises(WorkspaceError, match="ENOSPC"):
        scope.update_text("MEMORY.md", lambda _: "new")
    with pytest.raises(WorkspaceError, match="ENOSPC"):
        scope.update_json("cursor", lambda _: {"a": 1})
    assert everything(tmp_path) == before


def test_a_full_disk_while_syncing_keeps_the_old_file_and_leaves_nothing_behind(
    scope: ScopedWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text("MEMORY.md", "old")
    before = everything(tmp_path)
    monkeypatch.setattr(os, "fsync", failing(errno.EDQUOT, lambda *_: True, os.fsync))
    with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*EDQUOT"):
        scope.write_text("MEMORY.md", "new")
    assert everything(tmp_path) == before


def test_an_append_that_fails_half_way_is_taken_back(
    scope: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.append_text("log.md", "whole")
    write = os.write
    calls = []

    def half(descriptor: int, data: bytes) -> int:
        calls.append(len(data))
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, bytes(data)[:3])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(WorkspaceError, match=r"append to.*log\.md'.*ENOSPC"):
        scope.append_text("log.md", "half of this would stay")
    monkeypatch.undo()
    assert calls[1] == calls[0] - 3
    assert scope.read_text("log.md") == "whole\n"


def test_an_append_goes_on_after_a_short_write(
    scope: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data)[:7]))
    scope.append_text("log.md", "a line much longer than seven bytes")
    assert scope.read_text("log.md") == "a line much longer than seven bytes\n"


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO])
def test_a_disk_that_cannot_be_written_gives_an_error_with_path_and_reason(
    scope: ScopedWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    scope.write_text("MEMORY.md", "old")
    writing = os.O_WRONLY | os.O_RDWR
    when = lambda path, flags, *_: "agents" in str(path) and flags & writing  # noqa: E731
    monkeypatch.setattr(os, "open", failing(code, when, os.open))
    for change in (
        lambda: scope.write_text("MEMORY.md", "new"),
        lambda: scope.append_text("MEMORY.md", "new"),
        lambda: scope.update_text("MEMORY.md", lambda _: "new"),
        lambda: scope.update_texts(["MEMORY.md"], lambda _: {"MEMORY.md": "new"}),
        lambda: scope.update_json("cursor", lambda _: {"a": 1}),
    ):
        with pytest.raises(WorkspaceError) as error:
            change()
        assert str(home) in str(error.value)
        assert os.strerror(code) in str(error.value)
        assert errno.errorcode[code] in str(error.value)
    assert scope.read_text("MEMORY.md") == "old"


def test_a_lock_that_cannot_be_created_gives_an_error_with_path_and_reason(
    scope: ScopedWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".longthread").write_text("a file where a folder should be")
    with pytest.raises(WorkspaceError, match=r"cannot lock.*MEMORY\.md'.*parent folder"):
        scope.write_text("MEMORY.md", "x")


def test_a_disk_that_cannot_be_read_gives_an_error_with_path_and_reason(
    scope: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text("MEMORY.md", "x")
    monkeypatch.setattr(os, "open", failing(errno.EACCES, lambda *_: True, os.open))
    monkeypatch.setattr(os, "scandir", failing(errno.EACCES, lambda *_: True, os.scandir))
    monkeypatch.setattr(os, "stat", failing(errno.EACCES, lambda *_: True, os.stat))
    for read in (
        lambda: scope.read_text("MEMORY.md"),
        lambda: scope.read_lines("MEMORY.md"),
        lambda: scope.info("MEMORY.md"),
        lambda: scope.list_files(),
    ):
        with pytest.raises(WorkspaceError, match=r"agents/coder.*Permission denied"):
            read()


def test_a_file_that_cannot_be_deleted_gives_an_error(
    scope: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text("MEMORY.md", "x")
    monkeypatch.setattr(os, "unlink", failing(errno.EPERM, lambda *_: True, os.unlink))
    with pytest.raises(WorkspaceError, match=r"cannot delete.*MEMORY\.md.*EPERM"):
        scope.delete("MEMORY.md")


def test_a_parent_that_is_a_file_is_absent_to_a_reader_and_an_error_to_a_writer(
    scope: ScopedWorkspace,
) -> None:
    scope.write_text("memory", "a file")
    assert scope.read_text("memory/x.md") is None
    assert not scope.exists("memory/x.md")
    assert not scope.delete("memory/x.md")
    assert scope.list_files("memory") == []
    for change in (
        lambda: scope.write_text("memory/x.md", "x"),
        lambda: scope.write_text("memory/y/x.md", "x"),
        lambda: scope.append_text("memory/x.md", "x"),
    ):
        with pytest.raises(WorkspaceError, match=r"memory/.*x\.md'.*parent folder of it is a file"):
            change()


def test_a_folder_in_the_place_of_a_file_is_an_error(scope: ScopedWorkspace) -> None:
    scope.write_text("memory/x.md", "x")
    for use in (
        lambda: scope.read_text("memory"),
        lambda: scope.write_text("memory", "x"),
        lambda: scope.append_text("memory", "x"),
        lambda: scope.delete("memory"),
    ):
        with pytest.raises(WorkspaceError, match="coder/memory'"):
            use()
    assert not scope.exists("memory")
    assert scope.list_files() == ["memory/x.md"]


def test_a_path_that_is_too_long_as_a_whole_is_an_error(scope: ScopedWorkspace) -> None:
    path = "/".join(["x" * 250] * 20)
    with pytest.raises(WorkspaceError, match="ENAMETOOLONG"):
        scope.write_text(path, "x")
    with pytest.raises(WorkspaceError, match="ENAMETOOLONG"):
        scope.read_text(path)
    with pytest.raises(WorkspaceError, match="ENAMETOOLONG"):
        scope.exists(path)


def test_a_change_of_several_files_that_fails_in_between_is_undone(
    scope: ScopedWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope.write_text("a.md", "a")
    scope.write_text("gone.md", "g")
    before = everything(tmp_path)
    failed = []

    def fails(_: str, target: str) -> bool:
        if target.endswith("/c.md"):
            failed.append(target)
        return target.endswith("/c.md")

    monkeypatch.setattr(os, "replace", failing(errno.ENOSPC, fails, os.replace))
    with pytest.raises(WorkspaceError, match=r"c\.md'.*ENOSPC"):
        scope.update_texts(
            ["a.md", "new/b.md", "gone.md", "c.md"],
            lambda _: {"a.md": "A", "new/b.md": "B", "gone.md": None, "c.md": "C"},
        )
    assert failed
    assert everything(tmp_path) == before


def test_a_change_of_several_files_that_cannot_be_undone_is_logged(
    scope: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scope.write_text("a.md", "a")
    seen: list[str] = []

    def second(_: str, target: str) -> bool:
        if target.endswith(".md"):  # not the note on what is about to change
            seen.append(target)
        return len(seen) > 1

    monkeypatch.setattr(os, "replace", failing(errno.EIO, second, os.replace))
    with pytest.raises(WorkspaceError, match=r"b\.md'.*EIO"):
        scope.update_texts(["a.md", "b.md"], lambda _: {"a.md": "A", "b.md": "B"})
    assert [r.levelname for r in caplog.records if r.name.startswith("longthread")] == ["ERROR"]
    assert "a.md" in caplog.text


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary())
@example(b"caf\xe9\n")
@example("😀".encode()[:3])
@example(b"\xff\xfe\x00a")
@example(b"\xed\xa0\x80")
def test_bytes_that_are_not_text_are_readable_and_survive_appends(
    scope: ScopedWorkspace, home: Path, data: bytes
) -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / "x.md").write_bytes(data)
    text = scope.read_text("x.md")
    assert text is not None
    assert text.encode("utf-8").decode("utf-8") == text
    if b"\\" not in data:
        shown = re.compile(rb"\\x([0-9a-f]{2})")
        assert shown.sub(lambda byte: bytes([int(byte[1], 16)]), text.encode("utf-8")) == data
    scope.append_text("x.md", "next")
    repaired = data if not data or data.endswith(b"\n") else data + b"\n"
    assert (home / "x.md").read_bytes() == repaired + b"next\n"


def test_a_byte_that_is_not_text_is_shown_by_its_value(scope: ScopedWorkspace, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "x.md").write_bytes(b"caf\xe9 \xe2\x82")
    assert scope.read_text("x.md") == r"caf\xe9 \xe2\x82"
    scope.update_text("x.md", lambda old: f"{old}!")
    assert (home / "x.md").read_bytes() == rb"caf\xe9 \xe2\x82!"


def test_a_byte_order_mark_stays(scope: ScopedWorkspace, home: Path) -> None:
    home.mkdir(parents=True)
    (home / "x.md").write_bytes(b"\xef\xbb\xbfa\r\n")
    scope.update_text("x.md", lambda old: f"{old}b\r\n")
    assert (home / "x.md").read_bytes() == b"\xef\xbb\xbfa\r\nb\r\n"


def test_permissions_of_an_existing_file_are_kept(scope: ScopedWorkspace, home: Path) -> None:
    scope.write_text("MEMORY.md", "x")
    (home / "MEMORY.md").chmod(0o640)
    scope.write_text("MEMORY.md", "y")
    assert (home / "MEMORY.md").stat().st_mode & 0o777 == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(scope: ScopedWorkspace, home: Path) -> None:
    mask = os.umask(0o027)
    try:
        scope.write_text("MEMORY.md", "x")
        scope.append_text("log.md", "x")
    finally:
        os.umask(mask)
    assert (home / "MEMORY.md").stat().st_mode & 0o777 == 0o640
    assert (home / "log.md").stat().st_mode & 0o777 == 0o640


def test_an_update_to_the_same_text_does_not_touch_the_file(
    scope: ScopedWorkspace, home: Path
) -> None:
    scope.write_text("MEMORY.md", "x")
    before = (home / "MEMORY.md").stat()
    scope.update_text("MEMORY.md", lambda old: old)
    scope.update_texts(["MEMORY.md"], dict)
    assert (home / "MEMORY.md").stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    "spoilt",
    [b"", b"{", b'{"a": 1', b"[1]", b"null", b"\xff\xfe{}", b"\0\0\0\0", b"[" * 100_000],
    ids=lambda data: repr(data[:10]),
)
def test_a_spoilt_record_counts_as_absent_with_one_warning(
    scope: ScopedWorkspace, home: Path, caplog: pytest.LogCaptureFixture, spoilt: bytes
) -> None:
    scope.update_json("cursor", lambda _: {"a": 1})
    (home / ".longthread" / "cursor.json").write_bytes(spoilt)
    with caplog.at_level(logging.WARNING):
        assert scope.read_json("cursor") is None
    warnings = [record for record in caplog.records if record.name.startswith("longthread")]
    assert len(warnings) == 1
    assert "cursor.json" in warnings[0].getMessage()
    caplog.clear()
    seen: list[object] = []

    def replaced(old: JsonRecord | None) -> JsonRecord:
        seen.append(old)
        return {"b": 2}

    scope.update_json("cursor", replaced)
    assert seen == [None]
    assert len([r for r in caplog.records if r.name.startswith("longthread")]) == 1
    assert scope.read_json("cursor") == {"b": 2}


def test_a_user_that_is_a_file_is_not_erased(local: LocalWorkspace, tmp_path: Path) -> None:
    (tmp_path / "root" / "users").mkdir(parents=True)
    (tmp_path / "root" / "users" / "ann").write_text("x")
    with pytest.raises(WorkspaceError, match="not a folder"):
        local.erase_user("ann")
    with pytest.raises(WorkspaceError, match="parent folder of it is a file"):
        local.scoped(Owner("ann", "coder")).write_text("MEMORY.md", "x")
