"""Stores of which nothing is known but that they are stores."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from random import Random
from typing import cast

from langgraph.store.base import BaseStore, Op, PutOp, Result, SearchItem, SearchOp

__all__ = ["CappedStore", "Crash", "CrashingStore", "PlainStore"]


class PlainStore(BaseStore):
    """Hides what kind of store another one is: it has no locks and writes one item at a time.

    Args:
        store: Keeps the items.
    """

    def __init__(self, store: BaseStore) -> None:
        self.store = store
        self.requests = 0
        self._turn = threading.Lock()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do one operation after the other; others come in between."""
        self.requests += 1
        results: list[Result] = []
        for op in ops:
            with self._turn:
                results += self.store.batch([op])
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Not used by a workspace."""
        raise NotImplementedError


class CappedStore(PlainStore):
    """Returns no more than so many items at once, in any order."""

    most = 120

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Answer searches in pages of a random order that stays for one instant only."""
        results: list[Result] = []
        for op in ops:
            if isinstance(op, SearchOp):
                everything = cast(list[SearchItem], super().batch([_whole(op)])[0])
                Random(self.requests).shuffle(everything)
                results.append(everything[op.offset :][: min(op.limit, self.most)])
            else:
                results += super().batch([op])
        return results


class Crash(BaseException):
    """The process dies here; nothing of it gets to say goodbye."""


class CrashingStore(PlainStore):
    """Dies before the write that it is told to."""

    writes_left: int | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the operations one after the other until the time has come."""
        results: list[Result] = []
        for op in ops:
            if isinstance(op, PutOp) and self.writes_left is not None:
                if self.writes_left == 0:
                    raise Crash
                self.writes_left -= 1
            results += super().batch([op])
        return results


def _whole(op: SearchOp) -> SearchOp:
    """Return the same search without its page."""
    return op._replace(limit=10**6, offset=0)
