"""`masking`: move the boundary behind which tool results show a placeholder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..state.mask import next_mask
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from .node import Node, Run, Steps, Update

__all__ = ["MaskingNode"]


class MaskingNode(Node):
    """Moves `masked_through` as far as it may go. Whether that pays is the trigger's question.

    Args:
        policy: The agent's policy.
    """

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Record the new boundary."""
        yield from ()
        view = view_context(state, self.policy)
        move = next_mask(view)
        if move is None:
            return {}
        run.emit(
            "masking",
            through=move.through,
            tokens_before=view.tokens,
            tokens_freed=move.freed,
        )
        return {"masked_through": move.through}
