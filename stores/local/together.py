"""Changing several files on the local disk, all of them or none, also when the process dies.

What is to change is written down first, beside new contents that are complete on the disk. Whoever
finds such a note whose writer is gone (its locks are free) finishes the change: before anything
else is written to one of its files, and before they are read.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...state.errors import WorkspaceError
from .files import atomic_write, read_bytes, remove, replace_with, stage
from .locks import hold_locks
from .places import Place

__all__ = ["Changes", "remove_file"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of several files in one workspace.

    Args:
        root: The workspace's folder, all links resolved.
        notes: Where it is written down what is about to change.
        locks: The folder of the lock files.
    """

    root: str
    notes: str
    locks: str

    def make(self, changes: Mapping[Place, bytes | None]) -> None:
        """Replace or delete (None) each file, in this order; the caller holds their locks.

        All new contents are on the disk before the first file is replaced, which is where a full
        disk shows, and what was replaced is put back when a later file fails.
        """
        before = {place: read_bytes(place.real) for place in changes}
        staged: dict[Place, str] = {}
        done: list[Place] = []
        note = None
        try:
            for place, data in changes.items():
                if data is not None:
                    staged[place] = stage(place.real, data)
            if len(changes) > 1:
                note = self._written_down({p: staged.get(p) for p in changes})
            for place in changes:
                if place in staged:
                    replace_with(staged.pop(place), place.real)
                else:
                    remove_file(place)
                done.append(place)
        except BaseException:
            for temporary in staged.values():
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
            for place in reversed(done):
                _put_back(place, before[place])
            raise
        finally:
            if note is not None:
                remove(note)

    def unfinished(self, paths: Iterable[str]) -> bool:
        """Whether a change that touches one of these files was begun and not finished."""
        asked = set(paths)
        return any(asked & entries.keys() for _, entries in self._notes())

    def finish(self, paths: Iterable[str] | None, timeout: float) -> None:
        """Finish what others have begun to change in these files and left when they died.

        Args:
            paths: Real paths of files that this thread holds no lock of; None: any files.
            timeout: Seconds to wait for locks; those who hold them may still be at it.

        Raises:
            WorkspaceError: A lock is not free in time, or the disk fails.
        """
        asked = None if paths is None else set(paths)
        for note, entries in self._notes():
            if asked is not None and not asked & entries.keys():
                continue
            with hold_locks(self.locks, entries, timeout):
                if not os.path.exists(note):
                    continue
                for real, temporary in entries.items():
                    if temporary is None:
                        remove(real)
                    elif os.path.exists(temporary):
                        replace_with(temporary, real)
                remove(note)

    def _written_down(self, staged: Mapping[Place, str | None]) -> str:
        note = os.path.join(self.notes, f"{secrets.token_hex(8)}.json")
        entries = [
            [self._relative(place.real), temporary and self._relative(temporary)]
            for place, temporary in staged.items()
        ]
        atomic_write(note, json.dumps(entries).encode("ascii"))
        return note

    def _notes(self) -> list[tuple[str, dict[str, str | None]]]:
        """Return every note there is, with the real path and the new contents of each file."""
        try:
            names = sorted(os.listdir(self.notes))
        except (FileNotFoundError, NotADirectoryError):
            return []
        found = []
        for name in names:
            note = os.path.join(self.notes, name)
            data = read_bytes(note) if name.endswith(".json") else None
            if data is None:
                continue
            with contextlib.suppress(ValueError, TypeError):  # nothing of ours
                entries = {
                    self._absolute(real): temporary and self._absolute(temporary)
                    for real, temporary in json.loads(data)
                }
                found.append((note, entries))
        return found

    def _relative(self, real: str) -> str:
        return os.path.relpath(real, self.root)

    def _absolute(self, relative: str) -> str:
        real = os.path.normpath(os.path.join(self.root, relative))
        if not real.startswith(self.root + os.sep):
            raise ValueError(f"{relative!r} leaves the workspace")
        return real


def remove_file(place: Place) -> bool:
    """Remove a file, and the folders of its scope that this leaves empty; return whether it was."""
    removed = remove(place.real)
    folder = os.path.dirname(place.real)
    # Folders are named after threads: an erased thread should leave no name behind.
    with contextlib.suppress(OSError):
        while removed and folder.startswith(place.scope + os.sep):
            os.rmdir(folder)
            folder = os.path.dirname(folder)
    return removed


def _put_back(place: Place, data: bytes | None) -> None:
    try:
        if data is None:
            remove_file(place)
        else:
            atomic_write(place.real, data)
    except WorkspaceError as error:
        _log.error("A change of several files failed half-way and could not be undone: %s", error)
