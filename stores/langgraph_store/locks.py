"""What a store can be relied on for, and how writers keep out of each other's way in it.

LangGraph's own stores run in a place that has locks: a process, a folder, a PostgreSQL server. Of
any other store nothing is known but `BaseStore`, which has none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import weakref
from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from langgraph.store.base import BaseStore
from langgraph.store.base.batch import AsyncBatchedBaseStore
from langgraph.store.memory import InMemoryStore

from ..local.locks import ThreadLocks, hold_locks

__all__ = ["StoreLocks", "StoreTraits", "check_loop", "traits_of"]

T = TypeVar("T")


class StoreLocks(Protocol):
    """Named locks."""

    def hold(self, names: Mapping[str, str], timeout: float) -> AbstractContextManager[None]:
        """Hold some locks for the length of a `with` block; `locks.ThreadLocks.hold` says more."""
        ...


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """What is known of a store.

    Args:
        locks: Keep writers apart: all of them, or those of this process.
        exclusive: Whether the locks keep all writers apart, wherever they run. Of such a store it
            is also known that it writes all items of one batch or none, and that a search returns
            everything that there is at one moment.
        turn: Held for each request to a store that does not take two at once.
    """

    locks: StoreLocks
    exclusive: bool
    turn: AbstractContextManager[Any] = field(default_factory=contextlib.nullcontext)


@dataclass(frozen=True, slots=True)
class _FileLocks:
    folder: str

    def hold(self, names: Mapping[str, str], timeout: float) -> AbstractContextManager[None]:
        return hold_locks(self.folder, names, timeout)


_known: weakref.WeakKeyDictionary[BaseStore, StoreTraits] = weakref.WeakKeyDictionary()
_guard = threading.Lock()


def traits_of(store: BaseStore) -> StoreTraits:
    """Return what is known of a store, the same object each time."""
    with _guard:
        traits = _known.get(store)
    if traits is None:
        # Not under the guard: looking at an asynchronous store waits for its event loop.
        found = _look_at(store)
        with _guard:
            traits = _known.setdefault(store, found)
    return traits


def check_loop(store: BaseStore) -> None:
    """Raise if waiting for an asynchronous store here would wait forever.

    Raises:
        InvalidStateError: This is the thread of the store's own event loop.
        RuntimeError: The event loop has ended.
    """
    if not isinstance(store, AsyncBatchedBaseStore):
        return
    if type(store).batch is not AsyncBatchedBaseStore.batch:
        return
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is store._loop:
        raise asyncio.InvalidStateError("the store belongs to the event loop of this very thread")
    if not store._loop.is_running():
        raise RuntimeError("the event loop of the store is not running any more")


def _look_at(store: BaseStore) -> StoreTraits:
    if isinstance(store, InMemoryStore):
        return StoreTraits(ThreadLocks(), exclusive=True, turn=threading.Lock())
    if _is_a(store, "langgraph.store.sqlite.base", "BaseSqliteStore"):
        file = _sqlite_file(store)
        if not file:  # a database in memory belongs to one connection
            return StoreTraits(ThreadLocks(), exclusive=True)
        return StoreTraits(_FileLocks(os.path.realpath(file) + "-longthread-locks"), exclusive=True)
    if _is_a(store, "langgraph.store.postgres.base", "BasePostgresStore"):
        from ..advisory_locks import AdvisoryLocks

        locks = AdvisoryLocks.of(store)
        if locks is not None:
            weakref.finalize(store, locks.close)
            return StoreTraits(locks, exclusive=True)
    return StoreTraits(ThreadLocks(), exclusive=False)


def _is_a(store: BaseStore, module: str, name: str) -> bool:
    # Whoever has such a store has imported its module.
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(store, kind)


def _sqlite_file(store: Any) -> str:
    """Return the path of the database, "" for one in memory."""
    question = "PRAGMA database_list"
    if isinstance(store, AsyncBatchedBaseStore):

        async def ask() -> list[Any]:
            async with store.lock, store.conn.execute(question) as answer:  # type: ignore[attr-defined]
                return list(await answer.fetchall())

        rows = _on_its_loop(store, ask())
    else:
        with store.lock:
            rows = store.conn.execute(question).fetchall()
    return next(str(file or "") for _, name, file in rows if name == "main")


def _on_its_loop(store: AsyncBatchedBaseStore, work: Coroutine[Any, Any, T]) -> T:
    try:
        check_loop(store)
    except BaseException:
        work.close()
        raise
    return asyncio.run_coroutine_threadsafe(work, store._loop).result()
