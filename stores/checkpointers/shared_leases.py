"""Leases that several tasks of one call have together: branches of a graph work side by side.

Only the first of them takes the lease on the thread, and the last one lets go of it. Other
processes stay out meanwhile.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver

from ..effects import Steps
from .leases import Lease, awaited_lease, is_leased

__all__ = ["shared_lease_on"]

_Key: TypeAlias = tuple[int, str]


@dataclass(slots=True)
class _Shared:
    lease: Lease
    holders: int = 1


_shared: dict[_Key, _Shared] = {}
_guard = threading.Lock()


def shared_lease_on(saver: BaseCheckpointSaver[Any], thread: str) -> Steps[Lease]:
    """Take a lease on a thread, or a share in the one that is held with this checkpointer object.

    Args:
        saver: The checkpointer that holds the thread.
        thread: The thread's id.

    Raises:
        LongthreadError: Somebody else is working on it (code `SESSION_BUSY`).
    """
    key = (id(saver), thread)

    def joined() -> Lease | None:
        with _guard:
            if key in _shared:
                _shared[key].holders += 1
                return partial(_left, key)
        # That of a whole call outlives what goes on inside it.
        return _nothing if is_leased(saver, thread) else None

    def noted(lease: Lease) -> Lease:
        with _guard:
            _shared[key] = _Shared(lease)
        return partial(_left, key)

    return (yield from awaited_lease(saver, thread, None, joined, noted))


def _left(key: _Key) -> None:
    with _guard:
        _shared[key].holders -= 1
        last = _shared.pop(key) if not _shared[key].holders else None
    if last is not None:
        last.lease()


def _nothing() -> None:
    """Let go of nothing."""
