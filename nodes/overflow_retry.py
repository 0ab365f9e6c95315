"""`overflow_retry`: the provider refused the request as too long; make the next one fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..state.decisions import OverflowState, after
from ..state.due import shed_through
from ..state.policy import ContextPolicy
from ..state.projection import ContextView, view_context
from .node import Node, Run, Steps, Update

__all__ = ["OverflowRetryNode"]

_LEAST_RESERVE = 256


class OverflowRetryNode(Node):
    """Records in `overflow` what has to change before the one retry that a reasoning step gets.

    Too many tokens in the prompt: a compaction is forced. Too many reserved for the answer: fewer
    are. Too many bytes: attachments and results before the last step are left out.

    Args:
        policy: The agent's policy.
    """

    def __init__(self, policy: ContextPolicy) -> None:
        self.policy = policy

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:  # noqa: ARG002
        """Record the change."""
        yield from ()
        view = view_context(state, self.policy)
        overflow: OverflowState = {**view.overflow}
        match overflow.get("kind", "context_window"):
            case "completion_budget":
                overflow["reserve"] = _reserve(view)
            case "payload_bytes":
                through = shed_through(view)
                if through is not None:
                    overflow["shed_through"] = through
                    overflow["shed_position"] = after(view.journal, through)
            case _:
                overflow["pending"] = True
        return {"overflow": overflow}


def _reserve(view: ContextView) -> int:
    """Return what the answer may take from now on, and what the budget keeps free for it.

    Half of what the model asked for. If it asked for nothing, it got the provider's default: then
    what the budget has kept free all the time is asked for, as far as the prompt leaves it.
    """
    left = view.window - view.overflow.get("prompt", view.tokens) - view.budget.safety
    asked = view.overflow.get("reserve", view.policy.output_reserve)
    wanted = view.budget.output_reserve if asked is None else asked // 2
    return max(_LEAST_RESERVE, min(left, wanted))
