"""`consolidation`: merge what is new in the daily ledgers into MEMORY.md, archive old ledgers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..state.errors import LongthreadError
from ..state.projection import view_context
from .identity import now
from .maintenance import Maintenance
from .memory_node import MemoryNode
from .node import Run, Steps, Update, io

__all__ = ["ConsolidationNode"]

log = logging.getLogger("longthread")


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
        try:
            files = self.files(run)
            moment: datetime = yield io(now, run)
        except LongthreadError as error:  # a context that `recall` has not seen
            log.warning("memory maintenance is put off: %s", error)
            return {}
        window = view_context(state, self.policy).window
        maintenance = Maintenance(self.policy, self.model, self.window)
        yield from maintenance.when_due(files, moment, window, run)
        return {}
