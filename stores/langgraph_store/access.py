"""Asking a store: whole answers, all errors of one kind.

Every request is a batch of operations given to `BaseStore.batch`, because that is what all stores
have in common: `put` and `get` would apply the store's time to live and its search index to files.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Op, PutOp, SearchItem, SearchOp

from ...state.errors import WorkspaceError
from ..paths import shown
from ..store_errors import store_errors
from .locks import StoreTraits, check_loop, traits_of
from .names import ItemKey, Namespace

__all__ = ["StoreAccess"]

_KNOWN_LIMIT = 2**31 - 1
# Search engines refuse to return more at once.
_OTHER_LIMIT = 10_000
# No store is known to return fewer than it was asked for when it has more than this.
_SURELY_WHOLE = 100
_PUTS_AT_ONCE = 32
_KEYS_AT_ONCE = 1_000
_PASSES = 100
_BUSY_SECONDS = 30.0


class StoreAccess:
    """One store, as the workspace asks it.

    Args:
        store: Any LangGraph store, or a function that finds it when it is needed.
    """

    def __init__(self, store: BaseStore | Callable[[], BaseStore]) -> None:
        self._given = store

    @property
    def _store(self) -> BaseStore:
        if not isinstance(self._given, BaseStore):
            self._given = self._given()
        return self._given

    @property
    def traits(self) -> StoreTraits:
        """What is known of the store."""
        return traits_of(self._store)

    def items(self, namespaces: Sequence[Namespace], path: str) -> list[list[SearchItem]]:
        """Return all items of each namespace and those below it, in one request if possible.

        Args:
            namespaces: What is looked for.
            path: What it is looked for, for error messages.
        """
        with store_errors("read", path):
            whole = self.traits.exclusive
        limit = _KNOWN_LIMIT if whole else _OTHER_LIMIT
        ops = [_search(name, limit) for name in namespaces]
        answers: list[list[SearchItem]] = self._batch(ops, "read", path)
        return [
            answer if whole or len(answer) < _SURELY_WHOLE else self._all_pages(name, answer, path)
            for name, answer in zip(namespaces, answers, strict=True)
        ]

    def some_items(self, namespace: Namespace, limit: int, path: str) -> list[SearchItem]:
        """Return up to `limit` items of a namespace and those below it."""
        found: list[SearchItem] = self._batch([_search(namespace, limit)], "read", path)[0]
        return found

    def values(
        self, namespace: Namespace, keys: Sequence[str], path: str
    ) -> list[Mapping[str, Any] | None]:
        """Return the values of some items, None for those that are not there."""
        found = self._batch(
            [GetOp(namespace, key, refresh_ttl=False) for key in keys], "read", path
        )
        return [None if item is None else item.value for item in found]

    def put(self, values: Mapping[ItemKey, Mapping[str, Any]], path: str) -> None:
        """Write items, all of them or none where the store can."""
        ops = [
            PutOp(namespace, key, dict(value), index=False, ttl=None)
            for (namespace, key), value in values.items()
        ]
        size = len(ops) if self.traits.exclusive else _PUTS_AT_ONCE
        for part in _parts(ops, size):
            self._batch(part, "write", path)

    def delete(self, keys: Iterable[ItemKey], path: str) -> None:
        """Remove items that may be there."""
        for part in _parts([PutOp(*key, None) for key in keys], _KEYS_AT_ONCE):
            self._batch(part, "delete", path)

    def _all_pages(
        self, namespace: Namespace, first: list[SearchItem], path: str
    ) -> list[SearchItem]:
        """Ask for what a store with a limit of its own has left out.

        Pages shift when somebody writes meanwhile, and the store may sort anew for each of them.
        But all pages together have as many items as there are.
        """
        found: dict[ItemKey, SearchItem] = {}
        before = 0
        for _ in range(_PASSES):
            page, total = first, 0
            now: dict[ItemKey, SearchItem] = {}
            while page:
                now |= {(item.namespace, item.key): item for item in page}
                total += len(page)
                op = _search(namespace, _OTHER_LIMIT, total)
                page = self._batch([op], "read", path)[0]
            if total == len(first):
                return first
            found = found | now if total == before and len(found) <= total else now
            if total == before == len(found):
                return list(found.values())
            before = total
            first = self._batch([_search(namespace, _OTHER_LIMIT)], "read", path)[0]
        raise WorkspaceError(
            f"cannot read {shown(path)} in the store: it returns few items at once, and while they"
            " were read others were written; try again, or use a store that returns more"
        )

    def _batch(self, ops: Sequence[Op], action: str, path: str) -> list[Any]:
        if not ops:
            return []
        deadline = time.monotonic() + _BUSY_SECONDS
        with store_errors(action, path), self.traits.turn:
            check_loop(self._store)
            while True:
                try:
                    return self._store.batch(list(ops))
                except (RuntimeError, sqlite3.OperationalError) as error:
                    # Asking twice does no harm: what is written has a key of its own.
                    if not _is_busy(error) or time.monotonic() > deadline:
                        raise
                time.sleep(0.001)


def _search(namespace: Namespace, limit: int, offset: int = 0) -> SearchOp:
    # PostgreSQL would write at each read to prolong lives.
    return SearchOp(namespace, limit=limit, offset=offset, refresh_ttl=False)


def _is_busy(error: Exception) -> bool:
    """Whether the store was in use by somebody else: another thread, or another process."""
    text = str(error)
    if isinstance(error, sqlite3.OperationalError):
        return "is locked" in text
    return "changed size during iteration" in text  # `InMemoryStore`, while it looks for something


def _parts(ops: Sequence[PutOp], size: int) -> Iterator[Sequence[PutOp]]:
    for start in range(0, len(ops), max(1, size)):
        yield ops[start : start + size]
