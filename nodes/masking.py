"""`masking`: move the boundaries behind which results show a placeholder and arguments are cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..state.moves import Move, next_move
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from .node import Node, Run, Steps, Update

__all__ = ["MaskingNode", "boundaries"]


def boundaries(move: Move, state: Mapping[str, Any]) -> Update:
    """Return the update that records a move in a state."""
    moved = {
        "masked_through": move.masked_through,
        "arguments_truncated_through": move.arguments_through,
    }
    update: Update = {name: through for name, through in moved.items() if through is not None}
    known = state.get("boundary_positions") or {}
    return {**update, "boundary_positions": {**known, **move.positions}}


class MaskingNode(Node):
    """Moves `masked_through` and `arguments_truncated_through` as far as they may go.

    Whether that pays is the trigger's question.

    Args:
        policy: The agent's policy.
    """

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Record the new boundaries."""
        yield from ()
        view = view_context(state, self.policy)
        move = next_move(view)
        if move is None:
            return {}
        run.emit(
            "masking",
            through=move.masked_through,
            arguments_through=move.arguments_through,
            tokens_before=view.tokens,
            tokens_freed=move.freed,
        )
        return boundaries(move, state)
