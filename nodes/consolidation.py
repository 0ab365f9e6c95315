"""`consolidation`: merge what is new in the daily ledgers into MEMORY.md."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from ..state.counting import count_text, text_of
from ..state.projection import view_context
from ..state.prompts import DEFAULT_CONSOLIDATION_PROMPT
from ..state.templates import fill_numbers
from ..state.transcript import chunked
from ..stores.maintenance import NewText, new_ledger_text, record_maintenance
from ..stores.memory_file import count_entries
from ..stores.retention import remove_older
from .identity import now
from .memory_node import MemoryNode
from .models import auxiliary_answer
from .node import Run, Steps, Update, io

__all__ = ["ConsolidationNode", "ConsolidationRefused"]

log = logging.getLogger("longthread")

_CHARS_PER_TOKEN = 4


class ConsolidationRefused(Exception):
    """What the model returned must not replace MEMORY.md."""


class ConsolidationNode(MemoryNode):
    """Rewrites MEMORY.md from itself and the new ledger text. Without new text no model is called.

    A failure is logged, leaves the file and the record of what was merged as they were, and never
    fails the call.
    """

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Merge, and remember what was merged."""
        memory = self.policy.memory
        if memory is None or not self.policy.remembers:
            return {}
        files = self.files(run)
        moment = yield io(now, run)
        try:
            new = yield io(new_ledger_text, files)
            if new:
                old = (yield io(files.read_text, "MEMORY.md")) or ""
                window = self.window or view_context(state, self.policy).window
                merged = yield from self._merged(old, new, window, run)

                def rewritten(current: str | None) -> str:
                    # What was saved while the model was at work stands at the end of the file.
                    if (current or "").startswith(old):
                        return merged + (current or "")[len(old) :]
                    raise ConsolidationRefused("MEMORY.md was rewritten in the meantime")

                yield io(files.update_text, "MEMORY.md", rewritten)
            yield io(record_maintenance, files, moment, new)
            eviction = self.policy.eviction
            if eviction is not None and eviction.retention_days is not None:
                yield io(remove_older, files, eviction.path, moment, eviction.retention_days)
        except Exception as error:
            log.warning("MEMORY.md stays as it is: %s", error)
            return {}
        if new:
            run.emit("consolidation", path="MEMORY.md", ledgers=[n.path for n in new])
        return {}

    def _merged(self, old: str, new: list[NewText], window: int, run: Run) -> Steps[str]:
        """Fold the new text into the file, as much at a time as the model can read."""
        memory = self.policy.memory
        assert memory is not None
        # The file is read and written in one request: it may take a quarter of the window each
        # time.
        limit = min(memory.consolidation_max_tokens, window // 4)
        system = fill_numbers(
            memory.consolidation_prompt or DEFAULT_CONSOLIDATION_PROMPT,
            limit,
            limit * _CHARS_PER_TOKEN,
        )
        if count_text(old) > window // 2:
            raise ConsolidationRefused(f"it takes more than half of a window of {window:,} tokens")
        room = max(256, window * 3 // 4 - 2 * limit - count_text(system))
        text = old
        for chunk in chunked(_ledgers(new, room), room):
            text = yield from self._asked(_request(text, chunk), system, run)
            if count_text(text) > limit:
                shorter = (
                    f"Shorten this MEMORY.md to at most {limit} tokens. Drop the least useful "
                    f"entries, keep the others as they are.\n\n{text}"
                )
                text = yield from self._asked(shorter, system, run)
            if count_text(text) > limit:
                raise ConsolidationRefused(f"the new text takes more than {limit:,} tokens")
        before, after = count_entries(old), count_entries(text)
        if after < before / 2:
            raise ConsolidationRefused(f"only {after} of {before} entries would be left")
        return text

    def _asked(self, prompt: str, system: str, run: Run) -> Steps[str]:
        answer = yield from auxiliary_answer(
            self.model, run, name="consolidation", system=system, prompt=prompt
        )
        text = _unwrapped(text_of(answer.content))
        if not text.strip():
            raise ConsolidationRefused("the new text is blank")
        return text


def _ledgers(new: list[NewText], room: int) -> list[str]:
    """Return the new text in pieces that fit, each under the name of its ledger: that dates it."""
    return [
        f"{ledger.path}\n{piece}" for ledger in new for piece in chunked([ledger.text], room - 32)
    ]


def _request(memory: str, ledgers: str) -> str:
    return (
        f"MEMORY.md now:\n<memory>\n{memory}\n</memory>\n\n"
        f"New in the ledgers:\n<ledgers>\n{ledgers}\n</ledgers>"
    )


_FENCED = re.compile(r"\A\s*```[\w-]*\n(.*?)\n?```\s*\Z", re.DOTALL)


def _unwrapped(text: str) -> str:
    """Return the file without the fence that models like to put around it, ending in a newline."""
    match = _FENCED.match(text)
    return (match[1] if match else text).strip() + "\n" if text.strip() else ""
