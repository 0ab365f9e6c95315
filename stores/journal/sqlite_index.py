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
from .grams import PADDING, indexable
from .index import Found, Indexed
from .keys import ThreadKey
from .sqlite_file import IndexFile
from .sqlite_search import encodable_query, search

__all__ = ["SqliteIndex"]

T = TypeVar("T")


class SqliteIndex:
    """See `SearchIndex`.

    Args:
        file: Where it is kept.
    """

    def __init__(self, file: IndexFile) -> None:
        self._file = file

    def threads(self) -> Steps[dict[ThreadKey, Indexed]]:
        """Return how far each thread is indexed."""
        return (yield from self._do(lambda db: _threads(db, self._file.cache)))

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
        yield from self._do(lambda db: _forget(db, self._file.cache, gone), write=True)

    def scrub(self) -> Steps[None]:
        """See to it that nothing of what was removed is left in the file; reads all of it."""
        yield from self._do(_scrub, write=True)
        yield io(self._file.empty_log)

    def search(
        self, query: Query, limit: int, within: Collection[ThreadKey] | None
    ) -> Steps[list[Found]]:
        """Return the newest messages that match, the newest first."""
        query = encodable_query(query)
        if not query.terms:
            return []
        cache = self._file.cache
        return (yield from self._do(lambda db: search(db, cache, query, limit, within)))

    def clear(self) -> Steps[None]:
        """Remove everything, to be built anew."""
        yield from self._do(_clear, write=True)

    def _do(self, work: Callable[[sqlite3.Connection], T], write: bool = False) -> Steps[T]:
        result: T = yield io(self._file.use, work, write=write)
        return result


_THREAD = "checkpoint_id, count, ours, sealed, kept"


def _threads(db: sqlite3.Connection, cache: dict[str, Any]) -> dict[ThreadKey, Indexed]:
    """Read them, unless neither this connection nor another has changed anything since."""
    rows = db.execute(f"SELECT thread_id, checkpoint_ns, {_THREAD} FROM threads LIMIT 0")
    rows.fetchall()  # from here on the transaction sees one state
    (others,) = db.execute("PRAGMA data_version").fetchone()
    known: tuple[tuple[int, int], dict[ThreadKey, Indexed]] | None = cache.get("threads")
    if known is None or known[0] != (others, db.total_changes):
        rows = db.execute(f"SELECT thread_id, checkpoint_ns, {_THREAD} FROM threads")
        found = {ThreadKey(thread, ns): _indexed(*values) for thread, ns, *values in rows}
        cache["threads"] = known = ((others, db.total_changes), found)
    return dict(known[1])


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


def _forget(db: sqlite3.Connection, cache: dict[str, Any], keys: Iterable[ThreadKey]) -> None:
    cache.clear()  # what is erased is not to be left in memory either
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
