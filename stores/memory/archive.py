"""Moving old ledgers out of the way, once MEMORY.md has them. Nothing here deletes text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from ..workspace import ScopedWorkspace
from .ledger import ledger_date
from .maintenance import NewText, move_consumed, new_ledger_text
from .scopes import Scope, scoped_path

__all__ = ["archive_ledgers"]


def archive_ledgers(
    files: ScopedWorkspace, moment: datetime, days: int, scope: Scope = "agent"
) -> list[str]:
    """Move ledgers that are more than so many days old, and consolidated, to `memory/archive/`.

    A ledger that has text which MEMORY.md lacks stays, however old it is. The archive is written
    before the ledger is deleted: a crash in between leaves both, and the next run deletes the one.

    Args:
        files: The owner's files.
        moment: Now, in the zone whose calendar counts.
        days: How many days ledgers are kept; one that is exactly so old stays.
        scope: Whose ledgers.

    Returns:
        The paths of the archived ledgers, where they are now.
    """
    oldest = moment.date() - timedelta(days=days)
    folder = scoped_path("memory/", scope)
    unmerged = {new.path for new in new_ledger_text(files, scope)}
    moved = []
    for path in files.list_files(folder.rstrip("/")):
        day = ledger_date(path)
        if day is None or day >= oldest or path.startswith(f"{folder}archive/"):
            continue
        if path not in unmerged and (to := _moved(files, path, f"{folder}archive/{day}.md", scope)):
            moved.append(to)
    return moved


def _moved(files: ScopedWorkspace, path: str, to: str, scope: Scope) -> str | None:
    known = files.read_text(path)
    whole: str | None = None

    def move(texts: Mapping[str, str | None]) -> Mapping[str, str | None]:
        nonlocal whole
        whole = None
        if known is None or texts[path] != known:
            return {}  # somebody has written to it: that is not merged yet
        whole = _joined(texts[to] or "", known)
        return {to: whole, path: None}

    if known is None:
        return None
    # The watermark goes first: what is in the archive is known from the moment that it is there.
    expected = _joined(files.read_text(to) or "", known)
    move_consumed(files, path, NewText(to, expected, 0), scope, done=False)
    files.update_texts([to, path], move)
    if whole is None:
        return None
    move_consumed(files, path, NewText(to, whole, 0), scope, done=True)
    return to


def _joined(archived: str, ledger: str) -> str:
    """Return what the archive holds afterwards: a move that was cut short is not made twice."""
    if ledger.startswith(archived):
        return ledger
    if archived.startswith(ledger) or archived.endswith(ledger):
        return archived
    return f"{archived.rstrip()}\n\n{ledger}"
