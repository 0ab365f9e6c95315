"""The thread journal: what was said in every thread, listed, read and searched."""

from __future__ import annotations

from .keys import ThreadKey
from .owned import OwnedThreads
from .registry import forget_thread, register_thread
from .results import HistoryPage, Reindexed, ThreadHit, ThreadInfo
from .thread_journal import ThreadJournal

__all__ = [
    "HistoryPage",
    "OwnedThreads",
    "Reindexed",
    "ThreadHit",
    "ThreadInfo",
    "ThreadJournal",
    "ThreadKey",
    "forget_thread",
    "register_thread",
]
