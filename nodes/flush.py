"""`flush`: extract what is worth remembering from the conversation into the day's ledger."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ..state.config import MemoryConfig
from ..state.counting import count_text, text_of
from ..state.cut import choose_cut, compaction_due
from ..state.decisions import after
from ..state.due import is_answered
from ..state.errors import WorkspaceError
from ..state.projection import ContextView, view_context
from ..state.prompts import DEFAULT_FLUSH_PROMPT
from ..state.rolling import rolling_due
from ..state.transcript import chunked, newest_tokens, transcript
from ..stores.ledger import LedgerMarker, append_entry, ledger_path, read_entries
from ..stores.maintenance import maintenance_due
from ..stores.paths import safe_segment
from ..stores.workspace import ScopedWorkspace
from .identity import now
from .memory_node import MemoryNode
from .models import auxiliary_answer, usage_of
from .node import Run, Steps, Update, io

__all__ = ["FlushNode", "says_nothing"]

log = logging.getLogger("longthread")

# What a tool returned can be looked up again; what was made of it stands in the answers.
_RESULT_CHARS = 600


class FlushNode(MemoryNode):
    """Appends durable facts to the ledger; says in `maintenance` whether consolidation is due.

    One prompt serves its three triggers: the end of a call, a compaction that is about to hide
    messages, and an overflow. What it has covered is remembered in the workspace, so nothing is
    read twice. A failure is logged and never fails the call.
    """

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Extract from what is new, append, move the cursor."""
        memory = self.policy.memory
        if memory is None or not self.policy.remembers:
            return {}
        view = view_context(state, self.policy)
        files = self.files(run)
        moment: datetime = yield io(now, run)
        ended = is_answered(view)
        end = len(view.journal) if ended else _goes_through(view)
        try:
            hides = not ended or rolling_due(view) is not None
            if hides or (yield io(_allowed, files, memory, moment)):
                yield from self.extracted(view, end, files, moment, run)
                if ended:
                    yield io(_remember_time, files, moment)
        except Exception as error:
            log.warning("nothing was added to the ledger: %s", error)
        if not ended:
            return {}
        try:
            gap = memory.consolidation_min_gap
            return {"maintenance": True} if (yield io(maintenance_due, files, moment, gap)) else {}
        except WorkspaceError as error:
            log.warning("memory maintenance is put off: %s", error)
            return {}

    def extracted(
        self, view: ContextView, end: int, files: ScopedWorkspace, moment: datetime, run: Run
    ) -> Steps[None]:
        """Append the facts in what is new before a position in the journal; move the cursor."""
        assert self.policy.memory is not None
        thread = run.thread_id or "no-thread"
        cursor = f"flush/{safe_segment(thread)}"
        record = (yield io(files.read_json, cursor)) or {}
        done: list[str] = yield io(_covered, files, moment, thread)
        cursor_at = after(view.journal, record.get("through"), record.get("position"))
        start = max((cursor_at, *(after(view.journal, through) for through in done)))
        new = view.journal[start:end]
        if not any(m.type in ("human", "ai") and text_of(m.content).strip() for m in new):
            return
        first, last = new[0].id or "", new[-1].id or ""
        window = self.window or view.window
        known = newest_tokens("\n\n".join((yield io(_known, files, moment))), window // 4)
        system = self.policy.memory.flush_prompt or DEFAULT_FLUSH_PROMPT
        room = window * 3 // 4 - count_text(system) - count_text(known)
        facts, usage = [], {"input_tokens": 0, "output_tokens": 0}
        texts = (transcript(m, result_chars=_RESULT_CHARS) for m in new)
        for chunk in chunked(texts, max(256, room)):
            prompt = (
                f"Already known:\n<known>\n{known}\n</known>\n\n"
                f"New in the conversation:\n<conversation>\n{chunk}\n</conversation>"
            )
            answer = yield from auxiliary_answer(
                self.model, run, name="flush", system=system, prompt=prompt
            )
            text = text_of(answer.content).strip()
            if not says_nothing(text):
                facts.append(text)
            for key, tokens in usage_of(answer).items():
                usage[key] += tokens
        path = None
        if facts:
            marker = LedgerMarker(thread, first, last)
            body = "\n".join(facts)
            path = yield io(append_entry, files, moment, body, marker, once=True)
        yield io(
            files.update_json, cursor, lambda old: {**(old or {}), "through": last, "position": end}
        )
        run.emit("flush", path=path, messages=len(new), usage=usage)


def says_nothing(text: str) -> bool:
    """Whether an extraction means "nothing to write": blank, NO_REPLY in any clothing, or none."""
    bare = text.strip().strip("`'\"*_.!()[]{}<> \n\t").removeprefix("text").strip()
    return bare.replace(" ", "_").replace("-", "_").upper() in ("", "NO_REPLY", "NONE", "NOTHING")


def _goes_through(view: ContextView) -> int:
    """Return the position up to which the compaction that follows will cut."""
    if view.overflow.get("pending"):
        cut = choose_cut(view)
    else:
        cut = compaction_due(view) or rolling_due(view)
    return cut.position if cut is not None else 0


def _known(files: ScopedWorkspace, moment: datetime) -> list[str]:
    """Return what memory says already: nothing of it is to be said again."""
    texts = [files.read_text(path) for path in ("MEMORY.md", ledger_path(moment))]
    return [text for text in texts if text]


def _covered(files: ScopedWorkspace, moment: datetime, thread: str) -> list[str]:
    """Return what the ledgers themselves say is covered: a crash may have kept the cursor back."""
    ledgers = (ledger_path(moment), ledger_path(moment - timedelta(days=1)))
    entries = [entry for path in ledgers for entry in read_entries(files.read_text(path) or "")]
    return [e.marker.last for e in entries if e.marker is not None and e.marker.thread == thread]


def _allowed(files: ScopedWorkspace, memory: MemoryConfig, moment: datetime) -> bool:
    trigger = memory.flush_trigger
    if trigger.mode != "throttled":
        return trigger.mode == "always"
    last = (files.read_json("flush") or {}).get("last")
    return last is None or moment - datetime.fromisoformat(last) >= trigger.gap


def _remember_time(files: ScopedWorkspace, moment: datetime) -> None:
    files.update_json("flush", lambda old: {**(old or {}), "last": moment.isoformat()})
