"""Headings of MEMORY.md and the entries below them: taking entries out, and adding some.

A heading stands for all entries up to the next one of its rank. When the entry right below it goes,
the heading stays with those that are left; what is moved elsewhere takes a copy of its headings
along, so that "- port 5051" still says which port. What `memory_save` has added stands for itself:
headings of the undated part above do not reach it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..lines import split_lines
from .memory_file import MemoryPart, split_memory, without_open_fences

__all__ = ["add_parts", "drop_first", "headings_above", "with_headings", "without"]

_HEADING = re.compile(r"(#{1,6})(?:\s|$)")


@dataclass(frozen=True, slots=True)
class _Heading:
    level: int
    text: str  # with the blank lines below it

    @property
    def name(self) -> tuple[int, str]:
        return self.level, self.text.strip()


Headings = tuple[_Heading, ...]


def drop_first(text: str, count: int) -> str:
    """Return a MEMORY.md without its first `count` entries; frontmatter and the rest stay."""
    parts = split_memory(text)
    entries = [index for index, part in enumerate(parts) if part.is_entry]
    return without(parts, set(entries[: max(0, count)]))


def without(parts: Sequence[MemoryPart], gone: Collection[int]) -> str:
    """Return a file without some of its parts, with all headings that something is left below.

    Args:
        parts: The parts of the file.
        gone: Positions of those that go.
    """
    kept: list[str] = []
    waiting: Headings = ()  # of parts that go; what comes next may still stand below them
    dated, above = False, ""
    for index, part in enumerate(parts):
        own = _taken_apart(part)[0]
        if index in gone:
            if part.kind == "dated" and not dated:
                waiting = ()
            waiting, dated = _below(waiting, own), part.kind == "dated"
            continue
        if part.is_entry or own:
            if (part.kind == "dated") == dated:
                kept += [h.text for h in waiting if not own or h.level < own[0].level]
            waiting = ()
        # A list that begins with another number than 1 is a paragraph's next line, in Markdown.
        if "paragraph" in (above, part.kind) and index - 1 in gone and _goes_on(kept):
            kept.append("\n")  # what parted them has gone
        kept.append(part.text)
        above = part.kind
    text = "".join(kept)
    if 0 in gone and text and split_memory(text)[0].kind == "frontmatter":
        text = f"\n{text}"  # a rule that is first now is none
    return text


def _goes_on(kept: Sequence[str]) -> bool:
    """Whether what comes next would be read as part of the last entry."""
    last = split_lines(kept[-1])[-1] if kept and kept[-1] else ""
    return bool(last.strip()) and not _HEADING.match(last)


def headings_above(parts: Sequence[MemoryPart], start: Headings = ()) -> list[Headings]:
    """Return for each part the headings that it stands below, its own included.

    Args:
        parts: Parts of a file.
        start: The headings above the first of them.
    """
    found, current, dated = [], start, False
    for part in parts:
        if part.kind == "dated" and not dated:
            current, dated = (), True
        current = _below(current, _taken_apart(part)[0])
        found.append(current)
    return found


def with_headings(part: MemoryPart, headings: Headings, above: Headings = ()) -> MemoryPart:
    """Return a part as it has to stand elsewhere, below the headings that it belongs to.

    Args:
        part: The part.
        headings: Its headings.
        above: The headings that reach the place where it goes.
    """
    own, blank, body = _taken_apart(part)
    known = [h.name for h in above]
    missing = headings
    if [h.name for h in headings[: len(known)]] == known:
        missing = headings[len(known) :]
    if missing == own:
        return part
    text = blank + "".join(h.text for h in missing) + body
    return MemoryPart(part.kind, text, part.day)


def add_parts(text: str, parts: Sequence[MemoryPart], headings: Sequence[Headings]) -> str:
    """Return a file with more parts at its end, each below its headings.

    A fence in the file that is never closed is escaped: one in the new parts would close it, and
    what stands between would be read as code.
    """
    if any("```" in part.text or "~~~" in part.text for part in parts):
        text = without_open_fences(text)
    for part, its in zip(parts, headings, strict=True):
        if part.kind == "dated":
            text += part.text
        else:
            above = headings_above(split_memory(text))
            text += with_headings(part, its, above[-1] if above else ()).text
        text += "" if text.endswith("\n") else "\n"
    return text


def _below(headings: Headings, own: Headings) -> Headings:
    for heading in own:
        headings = (*(h for h in headings if h.level < heading.level), heading)
    return headings


def _taken_apart(part: MemoryPart) -> tuple[Headings, str, str]:
    """Return the headings at the top of a part, the blank lines before them, and what is below."""
    if part.kind == "frontmatter":
        return (), "", part.text
    headings: list[_Heading] = []
    blank = ""
    lines = split_lines(part.text)
    for index, line in enumerate(lines):
        match = _HEADING.match(line)
        if match:
            text = line if line.endswith("\n") else line + "\n"
            headings.append(_Heading(len(match[1]), text))
        elif line.strip():
            return tuple(headings), blank, "".join(lines[index:])
        elif headings:
            headings[-1] = _Heading(headings[-1].level, headings[-1].text + line)
        else:
            blank += line
    return tuple(headings), blank, ""
