"""Saving what the agent wants to remember: in MEMORY.md and in the day's ledger, both or neither.

What makes MEMORY.md longer than it may be moves, the oldest dated entries first and always whole,
to the archive of the month, in the same change.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from ...state.text import well_formed
from ..workspace import ScopedWorkspace
from .ledger import format_ledger_entry, ledger_header, ledger_path
from .memory_file import MemoryPart, add_entry, entry_body, split_memory
from .memory_paths import archive_path, memory_path
from .memory_sections import headings_above, with_headings, without
from .scopes import Scope

__all__ = ["SaveStatus", "save_memory"]

SaveStatus: TypeAlias = Literal["written", "skipped_empty", "skipped_duplicate"]


def save_memory(
    files: ScopedWorkspace,
    content: str,
    moment: datetime,
    *,
    scope: Scope = "agent",
    max_lines: int = 500,
) -> SaveStatus:
    """Save a text as a dated entry.

    Args:
        files: The owner's files.
        content: What to remember.
        moment: Now, in the zone whose calendar counts.
        scope: Whose memory.
        max_lines: Most lines of MEMORY.md. Undated text never moves, and neither does the new
            entry, however long they are.

    Returns:
        `written`; `skipped_empty` when there is nothing but white space; `skipped_duplicate` when
        it is exactly the last entry.

    Raises:
        ConfigurationError: The moment has no time zone.
        WorkspaceError: The files cannot be changed; none of them was.
    """
    memory, ledger = memory_path(scope), ledger_path(moment, scope)
    archive = archive_path(moment, scope)
    body = well_formed(content).strip()
    if not body:
        return "skipped_empty"
    status: SaveStatus = "written"

    def saved(old: Mapping[str, str | None]) -> Mapping[str, str | None]:
        nonlocal status
        if _last_body(old[memory] or "") == body:
            status = "skipped_duplicate"
            return {}
        status = "written"
        kept, moved = _within(add_entry(old[memory], moment.date(), body), max_lines)
        # What moves is in the archive before it is gone from MEMORY.md: a power cut between the two
        # leaves it in both.
        changes = {archive: _appended(old[archive] or "", moved)} if moved else {}
        before = old[ledger] or ledger_header(moment)
        changes[ledger] = _ended(before) + format_ledger_entry(moment, body)
        changes[memory] = kept
        return changes

    files.update_texts([memory, ledger, archive], saved)
    return status


def _last_body(text: str) -> str | None:
    entries = [part for part in split_memory(text) if part.is_entry]
    return entry_body(entries[-1]).strip() if entries else None


def _within(text: str, max_lines: int) -> tuple[str, list[MemoryPart]]:
    """Return the file with no more lines than allowed, and what has to go, in file order."""
    excess = _lines(text) - max_lines
    if excess <= 0:
        return text, []
    parts = split_memory(text)
    dated = [index for index, part in enumerate(parts[:-1]) if part.day is not None]
    gone: set[int] = set()
    kept = text
    for index in sorted(dated, key=lambda index: str(parts[index].day)):
        gone.add(index)
        excess -= _lines(parts[index].text)
        if excess <= 0:
            kept = without(parts, gone)
            excess = _lines(kept) - max_lines  # headings stay with what is left below them
            if excess <= 0:
                break
    else:
        kept = without(parts, gone)
    headings = headings_above(parts)
    moved: list[MemoryPart] = []
    for before, index in zip([None, *sorted(gone)], sorted(gone), strict=False):
        above = headings[before] if before is not None else ()
        moved.append(with_headings(parts[index], headings[index], above))
    return kept, moved


def _appended(archive: str, moved: list[MemoryPart]) -> str:
    """Return the archive with the entries at its end, a blank line between any two."""
    for part in moved:
        if archive:
            archive = _ended(archive)
            archive += "" if archive.endswith("\n\n") else "\n"
        archive += part.text
    return archive


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))
