"""The checkpointer of a LangGraph Server, for the entry `checkpointer` of its `langgraph.json`.

    "checkpointer": {"path": "longthread.stores.server_checkpointer.checkpointer"}

The server then keeps its threads where scripts and the command line find them too.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .checkpointers.opening import Saver, aopen_checkpointer

__all__ = ["checkpointer"]

# Beside the workspace of the Studio graph, unless it is said otherwise.
_DEFAULT = "sqlite:///.longthread/threads.db"


@asynccontextmanager
async def checkpointer() -> AsyncIterator[Saver]:
    """Open what `LONGTHREAD_CHECKPOINTER` names, or `.longthread/threads.db`."""
    url = os.environ.get("LONGTHREAD_CHECKPOINTER") or _DEFAULT
    async with aopen_checkpointer(url) as saver:
        yield saver
