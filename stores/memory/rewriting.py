"""Replacing MEMORY.md by what was made of it, while others go on saving to it.

Making the new text takes a model minutes, so the file is not locked meanwhile. What has changed in
it since is found entry by entry and kept. Before the file is replaced, a record says what is about
to happen; a crash on either side of the replacement is then told from the file itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from ...state.errors import WorkspaceError
from ...state.facts import facts_of, normalised
from ...state.text import well_formed
from ..records import moment_in
from ..workspace import JsonRecord, ScopedWorkspace
from .maintenance import Consumed, consumed_of, mark_consumed
from .memory_file import MemoryPart, entry_body, split_memory
from .memory_paths import memory_path
from .memory_sections import add_parts, headings_above, without
from .scopes import Scope, scoped_path

__all__ = [
    "Version",
    "brought_up_to_date",
    "overwrite_memory",
    "readable_versions",
    "rewrite_memory",
    "settle_rewrite",
    "versions_of",
]

Version = dict[str, Any]
"""A rewrite: `run`, `at`, the text `before` (None: no file) and `after`, what was `consumed`."""

_RECORD = "undo"
_KEPT = 5
# Somebody else saves an entry every time, just in between.
_ATTEMPTS = 50


def rewrite_memory(
    files: ScopedWorkspace,
    scope: Scope,
    base: str | None,
    text: str,
    *,
    known: Consumed,
    consumed: Consumed,
    run: str,
    moment: datetime,
) -> bool:
    """Replace MEMORY.md, keep what was saved since, and record what it has taken in.

    Args:
        files: The owner's files.
        scope: Whose MEMORY.md.
        base: The text that the new one was made from; None: there was no file.
        text: The new text.
        known: What `base` had taken in of the ledgers.
        consumed: What the new text has taken in of them.
        run: Names the consolidation: several rewrites of one are undone together.
        moment: Now.

    Returns:
        False if somebody else has rewritten the file as a whole meanwhile; nothing is changed then,
        and the new text has to be made again.

    Raises:
        WorkspaceError: The file or a record cannot be written.
    """
    path = memory_path(scope)
    for _ in range(_ATTEMPTS):
        current = files.read_text(path)
        merged = brought_up_to_date(base, text, current)
        if merged is None or consumed_of(files, scope) != known:
            return False
        merged = well_formed(merged)
        if _put(files, scope, current, merged, consumed=consumed, run=run, moment=moment):
            return True
    raise WorkspaceError(f"{path} is changed all the time: it could not be rewritten")


def overwrite_memory(
    files: ScopedWorkspace,
    scope: Scope,
    text: str,
    check: Callable[[str | None], None],
    *,
    run: str,
    moment: datetime,
) -> str | None:
    """Replace MEMORY.md by exactly this text, whatever it holds, so that it can be undone.

    Args:
        files: The owner's files.
        scope: Whose MEMORY.md.
        text: The new text.
        check: Given the text that is replaced (None: no file); raises if it must not be.
        run: Names the change.
        moment: Now.

    Returns:
        The text that was replaced.

    Raises:
        WorkspaceError: The file or a record cannot be written.
    """
    settle_rewrite(files, scope)
    path, text = memory_path(scope), well_formed(text)
    for _ in range(_ATTEMPTS):
        current = files.read_text(path)
        check(current)
        if current == text:
            return current
        consumed = consumed_of(files, scope)
        if _put(files, scope, current, text, consumed=consumed, run=run, moment=moment):
            return current
    raise WorkspaceError(f"{path} is changed all the time: it could not be replaced")


def settle_rewrite(files: ScopedWorkspace, scope: Scope) -> None:
    """Finish, or forget, a rewrite that a crash has interrupted."""
    record = files.read_json(scoped_path(_RECORD, scope)) or {}
    if record.get("pending") is None:
        return
    pending = record["pending"]
    if not _is_pending(pending):
        files.update_json(scoped_path(_RECORD, scope), _without_pending)
        return
    text = files.read_text(memory_path(scope))
    after = pending["version"]["after"]
    if text is not None and text.startswith(after):
        _finish(files, scope, pending)
    else:
        files.update_json(scoped_path(_RECORD, scope), _without_pending)


def versions_of(files: ScopedWorkspace, scope: Scope) -> list[Version]:
    """Return the rewrites that can be undone, the last one last."""
    return readable_versions(files.read_json(scoped_path(_RECORD, scope)))


def readable_versions(record: JsonRecord | None) -> list[Version]:
    """Return the versions in the record of them; what cannot be read counts as absent."""
    versions = (record or {}).get("versions")
    return [v for v in versions if _is_version(v)] if isinstance(versions, list) else []


def brought_up_to_date(base: str | None, text: str, current: str | None) -> str | None:
    """Return a text made from `base` with what has happened to the file since.

    Args:
        base: What the text was made from; None: there was no file.
        text: The text.
        current: What the file holds now.

    Returns:
        The text with the entries that were added since, and without those that were taken away.
        None if most of the entries are others: then that is a rewrite, not a change.
    """
    before, now = base or "", current or ""
    if now == before:
        return text
    there = set(_names(text))
    tail = now[len(before) :]
    if now.startswith(before) and (not before or before.endswith("\n") or tail[0] == "\n"):
        # Another consolidation may have added what this one has too: once is enough.
        parts = split_memory(tail)
        fresh = [index for index, part in enumerate(parts) if _name(part) not in there]
        # Headings that the file ends below are those of what was appended to it.
        ends = headings_above(split_memory(before))
        headings = headings_above(parts, ends[-1] if ends else ())
        text = text if tail.startswith("\n") else _lines(text)
        return add_parts(text, [parts[i] for i in fresh], [headings[i] for i in fresh])
    old, new = Counter(_names(before)), Counter(_names(now))
    gone, left = old - new, new - old
    if current is None or gone.total() * 2 > old.total():
        return None
    added: list[int] = []
    parts = split_memory(now)
    for index in reversed(range(len(parts))):
        name = _name(parts[index])
        if name is not None and left[name] > 0:
            left[name] -= 1
            added[:0] = [] if name in there else [index]
    made, headings = split_memory(text), headings_above(parts)
    kept = without(made, {index for index, part in enumerate(made) if _name(part) in gone})
    return add_parts(_lines(kept), [parts[i] for i in added], [headings[i] for i in added])


def _put(
    files: ScopedWorkspace,
    scope: Scope,
    current: str | None,
    text: str,
    *,
    consumed: Consumed,
    run: str,
    moment: datetime,
) -> bool:
    """Replace the file if it is still what it was, and record it."""
    version: Version = {
        "run": run,
        "at": moment.isoformat(),
        "before": current,
        "after": text,
        "consumed": consumed_of(files, scope),
    }
    pending = {"version": version, "consumed": consumed}
    files.update_json(scoped_path(_RECORD, scope), lambda old: {**(old or {}), "pending": pending})
    if not _replaced(files, memory_path(scope), current, text):
        return False
    _finish(files, scope, pending)
    return True


def _replaced(files: ScopedWorkspace, path: str, current: str | None, text: str) -> bool:
    """Replace the file if it is still what it was."""
    same = False

    def replacement(now: str | None) -> str | None:
        nonlocal same
        same = now == current
        return text if same else None

    files.update_text(path, replacement)
    return same


def _finish(files: ScopedWorkspace, scope: Scope, pending: Mapping[str, Any]) -> None:
    """Record what the file has taken in, and keep the version before for undo."""
    mark_consumed(files, pending["consumed"], scope)
    new: Version = pending["version"]

    def finished(record: JsonRecord | None) -> JsonRecord:
        versions = readable_versions(record)
        if versions and versions[-1] == new:
            pass  # somebody else, who took this for interrupted, was faster
        elif versions and versions[-1]["run"] == new["run"]:
            # One consolidation in several steps: what was saved in between belongs to neither.
            first = versions.pop()
            saved = brought_up_to_date(first["after"], first["before"] or "", new["before"])
            versions.append(
                {**new, "before": saved or first["before"], "consumed": first["consumed"]}
            )
        else:
            versions.append(new)
        return {**_without_pending(record), "versions": versions[-_KEPT:]}

    files.update_json(scoped_path(_RECORD, scope), finished)


def _is_version(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("run"), str)
        and moment_in(value.get("at")) is not None
        and isinstance(value.get("before"), str | None)
        and isinstance(value.get("after"), str)
        and isinstance(value.get("consumed"), Mapping)
    )


def _is_pending(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and _is_version(value.get("version"))
        and isinstance(value.get("consumed"), Mapping)
    )


def _without_pending(record: JsonRecord | None) -> JsonRecord:
    return {key: value for key, value in (record or {}).items() if key != "pending"}


def _names(text: str) -> list[str]:
    return [name for part in split_memory(text) if (name := _name(part)) is not None]


def _name(part: MemoryPart) -> str | None:
    """Return what an entry is told from others by; None for what is no entry."""
    if not part.is_entry:
        return None
    return "\n".join(map(normalised, facts_of(entry_body(part))))


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
