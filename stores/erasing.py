"""What a thread has left in its owner's files, and removing it.

Facts that were merged into MEMORY.md cannot be traced to a thread, and neither can what the agent
has saved there itself. Only erasing the user removes those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .journal.sharing import OtherThreads
from .memory.ledger import ledger_date, markers_of, without_thread
from .memory.maintenance import shorten_consumed
from .memory.scopes import SCOPES, scope_of, scoped_path
from .paths import safe_segment
from .workspace import JsonRecord, ScopedWorkspace, SweptFiles

__all__ = ["Remains", "erase_remains", "remains_of", "without_shared"]

_SEGMENTS = "segments/"
_KEPT = "kept"  # for each erased thread, the names of what its copies needed then


@dataclass(frozen=True, slots=True)
class Remains:
    """What a thread has left.

    Attributes:
        files: Paths of its evicted texts.
        records: Names of its bookkeeping records: sealed segments, flush cursors.
        entries: Path of a ledger to the number of its entries that were made from the thread.
        kept: Its evicted texts and segments that stay, because other threads need them.
        kept_for: The ids of those.
    """

    files: tuple[str, ...]
    records: tuple[str, ...]
    entries: dict[str, int]
    kept: tuple[str, ...] = ()
    kept_for: tuple[str, ...] = ()

    @property
    def shareable(self) -> bool:
        """Whether another thread could need something of it."""
        return bool(self.files) or any(name.startswith(_SEGMENTS) for name in self.records)


def remains_of(
    files: ScopedWorkspace, thread: str, folder: str | None, named: Iterable[str] = ()
) -> Remains:
    """Find what a thread has left.

    Args:
        files: The owner's files.
        thread: The thread's id.
        folder: Where texts are evicted to; None: nowhere, now.
        named: Evicted texts and segments that the thread's state names; a copied thread names those
            of the thread that it was copied from.
    """
    segment = safe_segment(thread)
    found = set(files.list_files(f"{folder}/{segment}")) if folder else set()
    named = {*named, *_left_before(files)}
    texts = {name for name in named if not name.startswith(_SEGMENTS)}
    found.update(path for path in texts if files.exists(path))
    asked = {
        name: None
        for kind in ("segments", "flush")
        for name in (f"{kind}/{segment}", *files.list_json(f"{kind}/{segment}"))
    }
    asked |= dict.fromkeys(sorted(named - texts))
    records = [name for name in asked if files.read_json(name) is not None]
    entries = {
        path: count
        for path in _ledgers(files)
        if (count := _count(files.read_text(path) or "", thread))
    }
    return Remains(tuple(sorted(found)), tuple(records), entries)


def without_shared(remains: Remains, thread: str, others: OtherThreads) -> Remains:
    """Leave out what other threads need, and what belongs to another thread that is there.

    What a thread has left to its copies goes with the last of them.
    """
    own = safe_segment(thread)
    needed = frozenset[str]().union(*others.named.values())

    def goes(name: str) -> bool:
        if name.startswith("flush/"):
            return True
        home = _home(name)
        return name not in needed and (home == own or home not in others.segments)

    kept = tuple(
        name for name in (*remains.files, *remains.records) if name in needed and _home(name) == own
    )
    return replace(
        remains,
        files=tuple(filter(goes, remains.files)),
        records=tuple(filter(goes, remains.records)),
        kept=kept,
        kept_for=tuple(sorted(t for t, names in others.named.items() if names & set(kept))),
    )


def erase_remains(files: ScopedWorkspace, thread: str, remains: Remains) -> None:
    """Remove what a thread has left; what is gone already does not matter.

    Raises:
        WorkspaceError: A file cannot be changed. Do it again when it can.
    """
    if isinstance(files, SweptFiles):
        for folder in ("", "global"):
            files.remove_left_behind(folder)
    if remains.kept:
        files.update_json(
            f"{_KEPT}/{safe_segment(thread)}",
            lambda old: {"names": sorted({*_names(old), *remains.kept})},
        )
    for path in remains.files:
        files.delete(path)
    for path in remains.entries:
        _clean(files, path, thread)
    for name in remains.records:
        files.update_json(name, lambda _: {})
    for record in files.list_json(_KEPT):
        if not any(
            files.read_json(name) if name.startswith(_SEGMENTS) else files.exists(name)
            for name in _names(files.read_json(record))
        ):
            files.update_json(record, lambda _: {})


def _left_before(files: ScopedWorkspace) -> list[str]:
    """Return what threads that are erased have left to their copies."""
    return [n for record in files.list_json(_KEPT) for n in _names(files.read_json(record))]


def _names(record: JsonRecord | None) -> list[str]:
    names = (record or {}).get("names")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _home(name: str) -> str:
    """Return the folder that says whose a file or a record is."""
    return name.rpartition("/")[0].rpartition("/")[2]


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
