"""`overflow_retry`: the provider refused the request as too long; make the next one shorter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..state.decisions import OverflowState
from .node import Node, Run, Steps, Update

__all__ = ["OverflowRetryNode"]


class OverflowRetryNode(Node):
    """Marks a compaction as due whatever the triggers say, in `overflow`.

    `reasoning` counts the overflows and comes here at most once in a step.
    """

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:  # noqa: ARG002
        """Record that the next compaction is forced."""
        yield from ()
        overflow = cast(OverflowState, state.get("overflow") or {})
        return {"overflow": {**overflow, "pending": True}}
