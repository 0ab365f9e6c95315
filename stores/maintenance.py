"""What of the ledgers MEMORY.md has not taken in yet, and when that was last looked at.

The record goes by content: for each ledger, the length consumed and the hash of that much text.
File times say nothing after a copy, a checkout or a restore.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from .ledger import ledger_date
from .workspace import ScopedWorkspace

__all__ = ["NewText", "maintenance_due", "new_ledger_text", "record_maintenance"]

_RECORD = "maintenance"


@dataclass(frozen=True, slots=True)
class NewText:
    """What a ledger has that MEMORY.md does not.

    Args:
        path: The ledger.
        text: The new text.
        length: Characters of the ledger up to the end of it.
        digest: Hash of that much text.
    """

    path: str
    text: str
    length: int
    digest: str


def maintenance_due(files: ScopedWorkspace, moment: datetime, gap: timedelta) -> bool:
    """Whether maintenance may run now: never yet, or at least `gap` ago."""
    last = (files.read_json(_RECORD) or {}).get("last")
    return last is None or moment - datetime.fromisoformat(last) >= gap


def new_ledger_text(files: ScopedWorkspace) -> list[NewText]:
    """Return what is new in each ledger, the oldest first.

    A ledger whose consumed part has changed, and all of them when MEMORY.md is gone, count as new.
    """
    consumed: Mapping[str, Mapping[str, object]] = {}
    if files.exists("MEMORY.md"):
        consumed = (files.read_json(_RECORD) or {}).get("consumed") or {}
    found = []
    for path in files.list_files("memory"):
        text = files.read_text(path) if ledger_date(path) else None
        if not text:
            continue
        known = consumed.get(path) or {}
        length = known.get("length")
        start = length if isinstance(length, int) and length <= len(text) else 0
        if start and _digest(text[:start]) != known.get("digest"):
            start = 0
        if text[start:].strip():
            found.append(NewText(path, text[start:], len(text), _digest(text)))
    return found


def record_maintenance(
    files: ScopedWorkspace, moment: datetime, merged: list[NewText] | None = None
) -> None:
    """Remember that maintenance ran, and what MEMORY.md has taken in."""
    taken = {new.path: {"length": new.length, "digest": new.digest} for new in merged or ()}

    def updated(old: dict[str, object] | None) -> dict[str, object]:
        record = dict(old or {})
        consumed = record.get("consumed")
        known = consumed if isinstance(consumed, dict) else {}
        return {**record, "last": moment.isoformat(), "consumed": {**known, **taken}}

    files.update_json(_RECORD, updated)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
