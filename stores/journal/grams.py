"""From a query to the trigrams that every message it matches must hold.

The index knows which messages hold a trigram, not where. So it names candidates, and the text of
each is then looked at: what is asked here may be less than the query, never more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..matching import Query
from .rarity import Rarity

__all__ = ["LENGTH", "PADDING", "indexable", "match_expression", "short_terms", "trigrams"]

LENGTH = 3
PADDING = "\x01" * (LENGTH - 1)
"""Stands after each indexed text, so that its last characters begin a trigram too."""

_MOST = 64
"""Trigrams of one term that are looked at: those of a long one are spread over it."""


def indexable(folded: str) -> str:
    """Return a folded text as the index takes it: no NUL, where SQLite's text ends."""
    return folded.replace("\0", "\x01")


def trigrams(term: str) -> list[str]:
    """Return the trigrams of a folded term of three characters or more, or some spread over it."""
    term = indexable(term)
    last = len(term) - LENGTH
    step = max(1, -(-last // (_MOST - 1)))
    places = [*range(0, last, step), last]
    return list(dict.fromkeys(term[at : at + LENGTH] for at in places))


def short_terms(query: Query) -> list[str]:
    """Return the terms that are shorter than a trigram."""
    return [term for term in query.terms if len(term) < LENGTH]


def match_expression(
    query: Query, beginnings: Mapping[str, Sequence[str] | None], rarity: Rarity
) -> str | None:
    """Return the condition on a message's trigrams, in the syntax of FTS5.

    Args:
        query: The query.
        beginnings: For each short term the trigrams that begin with it; None: too many of them.
        rarity: Which trigrams of the longer ones are worth asking for.

    Returns:
        The expression. "" when no message can match, None when every one may.
    """
    long = [trigrams(term) for term in query.terms if len(term) >= LENGTH]
    if query.mode != "any" and long:  # all of them have to be there: the rarest of all will do
        long = [list(dict.fromkeys(gram for grams in long for gram in grams))]
    parts: list[str | None] = [_joined(" AND ", rarity.rarest(grams)) for grams in long]
    for term in short_terms(query):
        known = beginnings[term]
        parts.append(None if known is None else _joined(" OR ", known))
    narrow = [part for part in parts if part is not None]
    if query.mode == "any":
        return None if len(narrow) < len(parts) else " OR ".join(filter(None, narrow))
    if "" in narrow:
        return ""
    return " AND ".join(narrow) or None


def _joined(operator: str, grams: Sequence[str]) -> str:
    if not grams:
        return ""
    quoted = ('"' + gram.replace('"', '""') + '"' for gram in grams)
    return f"({operator.join(quoted)})"
