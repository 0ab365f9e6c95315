"""Fenced code blocks of Markdown: which lines of a text are code."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["fenced", "is_fence"]

_FENCE = re.compile(r" {0,3}(?:(`{3,})([^`\r\n]*)|(~{3,})([^\r\n]*))\r?\n?")


def is_fence(line: str) -> bool:
    """Say whether a line could open or close a fenced code block."""
    return _FENCE.fullmatch(line) is not None


def fenced(lines: Sequence[str]) -> list[bool]:
    """Say for each line whether it is in a fenced code block, the fences themselves included.

    A fence that is never closed is ordinary text here. Markdown would call all the rest of the file
    code, and then one forgotten fence would hide every entry that is ever appended after it.
    """
    marks = [_FENCE.fullmatch(line) for line in lines]
    inside = [False] * len(lines)
    # Per character, the shortest run known to have no closing fence below: without it, a file of
    # nothing but opening fences takes quadratic time.
    hopeless: dict[str, int] = {}
    index = 0
    while index < len(lines):
        mark = marks[index]
        if mark is not None:
            run = mark[1] or mark[3]
            if len(run) < hopeless.get(run[0], len(run) + 1):
                end = _closing(marks, index + 1, run)
                if end is not None:
                    inside[index : end + 1] = [True] * (end + 1 - index)
                    index = end
                else:
                    hopeless[run[0]] = len(run)
        index += 1
    return inside


def _closing(marks: Sequence[re.Match[str] | None], start: int, run: str) -> int | None:
    for index in range(start, len(marks)):
        mark = marks[index]
        if mark is None:
            continue
        closing, info = (mark[1], mark[2]) if mark[1] else (mark[3], mark[4])
        if closing.startswith(run) and not info.strip():
            return index
    return None
