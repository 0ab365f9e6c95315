"""MEMORY.md as it is shown to the model: both scopes, within a budget, the newest entries first."""

from __future__ import annotations

import logging

from ..state.counting import count_text
from ..state.errors import WorkspaceError
from ..state.policy import ContextPolicy
from ..state.reference import ReferenceItem
from ..state.text import clip_end
from ..stores.memory.memory_file import split_memory
from ..stores.memory.memory_sections import drop_first
from ..stores.workspace import ScopedWorkspace

__all__ = ["memory_items"]

log = logging.getLogger("longthread")


def memory_items(
    files: ScopedWorkspace, allowed: int, policy: ContextPolicy
) -> list[ReferenceItem]:
    """Read MEMORY.md of both scopes, the shared one first.

    Args:
        files: The owner's files. One that cannot be read is logged and left out.
        allowed: Tokens that both may take. The agent's own has the first claim on them, but for a
            quarter.
        policy: The agent's policy: how what is left out can be found again.

    Returns:
        One item for each file, with a note in front of what was shortened.
    """
    own, shared = (_read(files, path) for path in ("MEMORY.md", "global/MEMORY.md"))
    kept_own = _newest_within(own, allowed - min(count_text(shared), allowed // 4))
    kept_shared = _newest_within(shared, max(0, allowed - count_text(kept_own)))
    return [
        ReferenceItem("memory", path, kept if kept == text else f"{_note(policy)}\n\n{kept}")
        for path, text, kept in (
            ("global/MEMORY.md", shared, kept_shared),
            ("MEMORY.md", own, kept_own),
        )
    ]


def _read(files: ScopedWorkspace, path: str) -> str:
    try:
        return files.read_text(path) or ""
    except WorkspaceError as error:
        log.warning("memory is not available: %s", error)
        return ""


def _note(policy: ContextPolicy) -> str:
    search = policy.search_tool
    where = f"; find them with {search}" if search else ""
    return f"[MEMORY truncated: the oldest entries are not shown{where}]"


def _newest_within(text: str, allowed: int) -> str:
    """Leave out the first entries until the rest fits.

    The newest stands last and is never left out; one that alone is too long is cut short.
    """
    entries = [count_text(part.text) for part in split_memory(text) if part.is_entry]
    excess = count_text(text) - allowed
    dropped = 0
    while excess > 0 and dropped < len(entries) - 1:
        excess -= entries[dropped]
        dropped += 1
    kept = drop_first(text, dropped)
    while (excess := count_text(kept) - allowed) > 0 and dropped < len(entries) - 1:
        dropped += 1  # headings stay with what is left below them
        kept = drop_first(text, dropped)
    return _cut_short(kept, allowed) if excess > 0 else kept


def _cut_short(text: str, allowed: int) -> str:
    """Return the head of a text that is too long even alone."""
    # No tokenizer gets more than sixteen characters of prose into a token.
    low, high = 0, min(len(text), allowed * 16)
    while low < high:
        middle = (low + high + 1) // 2
        if count_text(text[:middle]) <= allowed:
            low = middle
        else:
            high = middle - 1
    return clip_end(text, low)
