"""The daily ledger: one file a day that is only appended to.

    # 2026-11-30

    ## 14:05
    <!-- longthread thread=t-17 messages=m1..m9 -->
    The deployment uses port 5051.

The heading starts an entry. The marker says which part of which thread the entry was made from, so
that after a crash the same part is not written a second time, and so that a thread can be erased.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock_time
from functools import partial
from urllib.parse import quote, unquote

from ...state.errors import ConfigurationError
from ..lines import escape_lines, split_lines, unescape_lines
from ..workspace import ScopedWorkspace
from .scopes import Scope, scoped_path

__all__ = [
    "LedgerEntry",
    "LedgerMarker",
    "append_entry",
    "format_ledger_entry",
    "has_marker",
    "ledger_date",
    "ledger_header",
    "ledger_path",
    "markers_of",
    "read_entries",
    "split_entries",
    "without_markers",
    "without_thread",
]

_HEADING = re.compile(r"## ([01][0-9]|2[0-3]):([0-5][0-9])(?=\s|$)", re.ASCII)
_MARKER = re.compile(r"<!-- longthread thread=(\S*) messages=(\S*?)\.\.(\S*) -->\s*")
_STRUCTURE = re.compile(r"## \d\d:\d\d|<!--\s*(?:longthread\b|\d{4}-\d\d-\d\d\s*-->)", re.ASCII)
_PATH = re.compile(r"(?:global/)?memory/(?:archive/)?(\d{4}-\d\d-\d\d)\.md", re.ASCII)


@dataclass(frozen=True, slots=True)
class LedgerMarker:
    """Which part of the journal an entry was made from.

    Args:
        thread: The id of the thread.
        first: The id of the first message covered.
        last: The id of the last message covered.
    """

    thread: str
    first: str
    last: str

    def __str__(self) -> str:
        thread, first, last = map(_escape_id, (self.thread, self.first, self.last))
        return f"<!-- longthread thread={thread} messages={first}..{last} -->"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One entry of a ledger.

    Args:
        time: The wall-clock time of its heading, to the minute.
        marker: Where it came from, or None for an entry without a marker.
        body: Its text as it was given, without the blank lines around it.
    """

    time: clock_time
    marker: LedgerMarker | None
    body: str


def ledger_path(moment: datetime, scope: Scope = "agent") -> str:
    """Return the path of the day's ledger, such as `memory/2026-11-30.md`.

    Args:
        moment: The instant, in the time zone whose calendar counts.
        scope: Whose ledger.

    Raises:
        ConfigurationError: The datetime has no time zone.
    """
    if moment.utcoffset() is None:
        raise ConfigurationError(
            f"moment {moment!r} has no time zone; use datetime.now(tz), so that the file and the"
            " heading show the same instant"
        )
    return scoped_path(f"memory/{moment.date().isoformat()}.md", scope)


def ledger_date(path: str) -> date | None:
    """Return the day of a ledger's path, archived ones included, or None for any other path."""
    match = _PATH.fullmatch(path)
    try:
        return date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None


def append_entry(
    workspace: ScopedWorkspace,
    moment: datetime,
    body: str,
    marker: LedgerMarker | None = None,
    *,
    scope: Scope = "agent",
    once: bool = False,
) -> str:
    """Append one entry to the ledger of the day.

    Args:
        workspace: The owner's files.
        moment: The instant of both file name and heading, in the zone to show it in.
        body: Any text. What looks like a heading, a marker or a date comment in it is escaped;
            `read_entries` gives it back.
        marker: Where the text came from.
        scope: Whose ledger.
        once: Append nothing when the file already holds an entry with this marker; checked under
            the file's lock. Leave it off where several entries may come from the same messages.

    Returns:
        The path of the ledger.

    Raises:
        ConfigurationError: The datetime has no time zone.
        WorkspaceError: The file cannot be written.
    """
    path = ledger_path(moment, scope)
    text = format_ledger_entry(moment, body, marker)
    unless = partial(has_marker, marker=marker) if once and marker is not None else None
    workspace.append_text(path, text, header=ledger_header(moment), unless=unless)
    return path


def ledger_header(moment: datetime) -> str:
    """Return what the ledger of a day begins with."""
    return f"# {moment.date().isoformat()}\n\n"


def format_ledger_entry(moment: datetime, body: str, marker: LedgerMarker | None = None) -> str:
    """Return an entry as it stands in a ledger, the blank line after it included."""
    lines = [f"## {moment:%H:%M}"]
    if marker is not None:
        lines.append(str(marker))
    lines += [escape_lines(body.strip("\n"), _is_structure), "", ""]
    return "\n".join(lines)


def read_entries(text: str) -> list[LedgerEntry]:
    """Return the entries of a ledger in the order of the file.

    What stands before the first heading is no entry. Headings without a marker, written by hand,
    start an entry too.
    """
    return [entry for piece in split_entries(text) if (entry := _parse(piece)) is not None]


def has_marker(text: str, marker: LedgerMarker) -> bool:
    """Say whether a ledger holds a whole entry with this marker.

    A last entry without a final newline was cut short by a crash and does not count.
    """
    pieces = split_entries(text)
    if not text.endswith("\n"):
        pieces.pop()
    return any(entry.marker == marker for entry in map(_parse, pieces) if entry is not None)


def markers_of(text: str, thread: str) -> list[LedgerMarker]:
    """Return the markers of a thread's entries in the order of the file.

    An entry that a crash has cut short lacks the blank line at its end, whatever was appended
    after it, and does not count.
    """
    found = []
    beginning = f"<!-- longthread thread={_escape_id(thread)} "
    for piece in split_entries(text) if beginning in text else ():
        if beginning not in piece or not piece.replace("\r", "").endswith("\n\n"):
            continue
        entry = _parse(piece)
        if entry is not None and entry.marker is not None and entry.marker.thread == thread:
            found.append(entry.marker)
    return found


def without_markers(text: str) -> str:
    """Return a ledger, or a part of one, as it is shown to a model: where it came from is left
    out."""
    return "".join(line for line in split_lines(text) if not _MARKER.fullmatch(line))


def without_thread(text: str, thread: str) -> str:
    """Return a ledger without the entries of one thread; all else stays byte for byte."""
    kept = []
    for piece in split_entries(text):
        entry = _parse(piece)
        if entry is None or entry.marker is None or entry.marker.thread != thread:
            kept.append(piece)
    return "".join(kept)


def split_entries(text: str) -> list[str]:
    """Return a ledger cut before every heading; the pieces joined are the text."""
    pieces: list[list[str]] = [[]]
    for line in split_lines(text):
        if _HEADING.match(line):
            pieces.append([])
        pieces[-1].append(line)
    return ["".join(piece) for piece in pieces]


def _parse(piece: str) -> LedgerEntry | None:
    heading, _, rest = piece.partition("\n")
    at = _HEADING.match(heading)
    if at is None:
        return None
    line, _, below = rest.partition("\n")
    marker = _marker(line)
    body = (below if marker else rest).strip("\n")
    return LedgerEntry(
        clock_time(int(at[1]), int(at[2])), marker, unescape_lines(body, _is_structure)
    )


def _marker(line: str) -> LedgerMarker | None:
    match = _MARKER.fullmatch(line)
    return LedgerMarker(*map(_unescape_id, match.groups())) if match else None


def _escape_id(text: str) -> str:
    # `>` and white space go, so that no id ends the comment; dots, so that `..` separates.
    return quote(text, safe="", errors="surrogatepass").replace(".", "%2E")


def _unescape_id(text: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="surrogatepass")
    except UnicodeDecodeError:
        return unquote(text, errors="backslashreplace")  # somebody edited the marker


def _is_structure(line: str) -> bool:
    return _STRUCTURE.match(line) is not None
