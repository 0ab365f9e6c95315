"""Making changes to the files of a store: under locks, or announced and decided."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from ...state.errors import WorkspaceError
from ..paths import shown
from ..store_errors import store_errors
from .access import StoreAccess
from .changes import Announcement, Change, announcement_value
from .names import Namespace, StorePlace
from .pieces import is_key, key_time
from .reader import PartMissing, StoreReader, damaged
from .state import FileState

__all__ = ["StoreWriter"]

_log = logging.getLogger(__name__)

_ATTEMPTS_TO_READ = 12
_LONGEST_PAUSE = 0.25
# An announcement is decided or withdrawn within a few requests.
_ABANDONED_SECONDS = 10.0
# One that is decided counts anyway; whoever decided it should have put it into place long ago.
_UNFINISHED_SECONDS = 60.0


class StoreWriter:
    """Changes the files of one user.

    Args:
        access: The store.
        announcements: The namespace of the changes on their way.
        lock_timeout: Seconds to wait for somebody else's change.
    """

    def __init__(self, access: StoreAccess, announcements: Namespace, lock_timeout: float) -> None:
        self._access = access
        self._announcements = announcements
        self._lock_timeout = lock_timeout
        self.reader = StoreReader(access, announcements)

    def change(
        self,
        places: Sequence[StorePlace],
        build: Callable[[list[FileState]], Sequence[Change]],
        *,
        patience: float | None = None,
    ) -> None:
        """Change some files together.

        Args:
            places: The files.
            build: Gets the state of each and returns the changes; called again when somebody else
                was faster, in a store without locks.
            patience: Seconds to wait for somebody else's change; None: the lock timeout.

        Raises:
            WorkspaceError: Somebody else's change does not end in time, or the store fails.
        """
        if not places:
            build([])
            return
        path = places[0].path
        patience = self._lock_timeout if patience is None else patience
        deadline = time.monotonic() + patience
        waiting: dict[str, float] = {}
        unreadable = attempt = 0
        with self._hold(places, patience):
            while True:
                states, announcements = self.reader.load(places)
                self._tidy(announcements, waiting, path)
                try:
                    if self._at_one_moment(places, states):
                        changes = build(states)
                        if not changes or self._commit(changes, places, states):
                            return
                except PartMissing:
                    unreadable += 1
                    if unreadable == _ATTEMPTS_TO_READ:
                        raise damaged(path) from None
                if time.monotonic() > deadline:
                    break
                attempt += 1
                longest = min(_LONGEST_PAUSE, 0.002 * 2 ** min(attempt, 10))
                time.sleep(random.uniform(0, longest))
        raise WorkspaceError(
            f"cannot change {shown(path)}: others have kept changing it for more than"
            f" {patience:g} seconds; try again, or raise lock_timeout"
        )

    def add(self, place: StorePlace, change: Change) -> None:
        """Write a piece that is right whatever is there."""
        # Under the lock, what is added gets the order in which it was added, for every reader.
        with self._hold([place], self._lock_timeout):
            self._put([change], place.path)

    def remove_chunks(self, place: StorePlace) -> None:
        """Remove the parts of texts of a deleted file that some crash has left behind.

        Where a batch is written as a whole, there are none.
        """
        if self._access.traits.exclusive:
            return
        # Younger ones may belong to a change that somebody is about to make.
        oldest = time.time() - _UNFINISHED_SECONDS
        items = self._access.items([place.chunks], place.path)[0]
        left = [(i.namespace, i.key) for i in items if is_key(i.key) and key_time(i.key) < oldest]
        self._access.delete(left, place.path)

    def _hold(self, places: Sequence[StorePlace], timeout: float) -> AbstractContextManager[None]:
        with store_errors("lock", places[0].path):
            locks = self._access.traits.locks
        return locks.hold({place.name: place.path for place in places}, timeout)

    def _at_one_moment(self, places: Sequence[StorePlace], states: list[FileState]) -> bool:
        """Whether several files were all like this at one moment, and not one after the other."""
        if len(places) == 1 or self._access.traits.exclusive:
            return True
        again, _ = self.reader.load(places)
        return [state.keys for state in again] == [state.keys for state in states]

    def _commit(
        self, changes: Sequence[Change], places: Sequence[StorePlace], before: list[FileState]
    ) -> bool:
        path = places[0].path
        if not self._access.traits.exclusive:
            return self._announce(changes, places, before)
        self._put(changes, path)
        self._remove_obsolete(changes, path)
        return True

    def _announce(
        self, changes: Sequence[Change], places: Sequence[StorePlace], before: list[FileState]
    ) -> bool:
        """Make a change in a store without locks; return False when somebody else was faster."""
        path = places[0].path
        chunks = {key: value for change in changes for key, value in change.chunks.items()}
        self._access.put(chunks, path)
        key = max(change.key for change in changes)
        item = (self._announcements, key)
        self._access.put({item: announcement_value(changes, decided=False)}, path)
        now, announcements = self.reader.load(places)
        index = {place.items: at for at, place in enumerate(places)}
        if any(other.key != key and not other.decided for other in announcements) or any(
            change.conflicts(before[index[change.items]], now[index[change.items]])
            for change in changes
        ):
            self._access.delete([item, *chunks], path)
            return False
        self._access.put({item: announcement_value(changes, decided=True)}, path)
        self._finish(Announcement(key, True, tuple(changes)), announcements, path)
        return True

    def _finish(
        self, announcement: Announcement, others: Sequence[Announcement], path: str
    ) -> None:
        """Put what is decided into its place."""
        # An earlier change that is not in its place yet would bring a deleted file back.
        earlier = any(other.decided and other.key != announcement.key for other in others)
        pieces = {(change.items, change.key): change.value for change in announcement.changes}
        try:
            self._access.put(pieces, path)
            self._remove_obsolete(announcement.changes, path, lasting=earlier)
            self._access.delete([(self._announcements, announcement.key)], path)
        except WorkspaceError as error:
            if any(change.passing for change in announcement.changes):
                raise
            _log.warning("A change is decided but not yet in its place: %s", error)

    def _put(self, changes: Sequence[Change], path: str) -> None:
        chunks = {key: value for change in changes for key, value in change.chunks.items()}
        pieces = {(change.items, change.key): change.value for change in changes}
        if self._access.traits.exclusive:
            self._access.put(chunks | pieces, path)
        else:  # what refers to the chunks comes when they are there
            self._access.put(chunks, path)
            self._access.put(pieces, path)

    def _remove_obsolete(
        self, changes: Sequence[Change], path: str, *, lasting: bool = False
    ) -> None:
        """Remove what the changes replace; what stays after a failure does not count any more.

        Args:
            changes: What is in its place now.
            path: What is changed, for error messages.
            lasting: Whether pieces that only say that there is no file have to stay.

        Raises:
            WorkspaceError: It was a file that was to be deleted.
        """
        passing = [key for change in changes for key in change.passing]
        try:
            self._access.delete([key for change in changes for key in change.obsolete], path)
            if not lasting:
                self._access.delete(passing, path)
        except WorkspaceError as error:
            if passing:
                raise
            _log.warning("What was replaced could not be removed: %s", error)

    def _tidy(
        self, announcements: Sequence[Announcement], waiting: dict[str, float], path: str
    ) -> None:
        """Take care of announcements whose makers have died."""
        now = time.monotonic()
        for announcement in announcements:
            if announcement.decided:
                if time.time() - key_time(announcement.key) > _UNFINISHED_SECONDS:
                    self._finish(announcement, announcements, path)
            elif now - waiting.setdefault(announcement.key, now) > _ABANDONED_SECONDS:
                self._access.delete([(self._announcements, announcement.key)], path)
