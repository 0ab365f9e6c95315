"""Giving the entries that a consolidation has written the dates that their facts are from.

Bullets and paragraphs get theirs as a comment at the end of their first line. What a model says of
dates is believed only if the facts that it was given have that date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import TypeAlias

from ...state.facts import facts_of, normalised
from ...state.fences import is_fence
from ..lines import split_lines
from .memory_file import MemoryPart, entry_body, split_memory

__all__ = ["FactDates", "fact_dates", "latest", "with_dates"]

_COMMENT = re.compile(r"[ \t]*<!--[ \t]*(\d{4}-\d\d-\d\d)[ \t]*-->", re.ASCII)
_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_NO_COMMENT = re.compile(r"[|<]")  # a row of a table, a comment or a tag: nothing can stand after


FactDates: TypeAlias = dict[str, date | None]
"""Normalised fact to the date that it is from; None: nobody has said."""


def fact_dates(text: str, day: date | None = None) -> FactDates:
    """Return the date of each fact in a MEMORY.md, or of all facts in a text that is of one day.

    Args:
        text: The text.
        day: The day that everything in it is from; None: what the entries say.

    Returns:
        The dates, the latest where a fact stands several times.
    """
    return latest(
        *(
            dict.fromkeys(map(normalised, facts_of(entry_body(part))), day or part.day)
            for part in split_memory(text)
            if part.is_entry
        )
    )


def latest(*texts: Mapping[str, date | None]) -> FactDates:
    """Return the dates of several texts together."""
    dates: FactDates = {}
    for text in texts:
        for name, day in text.items():
            known = dates.get(name)
            dates[name] = known if day is None or (known is not None and known > day) else day
    return dates


def with_dates(text: str, known: Mapping[str, date | None], default: date) -> str:
    """Return a MEMORY.md in which every new entry has a date, and all dates are accounted for.

    Args:
        text: The file.
        known: The dates of the facts that it was made from. They override what the text says; a
            fact that had none, and stands as it was, gets none.
        default: The date of entries that are not among them and have none, or one that none of the
            known facts has: a model made it up.
    """
    real = {default, *(day for day in known.values() if day is not None)}
    return "".join(
        _with_date(part, known, real, default) if part.is_entry else part.text
        for part in split_memory(text)
    )


def _with_date(
    part: MemoryPart, known: Mapping[str, date | None], real: set[date], default: date
) -> str:
    stated = part.day
    if part.kind == "dated":
        if stated in real:
            return part.text
        return part.text.replace(f"{stated}", f"{default}", 1)
    lines = split_lines(part.text)
    at = next(i for i, line in enumerate(lines) if line.strip() and not _HEADING.match(line))
    found = [known[name] for fact in facts_of(part.text) if (name := normalised(fact)) in known]
    day = max((at for at in found if at is not None), default=None)
    if day is None and not found:
        day = stated if stated in real else default
    if stated == day:
        return part.text
    body = [line if i < at else _COMMENT.sub("", line) for i, line in enumerate(lines)]
    if is_fence(body[at]) or _NO_COMMENT.match(body[at]):
        return part.text
    if day is not None:
        first = body[at].rstrip("\r\n")
        body[at] = f"{first.rstrip()} <!-- {day.isoformat()} -->{body[at][len(first) :]}"
    return "".join(body)
