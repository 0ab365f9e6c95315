"""Taking back the last consolidation of MEMORY.md."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ...state.errors import LongthreadError
from ..workspace import JsonRecord, ScopedWorkspace
from .maintenance import mark_consumed, record_maintenance
from .memory_paths import memory_path
from .rewriting import brought_up_to_date, readable_versions, settle_rewrite, versions_of
from .scopes import Scope, scoped_path

__all__ = ["Undone", "undo_consolidation"]


@dataclass(frozen=True, slots=True)
class Undone:
    """What was taken back.

    Attributes:
        path: The MEMORY.md.
        at: When the consolidation was made that is undone.
        text: What the file holds now; None: there is none any more.
        left: How many more can be undone.
    """

    path: str
    at: datetime
    text: str | None
    left: int


def undo_consolidation(
    files: ScopedWorkspace, moment: datetime, scope: Scope = "agent"
) -> Undone | None:
    """Put back MEMORY.md as it was before the last consolidation; entries saved since stay.

    What that consolidation had taken in of the ledgers counts as new again, so that the next one,
    after the usual gap, takes it in anew.

    Args:
        files: The owner's files.
        moment: Now.
        scope: Whose MEMORY.md.

    Returns:
        What was taken back; None: there is nothing to undo.

    Raises:
        LongthreadError: With code `MEMORY_REWRITTEN`: the file was rewritten by hand since.
        WorkspaceError: The file or a record cannot be written.
    """
    settle_rewrite(files, scope)
    versions = versions_of(files, scope)
    if not versions:
        return None
    version, path = versions[-1], memory_path(scope)
    refused = False

    def earlier(now: str | None) -> str | None:
        nonlocal refused
        refused = False
        if now == version["before"]:
            return None  # a crash has come between this and the record of it
        text = brought_up_to_date(version["after"], version["before"] or "", now)
        refused = text is None
        return text

    text = files.update_text(path, earlier)
    if refused:
        raise LongthreadError(
            f"{path} was rewritten since its last consolidation: there is nothing to put back that "
            "would not lose what stands there now; edit the file itself",
            code="MEMORY_REWRITTEN",
        )
    if version["before"] is None and not (text or "").strip():
        files.delete(path)
        text = None
    mark_consumed(files, version["consumed"], scope)
    record_maintenance(files, moment, scope)
    files.update_json(scoped_path("undo", scope), _without_last)
    return Undone(path, datetime.fromisoformat(version["at"]), text, len(versions) - 1)


def _without_last(record: JsonRecord | None) -> JsonRecord:
    return {**(record or {}), "versions": readable_versions(record)[:-1]}
