"""`eviction`: huge texts go to a file; the projection shows a preview."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from ..state.counting import text_of
from ..state.decisions import Eviction
from ..state.errors import WorkspaceError
from ..state.oversize import oversized, with_previews
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.replacement import text_hash
from ..state.text import well_formed
from ..stores.paths import safe_segment
from ..stores.workspace import ScopedWorkspace, Workspace
from .identity import thread_owner
from .node import Node, Run, Steps, Update, io

__all__ = ["EvictionNode"]

log = logging.getLogger("longthread")


class EvictionNode(Node):
    """Writes oversized texts to the workspace and records where, in `evictions`.

    The text is written first and recorded after; if it cannot be written, the original stays in the
    context and a warning is logged. The place is `<folder>/<thread>/<call id>-<hash>.txt`.

    Args:
        policy: The agent's policy.
        workspace: Where the texts go.
        agent: The agent's name.
    """

    def __init__(
        self, policy: ContextPolicy, workspace: Workspace, *, agent: str = "agent"
    ) -> None:
        self.policy = policy
        self.workspace = workspace
        self.agent = agent

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Write every oversized text that is new, and record it."""
        view = view_context(state, self.policy)
        evictions: dict[str, Eviction] = {}
        files = self.workspace.scoped(thread_owner(state, run, self.agent))
        assert self.policy.eviction is not None
        folder = f"{self.policy.eviction.path}/{safe_segment(run.thread_id or 'no-thread')}"
        known: dict[tuple[str, int], str] = {}  # made once, however many texts are evicted now
        for earlier in view.decisions.evictions.values():
            place, _, ending = earlier["path"].rpartition("-")
            if place.rpartition("/")[0] == folder:
                known.setdefault((ending, earlier["chars"]), earlier["path"])
        for message in oversized(view):
            text = text_of(message.content)
            # Equal text shares a file, that of the call that gave it first; other text never does.
            ending = f"{text_hash(text)}.txt"
            path = known.setdefault((ending, len(text)), f"{folder}/{_name(message)}-{ending}")
            try:
                yield io(self._write, files, path, text)
            except WorkspaceError as error:
                log.warning("a large result stays in the context: %s", error)
                continue
            assert message.id is not None
            evictions[message.id] = Eviction(path=path, chars=len(text), preview=0)
            run.emit("eviction", message_id=message.id, path=path, chars=len(text))
        return {"evictions": with_previews(evictions, view)} if evictions else {}

    def _write(self, files: ScopedWorkspace, path: str, text: str) -> None:
        """Write a text, unless it is there; one that will be removed for its age starts anew."""
        assert self.policy.eviction is not None
        if self.policy.eviction.retention_days is not None or not files.exists(path):
            files.write_text(path, well_formed(text))


def _name(message: AnyMessage) -> str:
    named = message.tool_call_id if isinstance(message, ToolMessage) else message.id
    return safe_segment(named or "text")
