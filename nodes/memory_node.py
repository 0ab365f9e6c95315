"""What the nodes that write memory have in common: files, a model, and an owner."""

from __future__ import annotations

from ..state.policy import ContextPolicy
from ..stores.workspace import ScopedWorkspace, Workspace
from .identity import owner_of
from .models import Model
from .node import Node, Run

__all__ = ["MemoryNode"]


class MemoryNode(Node):
    """A node that writes memory with the help of a model.

    Args:
        policy: The agent's policy.
        workspace: Where the files live.
        model: The model that is asked.
        agent: The agent's name.
        window: The model's context window in tokens; None: it is the agent's own model, and what
            the thread has learned of the window holds for it too.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        workspace: Workspace,
        model: Model,
        *,
        agent: str = "agent",
        window: int | None = None,
    ) -> None:
        self.policy = policy
        self.workspace = workspace
        self.model = model
        self.agent = agent
        self.window = window

    def files(self, run: Run) -> ScopedWorkspace:
        """Return the files of whom the call is for."""
        return self.workspace.scoped(owner_of(run, self.agent))
