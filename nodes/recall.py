"""`recall`: load memory once per call, and settle what an interrupted call left behind."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AnyMessage
from langgraph.types import Overwrite

from ..state.counting import count_text
from ..state.decisions import Memory, OverflowState, learned
from ..state.errors import WorkspaceError
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.reference import ReferenceItem, digest, render_items
from ..state.rolling import rolling_record
from ..stores.memory_file import drop_first, split_memory
from ..stores.workspace import ScopedWorkspace, Workspace
from .identity import owner_of
from .node import Node, Run, Steps, Update, ask, io

__all__ = ["RecallNode", "Reference"]

log = logging.getLogger("longthread")

Reference = str | PathLike[str] | Callable[[Any, Any], str | Awaitable[str]]
"""Further reference material: text, a file (as a `Path`), or a callable of state and runtime."""

TRUNCATED = "[MEMORY truncated: the oldest entries are not shown]"


class RecallNode(Node):
    """Loads memory and reference material into `memory`; settles unanswered calls in `messages`.

    Reads `messages`, `memory`, `overflow`; writes those that change, and fixes `rolling` in the
    first call of a thread. A file that cannot be read is
    logged and left out: the call goes on.

    Args:
        policy: The agent's policy.
        workspace: Where MEMORY.md lives.
        agent: The agent's name.
        reference: Further reference material, in order.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        workspace: Workspace,
        *,
        agent: str = "agent",
        reference: Sequence[Reference] = (),
    ) -> None:
        self.policy = policy
        self.workspace = workspace
        self.agent = agent
        self.reference = tuple(reference)

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Read the sources, compare them with what the state has, settle open calls."""
        update: Update = {}
        items = yield from self._items(state, run)
        text = render_items(items)
        revision = digest(text)
        known: Memory | None = state.get("memory") or None
        if revision != (known["digest"] if known else digest("")):
            # Written whole, as a snapshot: reading a thread then never replays earlier texts.
            update["memory"] = Overwrite(Memory(text=text, digest=revision))
        if not state.get("rolling"):
            update["rolling"] = rolling_record(self.policy.rolling)
        settled = _interrupted(state, self.policy)
        if settled:
            update["messages"] = settled
        overflow = cast(OverflowState, state.get("overflow") or {})
        if overflow.get("attempts") or overflow.get("pending"):
            # An overflow that ended the last call has nothing to say about this one.
            update["overflow"] = learned(overflow)
        return update

    def _items(self, state: Mapping[str, Any], run: Run) -> Steps[list[ReferenceItem]]:
        """Read every source, in the order in which they are shown."""
        items: list[ReferenceItem] = []
        if self.policy.memory is not None and self.policy.memory.enabled:
            files = self.workspace.scoped(owner_of(run, self.agent))
            items += yield io(_memory_items, files, self.policy.memory.max_reference_tokens)
        for number, material in enumerate(self.reference, start=1):
            if isinstance(material, str):
                items.append(ReferenceItem("knowledge", f"reference {number}", material))
            elif isinstance(material, PathLike):
                items.append((yield io(_file_item, material)))
            else:
                name = getattr(material, "__name__", f"reference {number}")
                text = yield ask(material, state, run.runtime)
                items.append(ReferenceItem("knowledge", name, str(text)))
        return items


def _memory_items(files: ScopedWorkspace, allowed: int) -> list[ReferenceItem]:
    """Read MEMORY.md of both scopes; the agent's own has the first claim on the budget."""
    items = []
    texts = {}
    for path in ("global/MEMORY.md", "MEMORY.md"):
        try:
            texts[path] = files.read_text(path) or ""
        except WorkspaceError as error:
            log.warning("memory is not available: %s", error)
            texts[path] = ""
    for path, text in reversed(texts.items()):
        kept = _newest_within(text, allowed)
        allowed -= count_text(kept)
        if kept != text:
            kept = f"{TRUNCATED}\n\n{kept}"
        items.append(ReferenceItem("memory", path, kept))
    return items[::-1]


def _newest_within(text: str, allowed: int) -> str:
    """Leave out the first entries until the rest fits; the newest stands last and always stays."""
    entries = [count_text(part.text) for part in split_memory(text) if part.is_entry]
    excess = count_text(text) - allowed
    dropped = 0
    while excess > 0 and dropped < len(entries) - 1:
        excess -= entries[dropped]
        dropped += 1
    return drop_first(text, dropped)


def _file_item(path: PathLike[str]) -> ReferenceItem:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        log.warning("reference material %s is not available: %s", path, error)
        text = ""
    return ReferenceItem("knowledge", str(path), text)


def _interrupted(state: Mapping[str, Any], policy: ContextPolicy) -> list[AnyMessage]:
    """Return a result for every call that will not get one any more: a new call has begun."""
    return view_context(state, policy).body.interrupted()
