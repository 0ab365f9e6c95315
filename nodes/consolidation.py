"""`consolidation`: merge what is new in the daily ledgers into MEMORY.md, archive old ledgers."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..state.projection import view_context
from .identity import now
from .maintenance import Maintenance
from .memory_node import MemoryNode
from .node import Run, Steps, Update, io

__all__ = ["ConsolidationNode"]


class ConsolidationNode(MemoryNode):
    """Looks after the memory of whom the call is for, in each scope where that is due.

    MEMORY.md is rewritten from itself and the new ledger text; without new text no model is called.
    A failure is logged, leaves the file and the record of what was merged as they were, and never
    fails the call.
    """

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Maintain what is due."""
        if self.policy.memory is None or not self.policy.remembers:
            return {}
        moment: datetime = yield io(now, run)
        window = view_context(state, self.policy).window
        maintenance = Maintenance(self.policy, self.model, self.window)
        yield from maintenance.when_due(self.files(run), moment, window, run)
        return {}
