"""`seal`: move the summarised part of a very long journal into an immutable segment."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from langgraph.types import Overwrite

from ..state.channels import DELTA_CHANNELS
from ..state.decisions import Sealed
from ..state.errors import WorkspaceError
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.sealing import plan_sealing, seal_is_due, sealed_update
from ..stores.segments import write_segment
from ..stores.workspace import Workspace
from .identity import thread_owner
from .node import Node, Run, Steps, Update, io

__all__ = ["SealNode"]

log = logging.getLogger("longthread")


class SealNode(Node):
    """Writes the segment first, then the shorter journal: a crash in between loses nothing.

    Writes `messages`, `sealed` and every record that names a position. A segment that cannot be
    written is logged, and the thread stays as it is.

    Args:
        policy: The agent's policy.
        workspace: Where segments go.
        agent: The agent's name.
    """

    def __init__(
        self, policy: ContextPolicy, workspace: Workspace, *, agent: str = "agent"
    ) -> None:
        self.policy = policy
        self.workspace = workspace
        self.agent = agent

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Seal what the summary covers."""
        view = view_context(state, self.policy)
        if run.thread_id is None or not seal_is_due(view):
            return {}
        known: Sealed | None = state.get("sealed") or None
        plan = plan_sealing(view, known)
        files = self.workspace.scoped(thread_owner(state, run, self.agent))
        try:
            sealed: Sealed = yield io(
                write_segment, files, run.thread_id, known, plan.messages, plan.kept
            )
        except WorkspaceError as error:
            log.warning("the journal is not sealed: %s", error)
            return {}
        run.emit("seal", messages=len(plan.messages), sealed=sealed["count"])
        update = sealed_update(view, state, plan, sealed)
        # Written whole, none of them makes opening the thread go back to before this step any more.
        whole = {name: update.get(name) or state.get(name) or {} for name in DELTA_CHANNELS}
        return {**update, **{name: Overwrite(value) for name, value in whole.items()}}
