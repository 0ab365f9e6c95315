"""The local workspace under several threads and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from longthread.state.errors import WorkspaceError
from longthread.stores import LocalWorkspace, Owner, ScopedWorkspace, read_entries
from longthread.stores.locks import hold_locks

APPENDER = """
import sys
from datetime import datetime, timedelta, timezone
from longthread.stores import LedgerMarker, LocalWorkspace, Owner, append_entry

root, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
view = LocalWorkspace(root).scoped(Owner("ann", "coder"))
moment = datetime(2026, 11, 30, 9, 30, tzinfo=timezone(timedelta(hours=1)))
for step in range(count):
    marker = LedgerMarker(f"t{number}", f"m{step}", f"m{step}")
    append_entry(view, moment, f"fact {number}.{step}\\n## 10:00\\n" + "x" * 200, marker)
    view.update_text("count.txt", lambda old: str(int(old or "0") + 1))
    view.update_json("count", lambda old: {"n": (old or {"n": 0})["n"] + 1})
"""
ONCE = """
import sys
from datetime import datetime, timezone
from longthread.stores import LedgerMarker, LocalWorkspace, Owner, append_entry

view = LocalWorkspace(sys.argv[1]).scoped(Owner("ann", "coder"))
for step in range(20):
    marker = LedgerMarker("t", f"m{step}", f"m{step}")
    append_entry(view, datetime(2026, 11, 30, tzinfo=timezone.utc), "fact", marker, once=True)
"""
WRITER = """
import sys
from longthread.stores import LocalWorkspace, Owner

view = LocalWorkspace(sys.argv[1]).scoped(Owner("ann", "coder"))
print("ready", flush=True)
while True:
    for letter in "ab":
        view.write_text("MEMORY.md", letter * 200_000)
        view.append_text("log.md", letter * 20_000)
"""


def start(script: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_four_processes_lose_nothing_and_never_interleave(
    scope: ScopedWorkspace, local: LocalWorkspace
) -> None:
    processes = [start(APPENDER, local.root, number, 250) for number in range(4)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 4
    text = scope.read_text("memory/2026-11-30.md")
    assert text is not None
    assert text.count("# 2026-11-30\n") == 1
    assert text.startswith("# 2026-11-30\n\n## 09:30\n")
    entries = read_entries(text)
    assert len(entries) == 1_000
    by_thread: dict[str, list[str]] = {}
    for entry in entries:
        assert entry.marker is not None
        number, step = entry.marker.thread[1:], entry.marker.first[1:]
        assert entry.body == f"fact {number}.{step}\n## 10:00\n" + "x" * 200
        by_thread.setdefault(entry.marker.thread, []).append(entry.marker.first)
    assert by_thread == {f"t{n}": [f"m{step}" for step in range(250)] for n in range(4)}
    assert scope.read_text("count.txt") == "1000"
    assert scope.read_json("count") == {"n": 1_000}


def test_two_workers_on_one_thread_write_each_entry_once(
    scope: ScopedWorkspace, local: LocalWorkspace
) -> None:
    processes = [start(ONCE, local.root) for _ in range(3)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0] * 3
    entries = read_entries(scope.read_text("memory/2026-11-30.md") or "")
    firsts = [entry.marker.first for entry in entries if entry.marker]
    assert sorted(firsts) == sorted(f"m{step}" for step in range(20))


def test_a_reader_and_a_survivor_never_see_half_of_a_killed_write(
    scope: ScopedWorkspace, local: LocalWorkspace
) -> None:
    whole = {"a" * 200_000, "b" * 200_000}
    for _ in range(3):
        process = start(WRITER, local.root)
        assert process.stdout is not None
        process.stdout.readline()
        for _ in range(50):
            assert (scope.read_text("MEMORY.md") or "a" * 200_000) in whole
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert scope.read_text("MEMORY.md") in {*whole, None}
    scope.write_text("MEMORY.md", "free again")
    scope.append_text("log.md", "last")
    assert ("\n" + (scope.read_text("log.md") or "")).endswith("\nlast\n")
    assert set(scope.list_files()) <= {"MEMORY.md", "log.md"}


def test_changing_a_file_from_inside_its_own_change_is_an_error_not_a_deadlock(
    scope: ScopedWorkspace, local: LocalWorkspace
) -> None:
    again = LocalWorkspace(local.root).scoped(Owner("ann", "coder"))

    def nested(_: str | None) -> str:
        again.append_text("MEMORY.md", "lost")
        return "new"

    with pytest.raises(WorkspaceError, match=r"MEMORY\.md' while this same call is changing it"):
        scope.update_text("MEMORY.md", nested)
    assert not scope.exists("MEMORY.md")
    assert scope.update_text("MEMORY.md", lambda _: "free again") == "free again"


def test_changing_another_file_from_inside_a_change_works(scope: ScopedWorkspace) -> None:
    def nested(_: str | None) -> str:
        scope.append_text("log.md", "both")
        assert scope.read_text("MEMORY.md") is None
        return "both"

    scope.update_text("MEMORY.md", nested)
    assert scope.read_text("log.md") == "both\n"
    assert scope.read_text("MEMORY.md") == "both"


def test_files_named_in_any_order_do_not_deadlock(scope: ScopedWorkspace) -> None:
    def work(paths: list[str]) -> None:
        for _ in range(30):
            scope.update_texts(paths, lambda old: {p: f"{old[p] or ''}x" for p in paths})

    orders = [["a.md", "b.md", "c.md"], ["c.md", "b.md", "a.md"], ["b.md", "c.md", "a.md", "a.md"]]
    threads = [threading.Thread(target=work, args=(paths,)) for paths in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {scope.read_text(path) for path in ("a.md", "b.md", "c.md")} == {"x" * 90}


def test_spellings_that_some_systems_merge_share_a_lock(tmp_path: Path) -> None:
    with hold_locks(str(tmp_path), ["/x/MEMORY.md"], timeout=1):
        for same in ["/x/memory.md", "/X/Memory.MD"]:
            with pytest.raises(WorkspaceError), hold_locks(str(tmp_path), [same], timeout=1):
                pass
        with hold_locks(str(tmp_path), ["/x/other.md"], timeout=1):
            pass


def test_waiting_for_a_lock_ends_with_an_error(tmp_path: Path) -> None:
    impatient = LocalWorkspace(tmp_path, lock_timeout=0.05).scoped(Owner("ann", "coder"))
    held, done = threading.Event(), threading.Event()

    def hold(_: str | None) -> None:
        held.set()
        done.wait()

    thread = threading.Thread(target=impatient.update_text, args=("MEMORY.md", hold))
    thread.start()
    held.wait()
    try:
        with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*more than 0\.05 seconds"):
            impatient.append_text("MEMORY.md", "x")
        assert impatient.read_text("MEMORY.md") is None
        impatient.append_text("other.md", "x")
    finally:
        done.set()
        thread.join()
    assert impatient.append_text("MEMORY.md", "x")
