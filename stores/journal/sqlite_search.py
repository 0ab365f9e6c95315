"""Searching the embedded index: trigrams name candidates, and the text of each is looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ...state.text import encodable
from ..matching import Query
from .grams import LENGTH, indexable, match_expression, short_terms
from .index import Found
from .keys import ThreadKey
from .rarity import Rarity

__all__ = ["encodable_query", "search"]

_FOUND = (
    "SELECT t.thread_id, t.checkpoint_ns, m.position, m.message_id, m.role, m.text "
    "FROM messages m JOIN threads t ON t.number = m.thread WHERE m.id = ?"
)
_NEWEST = 10_000
"""Messages that are looked at first for a query of one or two characters: mostly it is common."""
_SAMPLE = 500
_SAMPLED = 2_000
"""Texts in the sample of what is indexed, and characters of each."""
_MOST_BEGINNINGS = 2_000
_MOST_PLACES = 300_000
_MOST_CONDITIONS = 40


def encodable_query(query: Query) -> Query:
    """Leave out what no stored text can hold: lone surrogates."""
    terms = tuple(term for term in query.terms if encodable(term) == term)
    if query.mode != "any" and len(terms) < len(query.terms):
        terms = ()
    return Query(query.mode, terms)


def search(
    db: sqlite3.Connection,
    cache: dict[str, Any],
    query: Query,
    limit: int,
    within: Collection[ThreadKey] | None,
) -> list[Found]:
    """Return the newest messages that match, the newest first.

    Args:
        db: The index.
        cache: What is kept as long as it is open.
        query: What to look for, see `encodable_query`.
        limit: Most messages to return.
        within: Only in these threads; None: in all.
    """
    condition, parameters = _condition(db, query)
    if within is not None:
        ids = _in_threads(db, condition, parameters, _numbers(db, within), limit)
    else:
        ids = _everywhere(db, cache, query, condition, parameters, limit)
    rows = (db.execute(_FOUND, (row,)).fetchone() for row in ids)
    return [Found(ThreadKey(thread, ns), *rest) for thread, ns, *rest in rows]


def _condition(db: sqlite3.Connection, query: Query) -> tuple[str, list[str]]:
    """Return what a folded text must fulfil, and the parameters of that."""
    if len(query.terms) <= _MOST_CONDITIONS:
        operator = " OR " if query.mode == "any" else " AND "
        return operator.join(["instr(f.text, ?) > 0"] * len(query.terms)), list(query.terms)
    db.create_function("matched", 1, query.matches_folded, deterministic=True)
    return "matched(f.text)", []


def _in_threads(
    db: sqlite3.Connection,
    condition: str,
    parameters: Sequence[str],
    numbers: Sequence[int],
    limit: int,
) -> list[int]:
    """Look at every message of some threads."""
    marks = ", ".join("?" * len(numbers))
    rows = db.execute(
        f"SELECT m.id FROM messages m JOIN folded f ON f.id = m.id WHERE m.thread IN ({marks}) "
        f"AND ({condition}) ORDER BY m.id DESC LIMIT ?",
        [*numbers, *parameters, limit],
    )
    return [row for (row,) in rows]


def _numbers(db: sqlite3.Connection, keys: Iterable[ThreadKey]) -> list[int]:
    found: list[int] = []
    for key in keys:
        found += (
            db.execute(
                "SELECT number FROM threads WHERE thread_id = ? AND checkpoint_ns = ?",
                (key.thread_id, key.checkpoint_ns),
            ).fetchone()
            or ()
        )
    return found


def _everywhere(
    db: sqlite3.Connection,
    cache: dict[str, Any],
    query: Query,
    condition: str,
    parameters: Sequence[str],
    limit: int,
) -> list[int]:
    """Look at the candidates that the trigrams name, the newest first."""
    beginnings: dict[str, list[str] | None] = {}
    if short_terms(query):
        newest = db.execute(
            f"SELECT f.id FROM folded f WHERE f.id > (SELECT max(id) FROM folded) - {_NEWEST} "
            f"AND ({condition}) ORDER BY f.id DESC LIMIT ?",
            [*parameters, limit],
        ).fetchall()
        if len(newest) == limit:
            return [row for (row,) in newest]
        beginnings = {term: _beginnings(db, term) for term in short_terms(query)}
    expression = match_expression(query, beginnings, _rarity(db, cache))
    if expression == "":
        return []
    if expression is None:
        rows = db.execute(
            f"SELECT f.id FROM folded f WHERE {condition} ORDER BY f.id DESC LIMIT ?",
            [*parameters, limit],
        )
    else:
        rows = db.execute(
            "SELECT grams.rowid FROM grams JOIN folded f ON f.id = grams.rowid "
            f"WHERE grams MATCH ? AND ({condition}) ORDER BY grams.rowid DESC LIMIT ?",
            [expression, *parameters, limit],
        )
    return [row for (row,) in rows]


def _beginnings(db: sqlite3.Connection, term: str) -> list[str] | None:
    """Return the trigrams that begin with a term of one or two characters; None: too common."""
    start = indexable(term)
    rows = db.execute(
        "SELECT term, doc FROM vocabulary WHERE term >= ? AND term <= ?",
        (start, start + "\U0010ffff" * LENGTH),
    )
    found: list[str] = []
    places = 0
    for gram, held_by in rows:
        found.append(gram)
        places += held_by
        if len(found) > _MOST_BEGINNINGS or places > _MOST_PLACES:
            return None
    return found


def _rarity(db: sqlite3.Connection, cache: dict[str, Any]) -> Rarity:
    """Return how rare trigrams are, by a sample that is drawn again when the index has doubled."""
    last = db.execute("SELECT max(id) FROM folded").fetchone()[0] or 0
    known: tuple[int, Rarity] | None = cache.get("rarity")
    if known is None or not known[0] // 2 <= last <= known[0] * 2:
        ids = range(last, 0, -max(1, last // _SAMPLE))
        rows = (
            db.execute("SELECT substr(text, 1, ?) FROM folded WHERE id = ?", (_SAMPLED, at))
            for at in ids
        )
        sample = [text for row in rows for (text,) in row]
        cache["rarity"] = known = (last, Rarity(sample))
    return known[1]
