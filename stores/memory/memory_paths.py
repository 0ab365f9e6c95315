"""Which files are memory, and in what order they are searched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from ...state.errors import ToolInputError
from ..paths import shown, split_path
from .ledger import ledger_date
from .scopes import Scope, scope_of, scoped_path

__all__ = [
    "archive_path",
    "check_memory_path",
    "check_new_memory_path",
    "memory_path",
    "search_order",
]

_ARCHIVE = re.compile(r"archive-\d{4}-\d{2}\.md", re.ASCII)
_ARCHIVED_LEDGERS = "memory/archive/"
# What was meant as a day: with one digit too few it would be no ledger either.
_DAY = re.compile(r"memory/(?:archive/)?(\d+-\d+-\d+)\.md", re.ASCII)


def memory_path(scope: Scope) -> str:
    """Return the path of a scope's MEMORY.md."""
    return scoped_path("MEMORY.md", scope)


def archive_path(moment: datetime, scope: Scope) -> str:
    """Return where entries that leave MEMORY.md in that month go: `archive-2026-03.md`."""
    return scoped_path(f"archive-{moment:%Y-%m}.md", scope)


def check_memory_path(path: str) -> str:
    """Return a path unchanged if a memory file can be there.

    Raises:
        WorkspaceError: It is no path of the workspace.
        ToolInputError: It is some other file.
    """
    split_path(path)
    if _rank(path) is None:
        raise ToolInputError(
            f"path {shown(path)} is not a memory file; those are MEMORY.md, memory/YYYY-MM-DD.md, "
            "archive-YYYY-MM.md, and the same below global/"
        )
    return path


def check_new_memory_path(path: str) -> str:
    """Return a path unchanged if a memory file can be written there.

    A file for a day or a month that never is would be read like any note, and never be merged or
    archived.

    Raises:
        WorkspaceError: It is no path of the workspace.
        ToolInputError: It is some other file, or names no day or month of the calendar.
    """
    name = check_memory_path(path).removeprefix("global/")
    if (match := _DAY.fullmatch(name)) and ledger_date(name) is None:
        raise ToolInputError(
            f"path {shown(path)}: {match[1]} is no day of the calendar; name one as YYYY-MM-DD"
        )
    if _ARCHIVE.fullmatch(name) and ledger_date(f"memory/{name[8:15]}-01.md") is None:
        raise ToolInputError(
            f"path {shown(path)}: {name[8:15]} is no month of the calendar; name one as YYYY-MM"
        )
    return path


def search_order(paths: Iterable[str]) -> list[str]:
    """Return the memory files among the paths in the order in which they are searched.

    The agent's MEMORY.md and its ledgers, the newest day first, then the shared ones, then what was
    archived in the same order.
    """
    # Two stable sorts: names backwards first, which puts the newest day and month in front.
    ranked = [(rank, path) for path in paths if (rank := _rank(path)) is not None]
    ranked.sort(key=lambda item: item[1], reverse=True)
    return [path for _, path in sorted(ranked, key=lambda item: item[0])]


def _rank(path: str) -> tuple[bool, bool, int] | None:
    """Say where a path stands: archived, shared, kind of file; None if it is no memory."""
    shared = scope_of(path) == "global"
    name = path.removeprefix("global/")
    if name == "MEMORY.md":
        return False, shared, 0
    if _ARCHIVE.fullmatch(name):
        return True, shared, 0
    if not (name.startswith("memory/") and name.endswith(".md")):
        return None
    if name.startswith(_ARCHIVED_LEDGERS):
        return True, shared, 1
    # Notes that somebody put beside the ledgers come after them.
    return False, shared, 1 if ledger_date(path) else 2
