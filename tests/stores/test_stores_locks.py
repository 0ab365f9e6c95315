"""Changes of one file wait for each other, and never forever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from longthread.state.errors import WorkspaceError
from longthread.stores import Owner, ScopedWorkspace, Workspace
from longthread.stores.local.locks import hold_locks


def test_changing_a_file_from_inside_its_own_change_is_an_error_not_a_deadlock(
    view: ScopedWorkspace, make_workspace: Callable[..., Workspace]
) -> None:
    again = make_workspace().scoped(Owner("ann", "coder"))

    def nested(_: str | None) -> str:
        again.append_text("MEMORY.md", "lost")
        return "new"

    with pytest.raises(WorkspaceError, match=r"MEMORY\.md' while this same call is changing it"):
        view.update_text("MEMORY.md", nested)
    assert not view.exists("MEMORY.md")
    assert view.update_text("MEMORY.md", lambda _: "free again") == "free again"


def test_changing_another_file_from_inside_a_change_works(view: ScopedWorkspace) -> None:
    def nested(_: str | None) -> str:
        view.append_text("log.md", "both")
        assert view.read_text("MEMORY.md") is None
        return "both"

    view.update_text("MEMORY.md", nested)
    assert view.read_text("log.md") == "both\n"
    assert view.read_text("MEMORY.md") == "both"


def test_files_named_in_any_order_do_not_deadlock(view: ScopedWorkspace) -> None:
    def work(paths: list[str]) -> None:
        for _ in range(30):
            view.update_texts(paths, lambda old: {p: f"{old[p] or ''}x" for p in paths})

    orders = [["a.md", "b.md", "c.md"], ["c.md", "b.md", "a.md"], ["b.md", "c.md", "a.md", "a.md"]]
    threads = [threading.Thread(target=work, args=(paths,)) for paths in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {view.read_text(path) for path in ("a.md", "b.md", "c.md")} == {"x" * 90}


def test_spellings_that_some_systems_merge_share_a_lock(tmp_path: Path) -> None:
    with hold_locks(str(tmp_path), ["/x/MEMORY.md"], timeout=1):
        for same in ["/x/memory.md", "/X/Memory.MD"]:
            with pytest.raises(WorkspaceError), hold_locks(str(tmp_path), [same], timeout=1):
                pass
        with hold_locks(str(tmp_path), ["/x/other.md"], timeout=1):
            pass


def test_waiting_for_a_lock_ends_with_an_error(
    make_workspace: Callable[..., Workspace],
) -> None:
    impatient = make_workspace(lock_timeout=0.05).scoped(Owner("ann", "coder"))
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
