"""How a query is matched against a record: a line of memory, or a message of a thread.

Matching ignores case and is otherwise literal. Both sides are folded first (`fold`), so `STRASSE`
finds `straße` and `istanbul` finds `İstanbul`; folding can change the length of a text, so places
in a folded text are not places in the text itself, and `Query.span` translates them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from ..state.errors import ToolInputError
from ..state.text import clip_end, clip_start

__all__ = ["MatchMode", "Query", "compile_query", "excerpt", "fold", "parse_match_mode"]

MatchMode: TypeAlias = Literal["phrase", "all", "any"]
"""`phrase`: the whole query, literally. `all`, `any`: its words, in any order."""

_MODES = ("phrase", "all", "any")


def parse_match_mode(value: object) -> MatchMode:
    """Return the mode that was asked for; None stands for `phrase`.

    Raises:
        ToolInputError: It is anything but None, "phrase", "all" or "any"; "" is no mode either.
    """
    if value is None:
        return "phrase"
    if isinstance(value, str) and value in _MODES:
        return cast(MatchMode, value)
    raise ToolInputError(
        f"match_mode={value!r}: use 'phrase', 'all' or 'any', or leave it out for 'phrase'"
    )


def fold(text: str) -> str:
    """Return what a text is compared by: its case is gone, and how accents are encoded.

    `\\n` stays `\\n`, and no other character becomes one.
    """
    if text.isascii():
        return text.lower()
    # İ folds to i with a dot above, which is what no Turkish keyboard types for a small İ.
    return unicodedata.normalize("NFC", text).casefold().replace("i\u0307", "i")


@dataclass(frozen=True, slots=True)
class Query:
    """A query, ready to be matched.

    Attributes:
        mode: How its terms are combined.
        terms: What is looked for, folded, without repetition: the query itself for `phrase`, its
            words for `all` and `any`. Empty when there is nothing to look for, which no record
            matches.
    """

    mode: MatchMode
    terms: tuple[str, ...]

    def matches(self, text: str) -> bool:
        """Say whether a record matches."""
        return self.matches_folded(fold(text))

    def matches_folded(self, folded: str) -> bool:
        """Say whether a record matches that is folded already."""
        if not self.terms:
            return False
        if self.mode == "any":
            return any(term in folded for term in self.terms)
        return all(term in folded for term in self.terms)

    def span(self, text: str) -> tuple[int, int] | None:
        """Return where in a text the first term stands: start and end in characters, or None."""
        folded = fold(text)
        hits = [(at, len(term)) for term in self.terms if (at := folded.find(term)) >= 0]
        if not hits:
            return None
        at, length = min(hits)
        if text.isascii():
            return at, at + length
        return _character_at(text, at), _character_at(text, at + length - 1) + 1


def compile_query(query: str, match_mode: object = None) -> Query:
    """Return the query in a form that can be matched.

    Words are separated by Unicode white space. Characters that mean something to regular
    expressions mean themselves.

    Args:
        query: What to look for.
        match_mode: "phrase", "all", "any", or None for "phrase".

    Raises:
        ToolInputError: There is no such mode, or the query is no text.
    """
    mode = parse_match_mode(match_mode)
    if not isinstance(query, str):
        raise ToolInputError(f"query={query!r}: give a text to look for")
    given = [query] if mode == "phrase" else query.split()
    folded = dict.fromkeys(map(fold, given))
    return Query(mode, tuple(term for term in folded if term))


def excerpt(text: str, query: Query, limit: int) -> str:
    """Return a text that is short enough to show, or the part of it around the first hit.

    Args:
        text: The record.
        query: What it was found by.
        limit: Most characters of it; an ellipsis stands for what is left out on either side.
    """
    if len(text) <= limit:
        return text
    start, end = query.span(text) or (0, 0)
    # More of what follows than of what precedes: a fact mostly stands after the word for it.
    start = max(0, min(start - max(0, limit - (end - start)) // 3, len(text) - limit))
    rest = clip_start(text, len(text) - start)
    shown = clip_end(rest, limit)
    return f"{'…' if start else ''}{shown}{'…' if len(shown) < len(rest) else ''}"


def _character_at(text: str, place: int) -> int:
    """Return the index of the character that stands at a place of the folded text.

    Halving adds up to one pass over the text, however long it is.
    """
    low, high = 0, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        length = len(fold(text[low:middle]))
        if length > place:
            high = middle
        else:
            low, place = middle, place - length
    return low
