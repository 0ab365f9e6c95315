"""What the search index asks of PostgreSQL, as scripts (see `scripts`)."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any

from ...state.text import encodable
from ..matching import Query, fold
from .entries import Entry
from .index import Found, Indexed
from .keys import ThreadKey
from .scripts import Script

__all__ = [
    "clean",
    "clear",
    "contents",
    "forget",
    "make_tables",
    "make_trigrams",
    "search",
    "size",
    "threads",
    "write",
]

_NEWEST = 20_000
"""Messages that are looked at first: what is common is among them."""
_ROWS = 200
_LOCK = 0x6C6F6E67

_TABLES = (
    """CREATE TABLE IF NOT EXISTS longthread_threads (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        checkpoint_ns TEXT NOT NULL,
        checkpoint_id TEXT NOT NULL,
        count INTEGER NOT NULL,
        ours BOOLEAN NOT NULL,
        sealed INTEGER NOT NULL,
        kept TEXT[] NOT NULL,
        UNIQUE (owner, thread_id, checkpoint_ns)
    )""",
    """CREATE TABLE IF NOT EXISTS longthread_messages (
        id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        owner TEXT NOT NULL,
        thread BIGINT NOT NULL REFERENCES longthread_threads ON DELETE CASCADE,
        position INTEGER NOT NULL,
        message_id TEXT NOT NULL,
        role TEXT NOT NULL,
        digest BYTEA NOT NULL,
        text BYTEA NOT NULL,
        folded TEXT NOT NULL,
        pairs INTEGER[] NOT NULL,
        UNIQUE (thread, position)
    )""",
    "CREATE INDEX IF NOT EXISTS longthread_newest ON longthread_messages (owner, id)",
    "CREATE INDEX IF NOT EXISTS longthread_pairs ON longthread_messages USING gin (pairs)",
)
_TRIGRAMS = (
    "CREATE INDEX IF NOT EXISTS longthread_trigrams ON longthread_messages "
    "USING gin (folded gin_trgm_ops)"
)


def make_tables() -> Script[None]:
    """Make the tables, one process at a time: IF NOT EXISTS does not exclude others."""
    yield "SELECT pg_advisory_xact_lock(%s)", (_LOCK,)
    for statement in _TABLES:
        yield statement, ()


def make_trigrams() -> Script[None]:
    yield "SELECT pg_advisory_xact_lock(%s)", (_LOCK,)
    yield "CREATE EXTENSION IF NOT EXISTS pg_trgm", ()
    yield _TRIGRAMS, ()


_THREAD = "checkpoint_id, count, ours, sealed, kept"


def threads(owner: str) -> Script[dict[ThreadKey, Indexed]]:
    rows = yield (
        f"SELECT thread_id, checkpoint_ns, {_THREAD} FROM longthread_threads "
        "WHERE owner = %s AND checkpoint_id <> ''",
        (owner,),
    )
    return {ThreadKey(thread, ns): _indexed(*values) for thread, ns, *values in rows}


def size(owner: str) -> Script[int]:
    ((count,),) = yield (
        "SELECT count(*) AS threads FROM longthread_threads "
        "WHERE owner = %s AND checkpoint_id <> ''",
        (owner,),
    )
    return int(count)


def _indexed(checkpoint_id: str, count: int, ours: bool, sealed: int, kept: list[str]) -> Indexed:
    return Indexed(checkpoint_id, count, ours, sealed, tuple(kept))


def contents(owner: str, key: ThreadKey, start: int) -> Script[list[tuple[str, bytes]]]:
    rows = yield (
        "SELECT m.message_id, m.digest FROM longthread_messages m "
        "JOIN longthread_threads t ON t.number = m.thread WHERE t.owner = %s "
        "AND t.thread_id = %s AND t.checkpoint_ns = %s AND m.position >= %s ORDER BY m.position",
        (owner, key.thread_id, key.checkpoint_ns, start),
    )
    return [(message_id, bytes(digest)) for message_id, digest in rows]


def write(
    owner: str,
    key: ThreadKey,
    before: Indexed | None,
    after: Indexed,
    entries: Sequence[Entry],
) -> Script[bool]:
    place = (owner, key.thread_id, key.checkpoint_ns)
    # A row to lock, which counts for nothing until it names a checkpoint.
    yield (
        f"INSERT INTO longthread_threads (owner, thread_id, checkpoint_ns, {_THREAD}) "
        "VALUES (%s, %s, %s, '', 0, true, 0, '{}') ON CONFLICT DO NOTHING",
        place,
    )
    (row,) = yield (
        f"SELECT number, {_THREAD} FROM longthread_threads "
        "WHERE owner = %s AND thread_id = %s AND checkpoint_ns = %s FOR UPDATE",
        place,
    )
    number, *known = row
    if (_indexed(*known) if known[0] else None) != before:
        return False
    yield (
        f"UPDATE longthread_threads SET ({_THREAD}) = (%s, %s, %s, %s, %s) WHERE number = %s",
        (after.checkpoint_id, after.count, after.ours, after.sealed, list(after.kept), number),
    )
    yield (
        "DELETE FROM longthread_messages WHERE thread = %s AND position >= %s",
        (number, after.count),
    )
    for at in range(0, len(entries), _ROWS):
        rows = [_row(owner, number, entry) for entry in entries[at : at + _ROWS]]
        values = ", ".join([f"({', '.join(['%s'] * len(rows[0]))})"] * len(rows))
        yield (
            "INSERT INTO longthread_messages (owner, thread, position, message_id, role, digest, "
            f"text, folded, pairs) VALUES {values} ON CONFLICT (thread, position) DO UPDATE SET "
            "message_id = EXCLUDED.message_id, role = EXCLUDED.role, digest = EXCLUDED.digest, "
            "text = EXCLUDED.text, folded = EXCLUDED.folded, pairs = EXCLUDED.pairs",
            [value for one in rows for value in one],
        )
    return True


def _row(owner: str, thread: int, entry: Entry) -> tuple[Any, ...]:
    message_id, role = clean(entry.message_id), clean(entry.role)
    text = encodable(entry.text).encode()  # bytes, which may be NUL
    folded = clean(fold(entry.text))
    pairs = sorted(_pairs(folded, single=True))
    return (owner, thread, entry.position, message_id, role, entry.digest, text, folded, pairs)


def forget(owner: str, keys: Iterable[ThreadKey]) -> Script[None]:
    for key in keys:
        yield (
            "DELETE FROM longthread_threads "
            "WHERE owner = %s AND thread_id = %s AND checkpoint_ns = %s",
            (owner, key.thread_id, key.checkpoint_ns),
        )


def clear(owner: str) -> Script[None]:
    yield "DELETE FROM longthread_threads WHERE owner = %s", (owner,)


def search(
    owner: str, query: Query, limit: int, within: Collection[ThreadKey] | None
) -> Script[list[Found]]:
    condition, terms = _joined(query, ["strpos(folded, %s) > 0" for _ in query.terms]), query.terms
    if within is not None:
        ids = yield (
            f"SELECT id FROM longthread_messages WHERE thread IN ({_NUMBERS}) AND {condition} "
            "ORDER BY id DESC LIMIT %s",
            [*_columns(within), owner, *terms, limit],
        )
    else:
        ids = yield (
            "SELECT id FROM (SELECT id, folded FROM longthread_messages WHERE owner = %s "
            f"ORDER BY id DESC LIMIT {_NEWEST}) AS newest WHERE {condition} "
            "ORDER BY id DESC LIMIT %s",
            [owner, *terms, limit],
        )
        if len(ids) < limit:
            narrow, parameters = _narrow(query)
            # Materialized: or else the planner may prefer to walk all messages from the newest on.
            # What no index can answer is found by just that walk, and mostly soon.
            materialized = "MATERIALIZED" if parameters else "NOT MATERIALIZED"
            ids = yield (
                f"WITH hits AS {materialized} (SELECT id FROM longthread_messages WHERE owner = %s "
                f"AND {narrow} AND {condition}) SELECT id FROM hits ORDER BY id DESC LIMIT %s",
                [owner, *parameters, *terms, limit],
            )
    rows = yield (
        "SELECT t.thread_id, t.checkpoint_ns, m.position, m.message_id, m.role, m.text "
        "FROM longthread_messages m JOIN longthread_threads t ON t.number = m.thread "
        "WHERE m.id = ANY(%s) ORDER BY m.id DESC",
        [[row for (row,) in ids]],
    )
    return [
        Found(ThreadKey(thread, ns), position, message_id, role, bytes(text).decode())
        for thread, ns, position, message_id, role, text in rows
    ]


_NUMBERS = (
    "SELECT number FROM longthread_threads t "
    "JOIN unnest(%s::text[], %s::text[]) AS asked(thread_id, checkpoint_ns) "
    "ON t.thread_id = asked.thread_id AND t.checkpoint_ns = asked.checkpoint_ns "
    "WHERE t.owner = %s"
)


def _columns(keys: Collection[ThreadKey]) -> tuple[list[str], list[str]]:
    return [key.thread_id for key in keys], [key.checkpoint_ns for key in keys]


def _narrow(query: Query) -> tuple[str, list[Any]]:
    """Return a condition that an index answers, of all messages that match and perhaps more."""
    conditions: list[str] = []
    parameters: list[Any] = []
    for term in query.terms:
        pairs = sorted(_pairs(term, single=len(term) == 1))
        if pairs:
            conditions.append("pairs @> %s::integer[]")
            parameters.append(pairs)
        elif len(term) > 2:
            conditions.append("folded LIKE %s")
            escaped = term.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            parameters.append(f"%{escaped}%")
    if not conditions or (query.mode == "any" and len(conditions) < len(query.terms)):
        return "true", []
    return _joined(query, conditions), parameters


def _joined(query: Query, conditions: Sequence[str]) -> str:
    operator = " OR " if query.mode == "any" else " AND "
    return f"({operator.join(conditions)})"


def _pairs(folded: str, *, single: bool) -> set[int]:
    """Return numbers for the pairs of neighbours that are not ASCII, and for the characters."""
    if folded.isascii():
        return set()
    found = {a + b for a, b in pairwise(folded) if not (a + b).isascii()}
    if single:
        found |= {character for character in folded if not character.isascii()}
    return {zlib.crc32(part.encode()) - (1 << 31) for part in found}


def clean(text: str) -> str:
    """Return a text as PostgreSQL can hold it: no NUL, no lone surrogates."""
    return str(encodable(text)).replace("\0", "\ufffd")
