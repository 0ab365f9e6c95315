"""Changing several files on the local disk, all of them or none."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping

from ..state.errors import WorkspaceError
from .files import atomic_write, read_bytes, remove, replace_with, stage
from .places import Place

__all__ = ["change_together", "remove_file"]

_log = logging.getLogger(__name__)


def change_together(changes: Mapping[Place, bytes | None]) -> None:
    """Replace or delete (None) each file, in this order; the caller holds their locks.

    All new contents are on the disk before the first file is replaced, which is where a full disk
    shows, and what was replaced is put back when a later file fails. Only a power cut in between
    can leave some changed without the others.
    """
    before = {place: read_bytes(place.real) for place in changes}
    staged: dict[Place, str] = {}
    done: list[Place] = []
    try:
        for place, data in changes.items():
            if data is not None:
                staged[place] = stage(place.real, data)
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
