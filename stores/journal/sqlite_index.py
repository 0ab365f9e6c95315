"""The embedded search index: SQLite's FTS5 over trigrams, one file for a user and an agent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from ...state.text import encodable
from ..effects import Steps, io
from ..matching import Query, fold
from .entries import Entry
from .grams import LENGTH, PADDING, indexable, match_expression, short_terms
from .index import Found, Indexed
from .keys import ThreadKey
from .sqlite_file import IndexFile

__all__ = ["SqliteIndex"]

T = TypeVar("T")

_FOUND = (
    "SELECT t.thread_id, t.checkpoint_ns, m.position, m.message_id, m.role, m.text "
    "FROM messages m JOIN threads t ON t.number = m.thread WHERE m.id = ?"
)
_NEWEST = 10_000
"""Messages that are looked at first for a query of one or two characters: mostly it is common."""
_MOST_BEGINNINGS = 2_000
_MOST_PLACES = 300_000
_MOST_CONDITIONS = 40


class SqliteIndex:
    """See `SearchIndex`.

    Args:
        file: Where it is kept.
    """

    def __init__(self, file: IndexFile) -> None:
        self._file = file

    def threads(self) -> Steps[dict[ThreadKey, Indexed]]:
        """Return how far each thread is indexed."""
        return (yield from self._do(_threads))

    def size(self) -> Steps[int]:
        """Return how many threads are in it."""
        return (yield from self._do(_size))

    def contents(self, key: ThreadKey, start: int) -> Steps[list[tuple[str, bytes]]]:
        """Return id and digest of each indexed message of a thread from a position on."""
        return (yield from self._do(lambda db: _contents(db, key, start)))

    def write(
        self, key: ThreadKey, before: Indexed | None, after: Indexed, entries: Sequence[Entry]
    ) -> Steps[bool]:
        """Bring one thread up to date, in one transaction."""
        return (yield from self._do(lambda db: _write(db, key, before, after, entries), write=True))

    def forget(self, keys: Iterable[ThreadKey]) -> Steps[None]:
        """Remove threads."""
        gone = list(keys)
        yield from self._do(lambda db: _forget(db, gone), write=True)

    def scrub(self) -> Steps[None]:
        """See to it that nothing of what was removed is left in the file; reads all of it."""
        yield from self._do(_scrub, write=True)
        yield io(self._file.empty_log)

    def search(
        self, query: Query, limit: int, within: Collection[ThreadKey] | None
    ) -> Steps[list[Found]]:
        """Return the newest messages that match, the newest first."""
        query = _encodable(query)
        if not query.terms:
            return []
        return (yield from self._do(lambda db: _search(db, query, limit, within)))

    def clear(self) -> Steps[None]:
        """Remove everything, to be built anew."""
        yield from self._do(_clear, write=True)

    def _do(self, work: Callable[[sqlite3.Connection], T], write: bool = False) -> Steps[T]:
        result: T = yield io(self._file.use, work, write=write)
        return result


_THREAD = "checkpoint_id, count, ours, sealed, kept"


def _threads(db: sqlite3.Connection) -> dict[ThreadKey, Indexed]:
    rows = db.execute(f"SELECT thread_id, checkpoint_ns, {_THREAD} FROM threads")
    return {ThreadKey(thread, ns): _indexed(*values) for thread, ns, *values in rows}


def _size(db: sqlite3.Connection) -> int:
    size: int = db.execute("SELECT count(*) FROM threads").fetchone()[0]
    return size


def _indexed(checkpoint_id: str, count: int, ours: int, sealed: int, kept: str) -> Indexed:
    names = tuple(json.loads(kept)) if sealed else ()
    return Indexed(checkpoint_id, count, bool(ours), sealed, names)


def _values(entry: Indexed) -> tuple[Any, ...]:
    kept = json.dumps(entry.kept)
    return entry.checkpoint_id, entry.count, entry.ours, entry.sealed, kept


def _contents(db: sqlite3.Connection, key: ThreadKey, start: int) -> list[tuple[str, bytes]]:
    number = _row(db, key)[0]
    rows = db.execute(
        "SELECT message_id, digest FROM messages WHERE thread = ? AND position >= ? "
        "ORDER BY position",
        (number, start),
    )
    return rows.fetchall()


def _row(db: sqlite3.Connection, key: ThreadKey) -> tuple[int | None, Indexed | None]:
    row = db.execute(
        f"SELECT number, {_THREAD} FROM threads WHERE thread_id = ? AND checkpoint_ns = ?",
        (key.thread_id, key.checkpoint_ns),
    ).fetchone()
    return (None, None) if row is None else (row[0], _indexed(*row[1:]))


def _write(
    db: sqlite3.Connection,
    key: ThreadKey,
    before: Indexed | None,
    after: Indexed,
    entries: Sequence[Entry],
) -> bool:
    number, present = _row(db, key)
    if present != before:
        return False
    if number is None:
        number = db.execute(
            f"INSERT INTO threads (thread_id, checkpoint_ns, {_THREAD}) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key.thread_id, key.checkpoint_ns, *_values(after)),
        ).lastrowid
    else:
        db.execute(
            f"UPDATE threads SET ({_THREAD}) = (?, ?, ?, ?, ?) WHERE number = ?",
            (*_values(after), number),
        )
        _remove(db, "m.thread = ? AND m.position >= ?", (number, after.count))
    old = dict(
        db.execute("SELECT position, id FROM messages WHERE thread = ?", (number,)).fetchall()
        if present is not None and any(entry.position < present.count for entry in entries)
        else ()
    )
    for entry in entries:
        if entry.position in old:  # keeps its place among the newest and the oldest
            _remove(db, "m.id = ?", (old[entry.position],))
        _add(db, old.get(entry.position), number, entry)
    return True


def _add(db: sqlite3.Connection, at: int | None, thread: int | None, entry: Entry) -> None:
    text = encodable(entry.text)
    folded = fold(text)
    row = db.execute(
        "INSERT INTO messages (id, thread, position, message_id, role, digest, text) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (at, thread, entry.position, entry.message_id, entry.role, entry.digest, text),
    ).lastrowid
    db.execute("INSERT INTO folded (id, text) VALUES (?, ?)", (row, folded))
    db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (row, indexable(folded) + PADDING))


def _remove(db: sqlite3.Connection, condition: str, parameters: Sequence[Any]) -> None:
    rows = db.execute(
        f"SELECT m.id, f.text FROM messages m JOIN folded f ON f.id = m.id WHERE {condition}",
        parameters,
    ).fetchall()
    for row, folded in rows:
        # The trigrams are not kept anywhere else: they are removed as they were added.
        db.execute(
            "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)",
            (row, indexable(folded) + PADDING),
        )
        db.execute("DELETE FROM folded WHERE id = ?", (row,))
        db.execute("DELETE FROM messages WHERE id = ?", (row,))


def _forget(db: sqlite3.Connection, keys: Iterable[ThreadKey]) -> None:
    for key in keys:
        number = _row(db, key)[0]
        if number is not None:
            _remove(db, "m.thread = ?", (number,))
            db.execute("DELETE FROM threads WHERE number = ?", (number,))


def _scrub(db: sqlite3.Connection) -> None:
    # Removed trigrams stay in their segments until those are merged.
    db.execute("INSERT INTO grams (grams) VALUES ('optimize')")


def _clear(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO grams (grams) VALUES ('delete-all')")
    for table in ("folded", "messages", "threads"):
        db.execute(f"DELETE FROM {table}")


def _encodable(query: Query) -> Query:
    """Leave out what no stored text can hold: lone surrogates."""
    terms = tuple(term for term in query.terms if encodable(term) == term)
    if query.mode != "any" and len(terms) < len(query.terms):
        terms = ()
    return Query(query.mode, terms)


def _search(
    db: sqlite3.Connection, query: Query, limit: int, within: Collection[ThreadKey] | None
) -> list[Found]:
    condition, parameters = _condition(db, query)
    if within is not None:
        numbers = [number for key in within if (number := _row(db, key)[0]) is not None]
        ids = _in_threads(db, condition, parameters, numbers, limit)
    else:
        ids = _everywhere(db, query, condition, parameters, limit)
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


def _everywhere(
    db: sqlite3.Connection, query: Query, condition: str, parameters: Sequence[str], limit: int
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
    expression = match_expression(query, beginnings)
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
