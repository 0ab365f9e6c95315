"""The search index of threads in PostgreSQL: tables beside the checkpointer's, with `pg_trgm`.

`pg_trgm` looks at letters and digits as the database's locale knows them, and at no query of two
characters. So what is written in other scripts than ASCII is found by pairs of characters instead,
and what is common by looking at the newest messages first.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any
from weakref import WeakSet

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..effects import Steps
from ..matching import Query
from ..workspace import Owner
from . import postgres_scripts as scripts
from .entries import Entry
from .index import Found, Indexed, IndexUnavailable
from .keys import ThreadKey
from .saver_calls import unwrapped
from .scripts import Script, run_script

__all__ = ["PostgresIndex"]

log = logging.getLogger("longthread")

_MISSING_TABLE, _NOT_ALLOWED = "42P01", ("42501", "25006")
_ready: WeakSet[BaseCheckpointSaver[Any]] = WeakSet()


class PostgresIndex:
    """See `SearchIndex`.

    Args:
        saver: A PostgreSQL checkpointer, whose connection is used.
        owner: Whose threads these are.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], owner: Owner) -> None:
        self._saver = unwrapped(saver)
        whole = json.dumps([owner.user, owner.agent]).encode()
        self._owner = hashlib.sha256(whole).hexdigest()[:32]

    def threads(self) -> Steps[dict[ThreadKey, Indexed]]:
        """Return how far each thread is indexed."""
        found: dict[ThreadKey, Indexed] = yield from self._do(lambda: scripts.threads(self._owner))
        return found

    def size(self) -> Steps[int]:
        """Return how many threads are in it."""
        size: int = yield from self._do(lambda: scripts.size(self._owner))
        return size

    def contents(self, key: ThreadKey, start: int) -> Steps[list[tuple[str, bytes]]]:
        """Return id and digest of each indexed message of a thread from a position on."""
        found: list[tuple[str, bytes]] = yield from self._do(
            lambda: scripts.contents(self._owner, key, start)
        )
        return found

    def write(
        self, key: ThreadKey, before: Indexed | None, after: Indexed, entries: Sequence[Entry]
    ) -> Steps[bool]:
        """Bring one thread up to date, in one transaction."""
        done: bool = yield from self._do(
            lambda: scripts.write(self._owner, key, before, after, entries), atomic=True
        )
        return done

    def forget(self, keys: Iterable[ThreadKey]) -> Steps[None]:
        """Remove threads."""
        gone = list(keys)
        yield from self._do(lambda: scripts.forget(self._owner, gone), atomic=True)

    def search(
        self, query: Query, limit: int, within: Collection[ThreadKey] | None
    ) -> Steps[list[Found]]:
        """Return the newest messages that match, the newest first."""
        query = Query(query.mode, tuple(map(scripts.clean, query.terms)))
        if not query.terms:
            return []
        found: list[Found] = yield from self._do(
            lambda: scripts.search(self._owner, query, limit, within)
        )
        return found

    def clear(self) -> Steps[None]:
        """Remove everything of this owner, to be built anew."""
        yield from self._do(lambda: scripts.clear(self._owner))

    def _do(self, script: Callable[[], Script[Any]], *, atomic: bool = False) -> Steps[Any]:
        """Run a script; once more after making the tables if somebody has dropped them."""
        yield from self._set_up()
        try:
            return (yield run_script(self._saver, script, atomic=atomic))
        except Exception as error:
            if getattr(error, "sqlstate", None) != _MISSING_TABLE:
                raise
        _ready.discard(self._saver)
        yield from self._set_up()
        return (yield run_script(self._saver, script, atomic=atomic))

    def _set_up(self) -> Steps[None]:
        if self._saver in _ready:
            return
        try:
            yield run_script(self._saver, scripts.make_tables, atomic=True)
        except Exception as error:
            if getattr(error, "sqlstate", None) not in _NOT_ALLOWED:
                raise
            raise IndexUnavailable(
                f"the tables of the search index cannot be made in this database: {error}; "
                "grant CREATE on its schema"
            ) from error
        try:
            yield run_script(self._saver, scripts.make_trigrams, atomic=True)
        except Exception as error:
            if getattr(error, "sqlstate", None) is None:
                raise
            log.warning("searching threads will be slow without pg_trgm: %s", error)
        _ready.add(self._saver)
