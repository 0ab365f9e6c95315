"""What a store raises, as the error of a workspace."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator

from ..state.errors import WorkspaceError
from .paths import shown

__all__ = ["store_errors"]


@contextlib.contextmanager
def store_errors(action: str, path: str) -> Iterator[None]:
    """Raise what a store raises as `WorkspaceError`: cannot `action` `path`."""
    try:
        yield
    except WorkspaceError:
        raise
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0]
        what = f"{type(error).__name__}: {first_line[:300]}" if first_line else repr(error)
        raise WorkspaceError(
            f"cannot {action} {shown(path)} in the store: {what}; {_hint(error)}"
        ) from error


def _hint(error: Exception) -> str:
    if isinstance(error, asyncio.InvalidStateError):
        return "call the workspace in a thread: await asyncio.to_thread(…)"
    if isinstance(error, NotImplementedError):
        return "use a store whose `batch` can be called from a thread"
    if isinstance(error, getattr(sys.modules.get("psycopg.errors"), "UndefinedTable", ())):
        return "call store.setup() once before the store is used"
    return "check the store and its connection"
