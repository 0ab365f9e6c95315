"""What of the ledgers MEMORY.md has not taken in yet, and when that was last looked at.

The record goes by content: for each ledger, the length consumed and the hash of that much text.
File times say nothing after a copy, a checkout or a restore. Each scope has a record of its own, so
that the one that agents share is looked after by whichever comes first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from ..records import moment_in
from ..workspace import ScopedWorkspace
from .ledger import ledger_date
from .memory_paths import memory_path
from .scopes import Scope, scoped_path

__all__ = [
    "Consumed",
    "NewText",
    "consumed_of",
    "digest_of",
    "maintenance_due",
    "mark_consumed",
    "move_consumed",
    "new_ledger_text",
    "record_maintenance",
    "shorten_consumed",
]

Consumed: TypeAlias = dict[str, Mapping[str, Any]]
"""Path of a ledger to the length of it that MEMORY.md has taken in, and the hash of that much."""

_RECORD = "maintenance"


@dataclass(frozen=True, slots=True)
class NewText:
    """What a ledger has that MEMORY.md does not.

    Args:
        path: The ledger.
        whole: All of its text.
        start: Where the new text begins.
    """

    path: str
    whole: str
    start: int

    @property
    def text(self) -> str:
        """The new text."""
        return self.whole[self.start :]

    def until(self, end: int) -> NewText | None:
        """Return what of it stands before a place in the ledger; None if that is nothing."""
        return NewText(self.path, self.whole[:end], self.start) if self.start < end else None

    def consumed(self, length: int | None = None) -> Consumed:
        """Return what to record once so many characters of the ledger (None: all) are taken in."""
        text = self.whole[:length]
        return {self.path: {"length": len(text), "digest": digest_of(text)}}


def maintenance_due(
    files: ScopedWorkspace, moment: datetime, gap: timedelta, scope: Scope = "agent"
) -> bool:
    """Whether maintenance may run now: never yet, or at least `gap` ago (or in the future)."""
    last = moment_in((files.read_json(scoped_path(_RECORD, scope)) or {}).get("last"))
    return last is None or moment - last >= gap or last > moment


def record_maintenance(files: ScopedWorkspace, moment: datetime, scope: Scope = "agent") -> None:
    """Remember that maintenance was tried, whatever came of it."""
    files.update_json(
        scoped_path(_RECORD, scope), lambda old: {**(old or {}), "last": moment.isoformat()}
    )


def new_ledger_text(files: ScopedWorkspace, scope: Scope = "agent") -> list[NewText]:
    """Return what is new in each ledger, archived ones included, the oldest first.

    A ledger whose consumed part has changed, and all of them when MEMORY.md is gone, count as new.
    """
    consumed = consumed_of(files, scope)
    found = []
    for path in files.list_files(scoped_path("memory", scope)):
        text = files.read_text(path) if ledger_date(path) else None
        if text and (new := _new_in(path, text, consumed)) is not None:
            found.append(new)
    return sorted(found, key=lambda new: (str(ledger_date(new.path)), new.path))


def _new_in(path: str, text: str, consumed: Consumed) -> NewText | None:
    # A ledger that a crash has left half-way to the archive is still known by its old path.
    for key in (path, path.replace("memory/archive/", "memory/")):
        known = consumed.get(key)
        length = known.get("length") if known is not None else None
        if not isinstance(length, int) or not 0 < length <= len(text):
            continue
        if digest_of(text[:length]) == consumed[key].get("digest"):
            return NewText(path, text, length) if text[length:].strip() else None
    return NewText(path, text, 0) if text.strip() else None


def consumed_of(files: ScopedWorkspace, scope: Scope = "agent") -> Consumed:
    """Return what MEMORY.md has taken in of each ledger: nothing if there is no MEMORY.md."""
    if not files.exists(memory_path(scope)):
        return {}
    return _consumed_in(files.read_json(scoped_path(_RECORD, scope)))


def mark_consumed(files: ScopedWorkspace, consumed: Mapping[str, Any], scope: Scope) -> None:
    """Record what MEMORY.md has taken in, in place of what was recorded before."""
    files.update_json(
        scoped_path(_RECORD, scope), lambda old: {**(old or {}), "consumed": dict(consumed)}
    )


def move_consumed(
    files: ScopedWorkspace, path: str, new: NewText, scope: Scope, *, done: bool
) -> None:
    """Record that a ledger goes, or with `done` has gone, to another path with all it holds."""

    def moved(old: Mapping[str, Any] | None) -> dict[str, Any]:
        record = dict(old or {})
        consumed = {**_consumed_in(old), **new.consumed()}
        if done:
            consumed.pop(path, None)
        return {**record, "consumed": consumed}

    files.update_json(scoped_path(_RECORD, scope), moved)


def shorten_consumed(
    files: ScopedWorkspace, path: str, before: str, shorten: Callable[[str], str], scope: Scope
) -> None:
    """Correct what is recorded of a ledger that something was taken out of.

    Without that, all that is left of it would count as new.

    Args:
        files: The owner's files.
        path: The ledger.
        before: Its text as it was.
        shorten: What was done to it; of its beginning it makes the beginning of what is left.
        scope: Whose ledger.
    """

    def shortened(old: Mapping[str, Any] | None) -> dict[str, Any] | None:
        consumed = _consumed_in(old)
        known = consumed.get(path)
        length = known.get("length") if known is not None else None
        if known is None or not isinstance(length, int):
            return None
        if digest_of(before[:length]) != known.get("digest"):
            return None
        taken = shorten(before[:length])
        if not shorten(before).startswith(taken):
            return None
        consumed[path] = {"length": len(taken), "digest": digest_of(taken)}
        return {**(old or {}), "consumed": consumed}

    files.update_json(scoped_path(_RECORD, scope), shortened)


def _consumed_in(record: Mapping[str, Any] | None) -> Consumed:
    """Return what a record says was taken in; what cannot be read counts as absent."""
    consumed = (record or {}).get("consumed")
    if not isinstance(consumed, Mapping):
        return {}
    return {path: known for path, known in consumed.items() if isinstance(known, Mapping)}


def digest_of(text: str) -> str:
    """Return the hash that names a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
