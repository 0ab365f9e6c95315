"""`flush`: extract what is worth remembering from the conversation into the day's ledger."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..state.cut import choose_cut, compaction_due
from ..state.due import is_answered
from ..state.errors import LongthreadError
from ..state.projection import ContextView, view_context
from ..state.rolling import rolling_due
from ..stores.memory.flush_cursor import FlushCursor
from ..stores.workspace import ScopedWorkspace
from .background import submit
from .end_of_call import EndOfCall, flushed
from .extraction import Conversation, Extraction
from .identity import is_guest, now, owner_of, thread_owner
from .maintenance import Maintenance
from .memory_node import MemoryNode
from .node import Run, Steps, Update, io

__all__ = ["FlushNode"]

log = logging.getLogger("longthread")


class FlushNode(MemoryNode):
    """Appends durable facts to the ledger, and sees to it that ledgers are consolidated.

    One prompt serves its three triggers: the end of a call, a compaction that is about to hide
    messages, and an overflow. What it has covered is remembered in the workspace, so nothing is
    read twice. At the end of a call the work, maintenance included, is left to the background
    worker, or with `MemoryConfig(background=False)` done at once; then `maintenance` says whether
    the `consolidation` node has something to do. A failure is logged and counted and never fails
    the call.
    """

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Extract from what is new, now or later."""
        memory = self.policy.memory
        if memory is None or not self.policy.remembers:
            return {}
        view = view_context(state, self.policy)
        try:
            # A guest's call may still hide what the owner has said: that is read first, as ever.
            files = self.workspace.scoped(thread_owner(state, run, self.agent))
            guest = is_guest(state, run, self.agent)
            moment: datetime = yield io(now, run)
        except LongthreadError as error:  # a context that `recall` has not seen
            log.warning("nothing was added to the ledger: %s", error)
            return {}
        extraction = Extraction(self.policy, self.model, self.window)
        ended, shortens = is_answered(view), rolling_due(view) is not None
        if not ended or shortens:
            # What a compaction is about to hide is read first, whatever the trigger for calls is.
            end = len(view.journal) if ended else _goes_through(view)
            yield from flushed(extraction, _talk(view, end, files, moment, run), run)
            if not ended:
                return {}
        if guest:
            return {}
        talk = _talk(view, len(view.journal), files, moment, run)
        maintenance = Maintenance(self.policy, self.model, self.window)
        if memory.background:
            self._leave(EndOfCall(extraction, maintenance, talk, run, holds=self.workspace), run)
            return {}
        if not shortens:
            yield from flushed(extraction, talk, run, throttle=memory)
        return {"maintenance": True} if (yield from maintenance.due(files, moment)) else {}

    def extracted(
        self, view: ContextView, end: int, files: ScopedWorkspace, moment: datetime, run: Run
    ) -> Steps[None]:
        """Extract from a thread up to a position in its journal; what goes wrong is logged."""
        extraction = Extraction(self.policy, self.model, self.window)
        yield from flushed(extraction, _talk(view, end, files, moment, run), run)

    def _leave(self, job: EndOfCall, run: Run) -> None:
        """Leave the work to the background worker: it does not delay the answer."""
        owner, cursor = owner_of(run, self.agent), job.talk.cursor.name
        try:
            submit((id(self.workspace), owner, cursor), job)
        except Exception as error:  # the process is about to end
            log.warning("nothing was added to the ledger: %s", error)


def _talk(
    view: ContextView, end: int, files: ScopedWorkspace, moment: datetime, run: Run
) -> Conversation:
    cursor = FlushCursor(files, run.thread_id or "no-thread", run.namespace)
    return Conversation(
        files,
        cursor,
        view.journal,
        end,
        view.decisions.evictions,
        view.window,
        moment,
        reserve=view.budget.output_reserve,
        clamped="reserve" in view.overflow,
    )


def _goes_through(view: ContextView) -> int:
    """Return the position up to which the compaction that follows will cut."""
    if view.overflow.get("pending"):
        cut = choose_cut(view)
    else:
        cut = compaction_due(view) or rolling_due(view)
    return cut.position if cut is not None else 0
