"""What a file in a store is right now: its pieces, put together."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator

from .pieces import Piece, Run

__all__ = ["FileState"]

_log = logging.getLogger(__name__)


class FileState:
    """A file as its pieces make it.

    The newest version counts, and then every addition that no version replaces, in the order in
    which they came. Two versions that do not know of each other can only meet where the store has
    no lock; then the one with the larger key counts.

    Args:
        found: All pieces that there are, those that do not count any more included.
    """

    def __init__(self, found: Iterable[Piece]) -> None:
        everything = {piece.key: piece for piece in found}
        replaced = _replaced(everything.values())
        versions = [
            piece for key, piece in everything.items() if piece.whole and key not in replaced
        ]
        top = max(versions, key=lambda piece: piece.key, default=None)
        if len(versions) > 1 and top is not None:
            _log.warning(
                "%s was rewritten by two processes at once, in a store without locks: the later"
                " version counts",
                top.path,
            )
            # What an earlier version took the place of is not in the one that counts.
            losing = {piece.key for piece in versions} - {top.key}
            replaced = _replaced(p for key, p in everything.items() if key not in losing)
        additions = sorted(
            (p for key, p in everything.items() if not p.whole and key not in replaced),
            key=lambda piece: piece.order,
        )
        self.found = everything
        self.additions = additions
        self.exists = bool(additions) or (top is not None and top.exists)
        self.modified = max((p.at for p in (top, *additions) if p is not None), default=0.0)
        self.runs, self.open = _compose(top, additions)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all pieces."""
        return frozenset(self.found)

    @property
    def chunks(self) -> frozenset[str]:
        """The keys of all chunks that a piece refers to."""
        runs = (run for piece in self.found.values() for run in piece.runs)
        return frozenset(run.chunk for run in runs if run.chunk is not None)

    @property
    def size(self) -> int:
        """The length of the text in bytes of UTF-8."""
        return sum(run.size for run in self.runs)

    @property
    def token(self) -> str:
        """A name of this text and of no other: no chunk ever changes, no key is used again."""
        parts = hashlib.sha256()
        for run in self.runs:
            part = f"chunk {run.chunk}" if run.text is None else f"text {run.size} {run.text}"
            parts.update(part.encode("utf-8", "surrogatepass"))
        return parts.hexdigest()

    def runs_from(self, *, char: int = 0, line: int = 0) -> tuple[Iterator[Run], tuple[int, int]]:
        """Leave out the runs before a character or a line.

        Returns:
            The other runs, and the line and the character that the first of them starts at.
        """
        at_line = at_char = 0
        for index, run in enumerate(self.runs):
            # The line may start in the middle of the run that has the newline before it.
            if at_char + run.chars > char and at_line + run.lines >= line:
                return iter(self.runs[index:]), (at_line, at_char)
            at_line += run.lines
            at_char += run.chars
        return iter(()), (at_line, at_char)


def _replaced(pieces: Iterable[Piece]) -> frozenset[str]:
    return frozenset().union(*(piece.replaces for piece in pieces))


def _compose(top: Piece | None, additions: Iterable[Piece]) -> tuple[list[Run], bool]:
    runs = list(top.runs) if top is not None else []
    open_line = top is not None and top.open
    for piece in additions:
        if open_line:
            runs.append(Run(1, 1, 1, "\n"))
        elif not runs and piece.header:
            header = piece.header
            runs.append(Run(len(header), len(header.encode()), header.count("\n"), header))
        runs += piece.runs
        open_line = piece.open
    return runs, open_line
