"""What a thread has left in its owner's files, and removing it.

Facts that were merged into MEMORY.md cannot be traced to a thread, and neither can what the agent
has saved there itself. Only erasing the user removes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .ledger import ledger_date, markers_of, without_thread
from .maintenance import shorten_consumed
from .paths import safe_segment
from .scopes import SCOPES, scope_of, scoped_path
from .workspace import ScopedWorkspace, SweptFiles

__all__ = ["Remains", "erase_remains", "remains_of"]


@dataclass(frozen=True, slots=True)
class Remains:
    """What a thread has left.

    Attributes:
        files: Paths of its evicted texts.
        records: Names of its bookkeeping records: sealed segments, flush cursors.
        entries: Path of a ledger to the number of its entries that were made from the thread.
    """

    files: tuple[str, ...]
    records: tuple[str, ...]
    entries: dict[str, int]


def remains_of(
    files: ScopedWorkspace, thread: str, folder: str | None, evicted: Iterable[str] = ()
) -> Remains:
    """Find what a thread has left.

    Args:
        files: The owner's files.
        thread: The thread's id.
        folder: Where texts are evicted to; None: nowhere, now.
        evicted: Paths of evicted texts that the thread's state names.
    """
    segment = safe_segment(thread)
    found = set(files.list_files(f"{folder}/{segment}")) if folder else set()
    # A thread that was copied names the files of the one that it was copied from: those stay.
    own = (path for path in evicted if path.rpartition("/")[0].rpartition("/")[2] == segment)
    found.update(path for path in own if files.exists(path))
    records = [
        name
        for kind in ("segments", "flush")
        for name in (f"{kind}/{segment}", *files.list_json(f"{kind}/{segment}"))
        if files.read_json(name) is not None
    ]
    entries = {
        path: count
        for path in _ledgers(files)
        if (count := _count(files.read_text(path) or "", thread))
    }
    return Remains(tuple(sorted(found)), tuple(records), entries)


def erase_remains(files: ScopedWorkspace, thread: str, remains: Remains) -> None:
    """Remove what a thread has left; what is gone already does not matter.

    Raises:
        WorkspaceError: A file cannot be changed. Do it again when it can.
    """
    if isinstance(files, SweptFiles):
        for folder in ("", "global"):
            files.remove_left_behind(folder)
    for path in remains.files:
        files.delete(path)
    for path in remains.entries:
        _clean(files, path, thread)
    for name in remains.records:
        files.update_json(name, lambda _: {})


def _ledgers(files: ScopedWorkspace) -> list[str]:
    folders = (scoped_path("memory", scope) for scope in SCOPES)
    return [path for folder in folders for path in files.list_files(folder) if ledger_date(path)]


def _count(text: str, thread: str) -> int:
    kept = without_thread(text, thread)
    # One that a crash has cut short has no marker that counts, and goes too.
    return 0 if kept == text else max(1, len(markers_of(text, thread)))


def _clean(files: ScopedWorkspace, path: str, thread: str) -> None:
    """Take a thread's entries out of a ledger; one that held nothing else goes."""
    before = after = ""

    def cleaned(texts: Mapping[str, str | None]) -> dict[str, str | None]:
        nonlocal before, after
        before = texts[path] or ""
        after = without_thread(before, thread)
        bare = not after.strip() or after.strip() == f"# {ledger_date(path)}"
        return {path: None if bare else after}

    files.update_texts([path], cleaned)
    shorten_consumed(files, path, before, lambda text: without_thread(text, thread), scope_of(path))
