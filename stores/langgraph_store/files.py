"""The files of a store: what can be done with their texts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TypeVar

from ...state.errors import WorkspaceError
from ..paths import shown
from .access import StoreAccess
from .changes import Change, added_lines, addition, kept_runs, version, worth_keeping
from .names import Namespace, StorePlace
from .pieces import Run
from .state import FileState
from .writer import StoreWriter

__all__ = ["MOST_ADDITIONS", "StoreFiles"]

_log = logging.getLogger(__name__)
T = TypeVar("T")

MOST_ADDITIONS = 64
"""When a file has this many additions, they are merged into its version."""

_MERGING_SECONDS = 1.0
_MOST_TALLIES = 4_096


class StoreFiles:
    """The files of one user.

    Args:
        access: The store.
        announcements: The namespace of the changes on their way.
        lock_timeout: Seconds to wait for somebody else's change.
        tally: How many additions each file has, as far as this process knows.
    """

    def __init__(
        self,
        access: StoreAccess,
        announcements: Namespace,
        lock_timeout: float,
        tally: dict[str, int],
    ) -> None:
        self._writer = StoreWriter(access, announcements, lock_timeout)
        self._reader = self._writer.reader
        self._tally = tally

    def read(self, place: StorePlace, use: Callable[[FileState], T]) -> T:
        """Return what `use` makes of a file, which it may read with `texts`."""
        return self._reader.read(place, use)

    def read_text(self, place: StorePlace) -> str | None:
        """Return the text of a file, or None when there is none."""
        return self.read(place, lambda state: self._reader.whole_text(place, state))

    def texts(self, place: StorePlace, runs: Iterable[Run], at_once: int) -> Iterator[str]:
        """Yield the text of some runs, so many chunks a request, fetched as it is asked for."""
        return self._reader.texts(place, runs, at_once)

    def below(self, prefix: Namespace, path: str) -> dict[str, FileState]:
        """Return all files whose namespaces start with `prefix`, by their sorted paths."""
        return self._reader.below(prefix, path)

    def append(
        self,
        place: StorePlace,
        text: str,
        header: str = "",
        unless: Callable[[str], bool] | None = None,
    ) -> bool:
        """Add whole lines to the end of a file; return whether it was done."""
        if unless is None:
            self._writer.add(place, addition(place, text, header, checked=False))
            self._count_addition(place)
            return True
        done = False

        def added(states: list[FileState]) -> Sequence[Change]:
            nonlocal done
            done = not unless(self._reader.whole_text(place, states[0]) or "")
            return [addition(place, text, header, checked=True)] if done else []

        self._writer.change([place], added)
        if done:
            self._count_addition(place)
        return done

    def update(
        self,
        places: Mapping[str, StorePlace],
        transform: Callable[[dict[str, str | None]], Mapping[str, str | None]],
    ) -> None:
        """Change the texts of some files together.

        Args:
            places: The files by their paths.
            transform: Gets the texts and returns those that are to change.
        """

        def changed(states: list[FileState]) -> Sequence[Change]:
            by_path = dict(zip(places, states, strict=True))
            old = {
                path: self._reader.whole_text(places[path], state)
                for path, state in by_path.items()
            }
            changes = []
            for path, new in transform(dict(old)).items():
                if path not in places:
                    raise WorkspaceError(
                        f"cannot change {shown(path)}: it is not among the paths that were named"
                    )
                changes.append(_change(places[path], by_path[path], old[path], new))
            return changes

        self._writer.change(list(places.values()), changed)

    def delete(self, place: StorePlace) -> bool:
        """Remove a file and all that is left of earlier ones; return whether there was one."""
        there = False

        def gone(states: list[FileState]) -> Sequence[Change]:
            nonlocal there
            there = states[0].exists
            return [version(place, states[0], None)] if states[0].found else []

        self._writer.change([place], gone)
        self._writer.remove_chunks(place)
        return there

    def _count_addition(self, place: StorePlace) -> None:
        """Merge the additions to a file into its version when there may be many."""
        known = self._tally.get(place.name)
        if known is not None and known + 1 < MOST_ADDITIONS:
            self._tally[place.name] = known + 1
            return
        remaining = 0

        def merged(states: list[FileState]) -> Sequence[Change]:
            nonlocal remaining
            state = states[0]
            remaining = len(state.additions)
            if remaining < MOST_ADDITIONS:
                return []
            remaining = 0
            kept = list(takewhile(worth_keeping, state.runs))
            rest = "".join(self._reader.texts(place, state.runs[len(kept) :]))
            new = version(place, state, rest, kept, open_line=state.open, at=state.modified)
            return [new]

        try:
            self._writer.change([place], merged, patience=_MERGING_SECONDS)
        except WorkspaceError as error:
            _log.info("Additions are not merged this time: %s", error)
        if len(self._tally) >= _MOST_TALLIES:
            self._tally.clear()
        self._tally[place.name] = remaining


def _change(place: StorePlace, state: FileState, old: str | None, new: str | None) -> Change:
    if new is None:
        return version(place, state, None)
    lines = added_lines(old or "", new)
    if lines is not None and len(state.additions) < MOST_ADDITIONS:
        # Two writers that add entries do not get into each other's way, nor into a slow rewrite's.
        return addition(place, lines, checked=True)
    kept, length = kept_runs(state, old or "", new)
    open_line = bool(new) and not new.endswith("\n")
    return version(place, state, new[length:], kept, open_line=open_line)
