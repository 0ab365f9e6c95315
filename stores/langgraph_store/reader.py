"""Reading the files of a store, whatever others do to them meanwhile."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from langgraph.store.base import SearchItem

from ...state.errors import WorkspaceError
from ..paths import shown
from ..store_errors import store_errors
from .access import StoreAccess
from .changes import Announcement, read_announcement
from .names import Namespace, StorePlace
from .pieces import Piece, Run, read_piece, unpack_text
from .state import FileState

__all__ = ["PartMissing", "StoreReader", "damaged"]

_log = logging.getLogger(__name__)
T = TypeVar("T")

_ATTEMPTS = 12
_LONGEST_PAUSE = 0.25
_CHUNKS_AT_ONCE = 16


class PartMissing(Exception):
    """A part of a text is not in the store, or not any more."""


class StoreReader:
    """Reads the files of one user.

    Args:
        access: The store.
        announcements: The namespace of the changes on their way.
    """

    def __init__(self, access: StoreAccess, announcements: Namespace) -> None:
        self._access = access
        self._announcements = announcements

    def read(self, place: StorePlace, use: Callable[[FileState], T]) -> T:
        """Return what `use` makes of the file, which it may read with `texts`."""
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(min(_LONGEST_PAUSE, 0.001 * 2**attempt))
            states, _ = self.load([place])
            try:
                return use(states[0])
            except PartMissing:
                # Somebody has replaced the text between the two requests, and removed the old one.
                continue
        raise damaged(place.path)

    def texts(
        self, place: StorePlace, runs: Iterable[Run], at_once: int = _CHUNKS_AT_ONCE
    ) -> Iterator[str]:
        """Yield the text of some runs, fetched as it is asked for.

        Raises:
            PartMissing: A chunk is not there.
        """
        for fetched, group in groupby(runs, key=lambda run: run.text is None):
            if not fetched:
                yield from (run.text for run in group if run.text is not None)
                continue
            keys = [run.chunk for run in group if run.chunk is not None]
            for start in range(0, len(keys), at_once):
                part = keys[start : start + at_once]
                for value in self._access.values(place.chunks, part, place.path):
                    if value is None:
                        raise PartMissing
                    yield unpack_text(value)

    def whole_text(self, place: StorePlace, state: FileState) -> str | None:
        """Return the text of a file, or None when there is none."""
        return "".join(self.texts(place, state.runs)) if state.exists else None

    def below(self, prefix: Namespace, path: str) -> dict[str, FileState]:
        """Return all files whose namespaces start with `prefix`, by their sorted paths."""
        answers, announcements = self._ask([prefix], path)
        decided = [change for a in announcements if a.decided for change in a.changes]
        pieces = [(change.items, change.piece) for change in decided]
        pieces += [(item.namespace, piece) for item in answers[0] if (piece := _piece(item))]
        files: dict[Namespace, list[Piece]] = {}
        for namespace, piece in pieces:
            if namespace[: len(prefix)] == prefix:
                files.setdefault(namespace, []).append(piece)
        states = {found[0].path: FileState(found) for found in files.values()}
        return {path: states[path] for path in sorted(states) if states[path].exists}

    def load(self, places: Sequence[StorePlace]) -> tuple[list[FileState], list[Announcement]]:
        """Return the states of files, and what others are about to do to them."""
        path = places[0].path if places else ""
        answers, announcements = self._ask([place.items for place in places], path)
        decided = [change for a in announcements if a.decided for change in a.changes]
        states = []
        for place, answer in zip(places, answers, strict=True):
            pieces = [change.piece for change in decided if change.items == place.items]
            # After those that are decided only: one that is in its place already has its order.
            pieces += [
                piece
                for item in answer
                if item.namespace == place.items and (piece := _piece(item))
            ]
            states.append(FileState(pieces))
        names = {place.items for place in places}
        touching = [
            announcement
            for announcement in announcements
            if any(change.items in names for change in announcement.changes)
        ]
        return states, touching

    def _ask(
        self, namespaces: Sequence[Namespace], path: str
    ) -> tuple[list[list[SearchItem]], list[Announcement]]:
        if not namespaces:
            return [], []
        with store_errors("read", path):
            exclusive = self._access.traits.exclusive
        announcements: list[Announcement] = []
        if not exclusive:
            # First, and in a request of its own: what is put into its place between the two
            # requests is then found there.
            items = self._access.items([self._announcements], path)[0]
            announcements = [found for item in items if (found := _announcement(item))]
        return self._access.items(namespaces, path), announcements


def damaged(path: str) -> WorkspaceError:
    """Return the error for a file that cannot be read whole."""
    return WorkspaceError(
        f"cannot read {shown(path)} in the store: a part of its text is missing; write the file"
        " again, or restore the store from a backup"
    )


def _piece(item: SearchItem) -> Piece | None:
    try:
        return read_piece(item.key, item.value, (0, item.created_at, item.key))
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("Ignoring the item %s, which is no part of a file: %r", item.key, error)
        return None


def _announcement(item: SearchItem) -> Announcement | None:
    try:
        return read_announcement(item.key, item.value)
    except (KeyError, TypeError, ValueError) as error:
        _log.warning("Ignoring the item %s, which is no change: %r", item.key, error)
        return None
