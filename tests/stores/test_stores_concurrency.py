"""One workspace under several processes: on the disk and in every kind of store alike."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
from workspaces import Shared

from longthread.stores import ScopedWorkspace, add_entry, entry_body, read_entries, split_memory
from longthread.stores.langgraph_store import writer as store_writer

DAY = date(2026, 3, 2)
SUPPORT = Path(__file__).parents[1] / "support"
OPEN = f"""
import sys
from datetime import date, datetime, timedelta, timezone
sys.path.insert(0, {str(SUPPORT)!r})
from longthread.stores import LedgerMarker, Owner, add_entry, append_entry
from workspaces import opened_workspace

kind, address, namespace, number, count = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
opened = opened_workspace(kind, address, namespace)
view = opened.__enter__().scoped(Owner("ann", "coder"))
moment = datetime(2026, 11, 30, 9, 30, tzinfo=timezone(timedelta(hours=1)))
"""
APPEND = """
for step in range(count):
    marker = LedgerMarker(f"t{number}", f"m{step}", f"m{step}")
    append_entry(view, moment, f"fact {number}.{step}\\n## 10:00\\n" + "x" * 200, marker)
"""
COUNT = """
for step in range(count):
    view.update_text("count.txt", lambda old: str(int(old or "0") + 1))
    view.update_json("count", lambda old: {"n": (old or {"n": 0})["n"] + 1})
    view.update_texts(["a.md", "b.md"], lambda old: {p: f"{t or ''}x" for p, t in old.items()})
    append_entry(view, moment, "fact", LedgerMarker("t", f"m{step}", f"m{step}"), once=True)
"""
SAVE = """
print("ready", flush=True)
for step in range(count):
    view.update_text("MEMORY.md", lambda old: add_entry(old, date(2026, 3, 2), f"{number}.{step}"))
"""
REWRITE_UNDER_THE_LOCK = """
def rewritten(old):
    print("reading", flush=True)
    sys.stdin.readline()
    return old.replace("first fact", "FIRST FACT")
view.update_text("MEMORY.md", rewritten)
"""
REWRITE_WHAT_WAS_READ = """
read = view.read_text("MEMORY.md")
print("reading", flush=True)
sys.stdin.readline()
new = read.replace("first fact", "FIRST FACT")
def merged(now):
    assert now.startswith(read)
    return new + now[len(read):]
view.update_text("MEMORY.md", merged)
"""
WRITE = """
print("ready", flush=True)
while True:
    for letter in "ab":
        view.write_text("MEMORY.md", letter * 200_000)
        view.append_text("log.md", letter * 20_000)
        view.update_texts(["1.md", "2.md"], lambda _: {"1.md": letter, "2.md": letter})
"""


@contextmanager
def running(
    script: str, shared: Shared, processes: int, count: int = 0
) -> Iterator[list[subprocess.Popen[str]]]:
    """Run a script in some processes; whatever happens, none of them stays."""
    started = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", OPEN + script, *shared.arguments, *map(str, two)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for two in ((number, count) for number in range(processes))
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def ended(processes: list[subprocess.Popen[str]]) -> bool:
    """Wait for processes; whether all of them ended well."""
    for process in processes:
        process.communicate()
    return [process.returncode for process in processes] == [0] * len(processes)


def bodies(view: ScopedWorkspace) -> list[str]:
    return [entry_body(part) for part in split_memory(view.read_text("MEMORY.md") or "")]


def test_eight_processes_append_to_one_ledger_and_lose_nothing(shared: Shared) -> None:
    # A store without locks in one SQLite file is all waiting: what it shows, it shows with fewer.
    count = 60 if shared.arguments[0] == "store-plain" else 1_000
    with running(APPEND, shared, 8, count) as processes:
        assert ended(processes)
    text = shared.view.read_text("memory/2026-11-30.md")
    assert text is not None
    assert text.count("# 2026-11-30\n") == 1
    assert text.startswith("# 2026-11-30\n\n## 09:30\n")
    by_thread: dict[str, list[str]] = {}
    for entry in read_entries(text):
        assert entry.marker is not None
        number, step = entry.marker.thread[1:], entry.marker.first[1:]
        assert entry.body == f"fact {number}.{step}\n## 10:00\n" + "x" * 200
        by_thread.setdefault(entry.marker.thread, []).append(entry.marker.first)
    assert by_thread == {f"t{n}": [f"m{step}" for step in range(count)] for n in range(8)}


def test_four_processes_lose_no_update_and_write_what_is_to_be_there_once_once(
    shared: Shared,
) -> None:
    with running(COUNT, shared, 4, 25) as processes:
        assert ended(processes)
    assert shared.view.read_text("count.txt") == "100"
    assert shared.view.read_json("count") == {"n": 100}
    assert shared.view.read_text("a.md") == shared.view.read_text("b.md") == "x" * 100
    entries = read_entries(shared.view.read_text("memory/2026-11-30.md") or "")
    firsts = [entry.marker.first for entry in entries if entry.marker]
    assert sorted(firsts) == sorted(f"m{step}" for step in range(25))


@pytest.mark.parametrize(
    "rewrite", [REWRITE_UNDER_THE_LOCK, REWRITE_WHAT_WAS_READ], ids=["under lock", "read before"]
)
def test_three_processes_save_entries_while_a_slow_rewrite_runs(
    shared: Shared, rewrite: str
) -> None:
    shared.view.update_text("MEMORY.md", lambda _: add_entry(None, DAY, "first fact"))
    with running(rewrite, shared, 1) as [rewriter], running(SAVE, shared, 3, 15) as savers:
        assert rewriter.stdout is not None
        assert rewriter.stdout.readline() == "reading\n"
        for saver in savers:
            assert saver.stdout is not None
            assert saver.stdout.readline() == "ready\n"
        # Either they wait for the rewrite, or they save entries while it has its old text in hand.
        threading.Event().wait(1)
        rewriter.communicate("go on\n")
        assert rewriter.returncode == 0
        assert ended(savers)
    first, *saved = bodies(shared.view)
    assert first == "FIRST FACT"
    assert sorted(saved) == sorted(f"{number}.{step}" for number in range(3) for step in range(15))
    for number in range(3):
        mine = [body for body in saved if body.startswith(f"{number}.")]
        assert mine == [f"{number}.{step}" for step in range(15)]


def test_a_reader_and_a_survivor_never_see_half_of_a_killed_write(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_writer, "_ABANDONED_SECONDS", 0.2)
    view = shared.view
    whole = {None, "a" * 200_000, "b" * 200_000}
    for _ in range(3):
        with running(WRITE, shared, 1) as [process]:
            assert process.stdout is not None
            process.stdout.readline()
            for _ in range(random.randrange(40)):
                assert view.read_text("MEMORY.md") in whole
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        assert view.read_text("MEMORY.md") in whole
        if shared.arguments[0] != "local":  # on a disk, two files are two renames
            assert view.read_text("1.md") == view.read_text("2.md")
    assert set(view.list_files()) <= {"MEMORY.md", "log.md", "1.md", "2.md"}
    lines = (view.read_text("log.md") or "").splitlines()
    assert {line for line in lines if line not in ("a" * 20_000, "b" * 20_000)} == set()
    view.write_text("MEMORY.md", "free again")
    view.append_text("log.md", "last")
    assert ("\n" + (view.read_text("log.md") or "")).endswith("\nlast\n")
