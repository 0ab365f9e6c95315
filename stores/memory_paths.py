"""Which files are memory, and in what order they are searched."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Literal, TypeAlias

from ..state.errors import ToolInputError
from .ledger import ledger_date
from .paths import shown, split_path

__all__ = [
    "SCOPES",
    "Scope",
    "archive_path",
    "check_memory_path",
    "memory_path",
    "parse_scope",
    "search_order",
]

Scope: TypeAlias = Literal["agent", "global"]
"""Whose memory: the agent's own, or what all agents of the user share."""

SCOPES: tuple[Scope, ...] = ("agent", "global")

_SHARED = "global/"
_ARCHIVE = re.compile(r"archive-\d{4}-\d{2}\.md", re.ASCII)
_ARCHIVED_LEDGERS = "memory/archive/"


def parse_scope(value: object) -> Scope:
    """Return the scope that was asked for; None stands for `agent`.

    Raises:
        ToolInputError: It is anything but None, "agent" or "global".
    """
    if value is None:
        return "agent"
    if isinstance(value, str) and value in SCOPES:
        return value
    raise ToolInputError(f"scope={value!r}: use 'agent' or 'global', or leave it out for 'agent'")


def memory_path(scope: Scope) -> str:
    """Return the path of a scope's MEMORY.md."""
    return "MEMORY.md" if scope == "agent" else f"{_SHARED}MEMORY.md"


def archive_path(moment: datetime, scope: Scope) -> str:
    """Return where entries that leave MEMORY.md in that month go: `archive-2026-03.md`."""
    name = f"archive-{moment:%Y-%m}.md"
    return name if scope == "agent" else _SHARED + name


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
    shared = path.startswith(_SHARED)
    name = path.removeprefix(_SHARED)
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
