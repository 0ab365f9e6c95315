"""How far each thread has been extracted from.

The cursor is a record of the workspace: places in the journal, the newest last, each the id of the
last message covered and the position after it. It is written *after* the ledger, whose entries
carry a marker of their own: what a crash has kept the cursor from saying, the markers say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ...state.decisions import after
from ...state.journal import Journal
from ..paths import safe_segment
from ..records import moment_in
from ..workspace import ScopedWorkspace
from .ledger import (
    LedgerMarker,
    format_ledger_entry,
    ledger_date,
    ledger_header,
    ledger_path,
    markers_of,
)

__all__ = ["FlushCursor", "Place"]

# A fork, or a thread whose last messages were taken back, goes on from one of these.
_POINTS = 50
# Beyond so many days apart, the ledgers are listed instead of asked for one by one.
_FEW_DAYS = 7


@dataclass(frozen=True, slots=True)
class Place:
    """Where the next extraction begins.

    Attributes:
        start: Position in the journal.
        seen: The thread's entries in today's ledger at that moment.
    """

    start: int
    seen: int


class FlushCursor:
    """The cursor of one thread.

    Args:
        files: The owner's files.
        thread: The id of the thread.
        namespace: Which of the agents in that thread, when the agent is part of another graph.
    """

    def __init__(self, files: ScopedWorkspace, thread: str, namespace: str = "") -> None:
        self.files = files
        self.thread = thread
        self.name = f"flush/{safe_segment(thread)}"
        if namespace:
            self.name += f"/{safe_segment(namespace)}"

    def place(self, journal: Journal, moment: datetime) -> Place:
        """Return where to go on, from the record and from the ledgers written since.

        Args:
            journal: The thread's journal.
            moment: Now, in the zone whose calendar counts.
        """
        record = self.files.read_json(self.name) or {}
        start = max((after(journal, *point) for point in _points(record)), default=0)
        today = ledger_path(moment)
        last = moment_in(record.get("at"))
        texts = self._ledgers(min(last or moment, moment), max(last or moment, moment), today)
        markers = [m for text in texts.values() for m in markers_of(text, self.thread)]
        known = record.get("marker")
        for index in range(len(markers) - 1, -1, -1):
            if [markers[index].first, markers[index].last] == known:
                markers = markers[index + 1 :]  # the record has this one and all before it
                break
        start = max(start, *(after(journal, marker.last) for marker in markers), 0)
        return Place(start, len(markers_of(texts.get(today, ""), self.thread)))

    def append(self, moment: datetime, body: str, marker: LedgerMarker, place: Place) -> str | None:
        """Append an entry to today's ledger, unless somebody has gone on with the thread meanwhile.

        Args:
            moment: The instant of both file name and heading.
            body: The facts.
            marker: What they were made from.
            place: Where this extraction began.

        Returns:
            The path of the ledger; None: nothing was written, look again where to begin.
        """
        path = ledger_path(moment)
        appended = self.files.append_text(
            path,
            format_ledger_entry(moment, body, marker),
            header=ledger_header(moment),
            unless=lambda text: len(markers_of(text, self.thread)) != place.seen,
        )
        return path if appended else None

    def advance(
        self, journal: Journal, stop: int, moment: datetime, marker: LedgerMarker | None
    ) -> None:
        """Remember that everything before a position is covered.

        Args:
            journal: The thread's journal.
            stop: The position.
            moment: Now.
            marker: The entry that was written for it, if one was.
        """
        point = [journal[stop - 1].id, stop]

        def moved(old: Mapping[str, Any] | None) -> dict[str, Any]:
            record = dict(old or {})
            earlier = [list(p) for p in _points(record) if p[0] != point[0]]
            record |= {"points": [*earlier, point][-_POINTS:], "at": moment.isoformat()}
            if marker is not None:
                record["marker"] = [marker.first, marker.last]
            return record

        self.files.update_json(self.name, moved)

    def copy_to(self, thread: str) -> None:
        """Let a fork of the thread, which is new, go on from the places that this one has reached.

        Entries of ledgers that only their markers tell of are the original's.
        """
        record = self.files.read_json(self.name)
        if record is not None:
            copied = {"points": record.get("points"), "at": record.get("at")}
            self.files.update_json(f"flush/{safe_segment(thread)}", lambda _: copied)

    def _ledgers(self, since: datetime, until: datetime, today: str) -> dict[str, str]:
        """Return the ledgers that may hold an entry which the record does not know, in order."""
        first, last = since.date() - timedelta(days=1), until.date()
        days = (last - first).days
        if days <= _FEW_DAYS:
            names = [f"{(first + timedelta(days=n)).isoformat()}.md" for n in range(days + 1)]
            paths = [f"memory/{folder}{name}" for name in names for folder in ("", "archive/")]
        else:
            paths = [
                path
                for path in self.files.list_files("memory")
                if (day := ledger_date(path)) is not None and first <= day <= last
            ]
        texts = {path: self.files.read_text(path) for path in dict.fromkeys([*paths, today])}
        return {
            path: text
            for path, text in sorted(texts.items(), key=lambda item: item[0].rpartition("/")[2])
            if text
        }


def _points(record: Mapping[str, Any]) -> list[tuple[str, int]]:
    points = record.get("points")
    return [
        (point[0], point[1])
        for point in (points if isinstance(points, list) else [])
        if isinstance(point, list)
        and len(point) == 2
        and isinstance(point[0], str)
        and isinstance(point[1], int)
    ]
