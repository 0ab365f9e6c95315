"""Changes to files in a store: what is to be written, and what that makes obsolete.

Where the store has no locks, a change that depends on what was there is *announced* first: an item
in a namespace of its own holds the whole change, of several files if need be. Others see it and
keep away, or the announcer sees them and withdraws. Then the same item is written once more, as
decided: that one write is the change, for all of its files at once, and whoever reads the files
from then on adds to them what is decided and not yet in its place. A crash before it leaves
everything old, a crash after it everything new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .names import ItemKey, Namespace, StorePlace
from .pieces import Piece, Run, as_runs, key_time, new_key, pack_text, piece_value, read_piece
from .state import FileState

__all__ = [
    "Announcement",
    "Change",
    "added_lines",
    "addition",
    "announcement_value",
    "kept_runs",
    "read_announcement",
    "version",
    "worth_keeping",
]

_WORTH_KEEPING = 32_768


@dataclass(frozen=True, slots=True)
class Change:
    """One piece to write.

    Args:
        items: The namespace of the file's pieces.
        key: The key of the new piece.
        value: The new piece.
        chunks: New parts of its text by their items.
        obsolete: Items to remove once the piece is there.
    """

    items: Namespace
    key: str
    value: Mapping[str, Any]
    chunks: Mapping[ItemKey, Mapping[str, Any]] = field(default_factory=dict)
    obsolete: tuple[ItemKey, ...] = ()

    @property
    def piece(self) -> Piece:
        """The new piece, which sorts behind all that are in their place."""
        return read_piece(self.key, self.value, (1, self.key))

    @property
    def passing(self) -> tuple[ItemKey, ...]:
        """The new piece itself, if it only says that there is no file."""
        return () if self.piece.exists else ((self.items, self.key),)

    def conflicts(self, before: FileState, now: FileState) -> bool:
        """Say whether somebody else has changed the file so that this change would be wrong.

        Additions that came in between stay behind a new version: nothing of them is lost.
        """
        mine = self.piece
        unseen = [p for key, p in now.found.items() if key not in before.found and key != self.key]
        return any(piece.whole or (piece.checked and not mine.whole) for piece in unseen)


@dataclass(frozen=True, slots=True)
class Announcement:
    """Changes that somebody has announced or decided.

    Args:
        key: The key of its item.
        decided: Whether the changes count.
        changes: What is to be written, without chunks.
    """

    key: str
    decided: bool
    changes: tuple[Change, ...]


def version(
    place: StorePlace,
    state: FileState,
    text: str | None,
    kept: Iterable[Run] = (),
    *,
    open_line: bool | None = None,
    at: float | None = None,
) -> Change:
    """Return the change that replaces a file as a whole.

    Args:
        place: The file.
        state: The file as it is.
        text: The new text behind what is kept, or None to delete the file.
        kept: Runs of the present text that the new one starts with.
        open_line: Whether all of it ends in the middle of a line; None: as `text` does.
        at: When the text was written; None: now.
    """
    old = list(kept)
    new, texts = as_runs(text or "")
    runs = [*old, *new]
    if open_line is None:
        open_line = bool(text) and not (text or "").endswith("\n")
    key = new_key(state.keys)
    value = piece_value(
        place.path,
        runs,
        whole=True,
        exists=text is not None,
        open=open_line,
        replaces=state.keys,
        at=at,
    )
    unused = state.chunks - {run.chunk for run in old}
    return Change(
        place.items,
        key,
        value,
        {(place.chunks, chunk): pack_text(part) for chunk, part in texts.items()},
        (
            *((place.items, item) for item in sorted(state.keys)),
            *((place.chunks, chunk) for chunk in sorted(unused)),
        ),
    )


def addition(place: StorePlace, text: str, header: str = "", *, checked: bool) -> Change:
    """Return the change that adds whole lines to the end of a file.

    Args:
        place: The file.
        text: The lines, the last newline included.
        header: What a new or empty file starts with.
        checked: Whether it depends on what was there before it.
    """
    runs, texts = as_runs(text)
    value = piece_value(place.path, runs, whole=False, header=header, checked=checked)
    return Change(
        place.items,
        new_key(),
        value,
        {(place.chunks, chunk): pack_text(part) for chunk, part in texts.items()},
    )


def added_lines(old: str, new: str) -> str | None:
    """Return the lines that `new` adds to the end of `old`, or None when that is not all."""
    if not new.startswith(old) or not new.endswith("\n"):
        return None
    added = new[len(old) :]
    if old and not old.endswith("\n"):
        # An addition ends an open line by itself.
        if not added.startswith("\n"):
            return None
        added = added[1:]
    return added or None


def kept_runs(state: FileState, old: str, new: str) -> tuple[list[Run], int]:
    """Return the chunks that both texts start with, and their length in characters."""
    kept: list[Run] = []
    length = 0
    for run in state.runs:
        end = length + run.chars
        if not worth_keeping(run) or new[length:end] != old[length:end]:
            break
        kept.append(run)
        length = end
    return kept, length


def worth_keeping(run: Run) -> bool:
    """Whether a chunk may be taken over as it is; small ones would become ever more."""
    return run.chunk is not None and run.chars >= _WORTH_KEEPING


def announcement_value(changes: Iterable[Change], *, decided: bool) -> dict[str, Any]:
    """Return changes as the value of an item."""
    return {
        "decided": decided,
        "changes": [
            {
                "items": list(change.items),
                "key": change.key,
                "value": change.value,
                "obsolete": [[list(namespace), key] for namespace, key in change.obsolete],
            }
            for change in changes
        ],
    }


def read_announcement(key: str, value: Mapping[str, Any]) -> Announcement:
    """Return what `announcement_value` has made a value of.

    Raises:
        KeyError, TypeError, ValueError: It is not such a value.
    """
    key_time(key)
    changes = tuple(
        Change(
            tuple(map(str, change["items"])),
            str(change["key"]),
            change["value"],
            obsolete=tuple((tuple(name), str(item)) for name, item in change["obsolete"]),
        )
        for change in value["changes"]
    )
    for change in changes:
        _ = change.piece  # what cannot be read is found now
    return Announcement(key, bool(value["decided"]), changes)
