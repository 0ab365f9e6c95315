"""MEMORY.md as a list of entries.

Two kinds of text live in one file. What `memory_save` adds is a *dated entry*: a line
`<!-- 2026-03-02 -->`, then its body up to the next such line or the end of the file, whatever
Markdown is in it. What a person or the consolidation wrote above the first date is undated: each
top-level bullet with its continuation lines is an entry, and each paragraph with what is indented
below it; such an entry may say its date in a comment of its own (`- The port is 5051. <!--
2026-03-02 -->`). Headings belong to the entry below them. Text is only ever cut between lines, so
the parts joined are exactly the file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal

from ...state.fences import fenced, is_fence
from ..lines import escape_lines, split_lines, unescape_lines

__all__ = [
    "MemoryPart",
    "add_entry",
    "count_entries",
    "entry_body",
    "format_entry",
    "split_memory",
    "without_open_fences",
]

_DATE = re.compile(r"<!--[ \t]*(\d{4}-\d\d-\d\d)[ \t]*-->\s*", re.ASCII)
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)", re.ASCII)
_INLINE_DATE = re.compile(r"<!--[ \t]*(\d{4}-\d\d-\d\d)[ \t]*-->", re.ASCII)
_FRONTMATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(?:[^\s:#][^:\n]*:|---)")
_FRONTMATTER_END = re.compile(r"(?:---|\.\.\.)\s*")


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A run of whole lines of MEMORY.md.

    Args:
        kind: What it is. `frontmatter` (at the top) and `rest` (blank lines, or headings with
            nothing below) are no entries.
        text: Its lines, with headings before and blank lines after.
        day: The date of a dated entry, and of a bullet or paragraph that has one in a comment.
    """

    kind: Literal["frontmatter", "dated", "bullet", "paragraph", "rest"]
    text: str
    day: date | None = None

    @property
    def is_entry(self) -> bool:
        """Whether it counts as an entry."""
        return self.kind in ("dated", "bullet", "paragraph")


def split_memory(text: str) -> list[MemoryPart]:
    """Return the parts of MEMORY.md in the order of the file; their texts joined are the file."""
    lines = split_lines(text)
    top = _frontmatter_length(lines)
    parts = [MemoryPart("frontmatter", "".join(lines[:top]))] if top else []
    lines = lines[top:]
    code = fenced(lines)
    dates = [index for index, line in enumerate(lines) if not code[index] and _day(line)]
    # Headings right above a date belong to it.
    floors = [0, *(index + 1 for index in dates)]
    cuts = [_above(lines, code, at, floor) for at, floor in zip(dates, floors, strict=False)]
    cuts.append(len(lines))
    parts += _undated(lines[: cuts[0]], code[: cuts[0]])
    for index, (start, end) in zip(dates, pairwise(cuts), strict=True):
        parts.append(MemoryPart("dated", "".join(lines[start:end]), _day(lines[index])))
    return parts


def count_entries(text: str) -> int:
    """Return how many entries a MEMORY.md holds."""
    return sum(part.is_entry for part in split_memory(text))


def format_entry(day: date, body: str, *, below_open_fence: bool = False) -> str:
    """Return a dated entry as it stands in the file, the final newline included.

    What would change how the file is split is escaped: date comments, a fence that is never closed,
    and headings at the very end, which would belong to the entry that comes next. `entry_body`
    gives the body back, without the white space around it.

    Args:
        day: The date.
        body: Any text.
        below_open_fence: Every fence is escaped: one of them would close the fence that stands open
            in the file, and the date line would be read as code.
    """
    body = body.strip()
    lines = body.split("\n")
    code = fenced(lines)
    tail = _above(lines, code, len(lines), 0)
    escaped = escape_lines(
        body,
        _is_structure,
        lambda index: (
            _day(lines[index]) is not None
            or (is_fence(lines[index]) and (below_open_fence or not code[index]))
            or index >= tail
        ),
    )
    return f"<!-- {day.isoformat()} -->\n{escaped}\n"


def entry_body(part: MemoryPart) -> str:
    """Return the text of an entry without its date line, headings above it and surrounding
    space."""
    if part.kind != "dated":
        return part.text.strip()
    lines = split_lines(part.text)
    code = fenced(lines)
    at = next(i for i, line in enumerate(lines) if not code[i] and _day(line) is not None)
    return unescape_lines("".join(lines[at + 1 :]).strip(), _is_structure)


def add_entry(text: str | None, day: date, body: str) -> str:
    """Return a MEMORY.md with one more dated entry at its end, a blank line before it.

    Args:
        text: The present file, or None when there is none.
        day: The date of the entry.
        body: Any text; see `format_entry`.
    """
    before = text or ""
    if before.strip():
        before += "\n" * max(0, 2 - (len(before) - len(before.rstrip("\n"))))
    elif before and not before.endswith("\n"):
        before += "\n"  # the date has a line of its own, whatever white space there is
    return before + format_entry(day, body, below_open_fence=_open_fences(before) != [])


def without_open_fences(text: str) -> str:
    """Return a file in which fences that are never closed are escaped: text, as they are read."""
    lines = split_lines(text)
    for index in _open_fences(text):
        lines[index] = "\\" + lines[index]
    return "".join(lines)


def _open_fences(text: str) -> list[int]:
    lines = split_lines(text)
    return [i for i, inside in enumerate(fenced(lines)) if not inside and is_fence(lines[i])]


def _undated(lines: Sequence[str], code: Sequence[bool]) -> list[MemoryPart]:
    parts: list[MemoryPart] = []
    kind: Literal["bullet", "paragraph", "rest"] = "rest"
    start = 0
    after_blank = True
    opens_indented = False
    for index, line in enumerate(lines):
        inner = index > 0 and code[index] and code[index - 1]
        begun = kind != "rest" and not opens_indented
        found = None if inner else _starts(line, kind, after_blank, begun)
        if found is not None:
            # Headings (a part that is `rest` so far) are joined by the entry below them.
            if kind != "rest":
                parts.append(_part(kind, "".join(lines[start:index])))
                start = index
            kind = found
            opens_indented = line[0] in " \t"
        after_blank = not inner and not line.strip()
    if lines:
        parts.append(_part(kind, "".join(lines[start:])))
    return parts


def _part(kind: Literal["bullet", "paragraph", "rest"], text: str) -> MemoryPart:
    if kind == "rest":
        return MemoryPart(kind, text)
    days = [day for day in map(_valid_day, _INLINE_DATE.findall(text)) if day is not None]
    return MemoryPart(kind, text, max(days, default=None))


def _starts(
    line: str, kind: str, after_blank: bool, may_go_on: bool
) -> Literal["bullet", "paragraph", "rest"] | None:
    """Say what starts with a line, or None when it goes on with what is there.

    What is indented goes on with what is not (`may_go_on`): with a bullet as its text, with a
    paragraph as the code that it speaks of. Apart from it, it would be read as a bullet's.
    """
    if not line.strip():
        return None
    if _HEADING.match(line):
        return "rest"
    if _BULLET.match(line):
        return "bullet"
    if kind == "rest":
        return "paragraph"
    indented = line[0] in " \t"
    return "paragraph" if after_blank and not (may_go_on and indented) else None


def _above(lines: Sequence[str], code: Sequence[bool], index: int, floor: int) -> int:
    """Return where the headings (with blank lines between them) right above a line start."""
    top = index
    for above in range(index - 1, floor - 1, -1):
        if code[above] or (lines[above].strip() and not _HEADING.match(lines[above])):
            break
        if lines[above].strip():
            top = above
    return top


def _frontmatter_length(lines: Sequence[str]) -> int:
    # A lone `---` is a rule: only what goes on with `key:` is frontmatter.
    if not _FRONTMATTER.match("".join(lines[:2])):
        return 0
    for index in range(1, len(lines)):
        if _FRONTMATTER_END.fullmatch(lines[index]):
            blank = index + 1
            while blank < len(lines) and not lines[blank].strip():
                blank += 1
            return blank
    return 0


def _day(line: str) -> date | None:
    match = _DATE.fullmatch(line)
    return _valid_day(match[1]) if match else None


def _valid_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _is_structure(line: str) -> bool:
    return _day(line) is not None or is_fence(line) or _HEADING.match(line) is not None
