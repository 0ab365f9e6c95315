"""The threads that a tool may look into: those of the user and agent that the call is for."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import ToolRuntime

from ...state.errors import ToolInputError
from ...state.journal import as_journal
from ...stores.journal import OwnedThreads
from ...stores.workspace import Owner, Workspace
from ..identity import owner_of
from ..node import Run

__all__ = ["OwnThreads", "in_this_call"]


class OwnThreads:
    """Finds the threads of a call.

    Args:
        workspace: Where the threads are registered.
        agent: The agent's name.
    """

    def __init__(self, workspace: Workspace, agent: str) -> None:
        self._workspace = workspace
        self._agent = agent
        self._saver: BaseCheckpointSaver[Any] | None = None
        self._known: dict[Owner, OwnedThreads] = {}

    def of(self, run: Run) -> OwnedThreads:
        """Return the threads of whom the call is for.

        Raises:
            ToolInputError: No checkpointer keeps any.
        """
        saver, owner = run.checkpointer, owner_of(run, self._agent)
        if saver is None:
            raise ToolInputError("past threads are not kept here: the agent has no checkpointer")
        if saver is not self._saver:
            self._saver, self._known = saver, {}
        known = self._known  # another thread of the process may put a new one there
        if owner not in known:
            known[owner] = OwnedThreads(saver, self._workspace, owner)
        return known[owner]


def in_this_call(run: Run) -> list[AnyMessage]:
    """Return the messages of the call that is running, from the newest human message on."""
    state = run.runtime.state if isinstance(run.runtime, ToolRuntime) else None
    journal = as_journal(state.get("messages") if isinstance(state, dict) else None)
    for at in range(len(journal) - 1, -1, -1):
        if journal[at].type == "human":
            return journal[at:]
    return list(journal)
