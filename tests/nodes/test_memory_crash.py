"""A crash before or after any single file operation loses nothing and writes nothing twice."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted
from langchain_core.messages import BaseMessage
from memory_desk import Clock, Desk, between, quick_disk, talk, workspace_of

from longthread.stores.workspace import Owner, ScopedWorkspace

OPERATIONS = {
    *("append_text", "delete", "exists", "list_files", "read_json", "read_text"),
    *("update_json", "update_text", "update_texts", "write_text"),
}


class Crash(BaseException):
    """The process is gone."""


class CrashingWorkspace:
    """Dies at one file operation, counted from 0: right before it, or right after."""

    def __init__(self, kind: str, folder: Path, at: int, *, after: bool) -> None:
        self.inner = workspace_of(kind, folder)
        self.at, self.after, self.count = at, after, -1

    def scoped(self, owner: Owner) -> ScopedWorkspace:
        return CrashingScope(self, self.inner.scoped(owner))

    def erase_user(self, user: str | None) -> bool:
        return self.inner.erase_user(user)


class CrashingScope:
    def __init__(self, workspace: CrashingWorkspace, inner: ScopedWorkspace) -> None:
        self.workspace, self.inner = workspace, inner

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in OPERATIONS:
            return method

        def operated(*args: Any, **kwargs: Any) -> Any:
            self.workspace.count += 1
            here = self.workspace.count == self.workspace.at
            if here and not self.workspace.after:
                raise Crash
            result = method(*args, **kwargs)
            if here:
                raise Crash
            return result

        return operated


def facts_said(messages: list[BaseMessage]) -> str:
    new = between(str(messages[-1].content), "conversation")
    return "\n".join(f"- {fact}" for fact in re.findall(r"Fact \w+\.", new)) or "NO_REPLY"


def everything(messages: list[BaseMessage]) -> str:
    facts = re.findall(r"Fact \w+\.", str(messages[-1].content))
    return "\n".join(f"- {fact}" for fact in dict.fromkeys(facts))


def script() -> Scripted:
    return Scripted(facts=facts_said, memory=everything)


FIRST, SECOND = talk("Fact one."), talk("Fact one.", "Fact two.")


def flush_and_consolidate(desk: Desk) -> None:
    desk.flush(SECOND)
    desk.consolidate()


def prepared(kind: str, folder: Path, clock: Clock) -> None:
    """A memory with a consolidated fact and a ledger that is due for the archive."""
    desk = Desk(folder, script(), kind=kind, daily_file_retention_days=1)
    desk.flush(FIRST)
    desk.consolidate()
    clock.moves(days=3)


def crash_at(kind: str, folder: Path, at: int, *, after: bool, clock: Clock) -> bool:
    """Do the work and die on the way; return whether it got that far."""
    prepared(kind, folder, clock)
    workspace = CrashingWorkspace(kind, folder, at, after=after)
    desk = Desk(folder, script(), workspace=workspace, daily_file_retention_days=1)
    try:
        flush_and_consolidate(desk)
    except Crash:
        return True
    return False


@pytest.mark.parametrize("kind", ["local", "store"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_at_any_operation_is_made_up_for(
    kind: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_disk(monkeypatch)
    at = 0
    while True:
        folder = tmp_path / str(at)
        clock = Clock(monkeypatch)
        if not crash_at(kind, folder, at, after=after, clock=clock):
            break
        desk = Desk(folder, script(), kind=kind, daily_file_retention_days=1)
        assert (desk.memory or "").splitlines()[0] == "- Fact one. <!-- 2026-03-02 -->", at
        flush_and_consolidate(desk)
        assert Counter(re.findall(r"Fact \w+", desk.ledgers)) == {"Fact one": 1, "Fact two": 1}, at
        assert desk.memory == (
            "- Fact one. <!-- 2026-03-02 -->\n- Fact two. <!-- 2026-03-05 -->\n"
        ), at
        assert desk.files.list_files("memory") == [
            "memory/2026-03-05.md",
            "memory/archive/2026-03-02.md",
        ], at
        desk.consolidate()
        asked = len(desk.script.asked["memory"])
        desk.consolidate()
        assert len(desk.script.asked["memory"]) == asked  # everything is known to be merged
        at += 1
    assert at > 25  # so many operations there were


@pytest.mark.parametrize("days", [1, 2, 5, 40])
def test_a_crash_before_the_cursor_moved_is_made_up_for_days_later(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    Desk(tmp_path, script()).flush(FIRST)
    at = 0
    while True:  # the crash right after the ledger was written, wherever that is
        workspace = CrashingWorkspace("local", tmp_path, at, after=True)
        try:
            Desk(tmp_path, script(), workspace=workspace).flush(SECOND)
        except Crash:
            if "Fact two." in Desk(tmp_path, script()).ledgers:
                break
        at += 1
    clock.moves(days=days)
    desk = Desk(tmp_path, script())
    desk.flush(talk("Fact one.", "Fact two.", "Fact three."))
    assert Counter(re.findall(r"Fact \w+", desk.ledgers)) == {
        "Fact one": 1,
        "Fact two": 1,
        "Fact three": 1,
    }
    assert "Fact two." not in between(desk.asked("facts")[0], "conversation")
