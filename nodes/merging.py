"""Having a model write the new MEMORY.md, and refusing what must not replace the old one."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage

from ..state.counting import count_text, text_of
from ..state.errors import LongthreadError
from ..state.facts import facts_of, normalised, unwrapped
from ..state.grounding import is_kept, words_of
from ..state.material import material
from ..state.policy import ContextPolicy
from ..state.prompts import DEFAULT_CONSOLIDATION_PROMPT
from ..state.redaction import redacted
from ..state.templates import fill_numbers
from ..state.text import clip_end
from ..stores.memory.entry_dates import fact_dates, latest, with_dates
from ..stores.memory.ledger_chunks import LedgerChunk
from ..stores.memory.memory_file import MemoryPart, count_entries, entry_body, split_memory
from .models import Model, auxiliary_answer, stop_reason_of
from .node import Run, Steps, io
from .tokens_used import TokensUsed

__all__ = ["ConsolidationRefused", "Merging"]

_CHARS_PER_TOKEN = 4
_LEAST_ROOM = 256
_WRAPPED = re.compile(r"\A<memory>[ \t]*\n?(.*?)</memory>\Z", re.DOTALL)


class ConsolidationRefused(LongthreadError):
    """What the model returned must not replace MEMORY.md."""

    code = "CONSOLIDATION_REFUSED"


class Merging:
    """A model that folds ledger text into MEMORY.md.

    Args:
        policy: The agent's policy.
        model: The model that is asked.
        window: Its context window in tokens.
    """

    def __init__(self, policy: ContextPolicy, model: Model, window: int) -> None:
        memory = policy.memory
        assert memory is not None
        self.model = model
        self.redact = policy.redact
        # The file is read and written in one request: it may take a quarter of the window each
        # time.
        self.limit = min(memory.consolidation_max_tokens, window // 4)
        self.window = window
        template = memory.consolidation_prompt or DEFAULT_CONSOLIDATION_PROMPT
        self.system = fill_numbers(template, self.limit, self.limit * _CHARS_PER_TOKEN)
        self.used = TokensUsed()

    def room(self, old: str) -> int:
        """Return the tokens that ledger text may take beside a MEMORY.md.

        Raises:
            ConsolidationRefused: MEMORY.md alone is too long for the model.
        """
        size = count_text(old)
        if size > self.window // 2:
            raise ConsolidationRefused(
                f"MEMORY.md takes {size:,} tokens, more than half of a window of {self.window:,}: "
                "shorten it by hand, or choose MemoryConfig(model=…) with a larger window"
            )
        left = self.window * 7 // 8 - max(size, self.limit) - self.limit
        return max(_LEAST_ROOM, left - count_text(self.system))

    def steps(self, old: str, chunk: LedgerChunk, run: Run) -> Steps[str]:
        """Return the new MEMORY.md.

        Args:
            old: The present one.
            chunk: What is new in the ledgers.
            run: Where the node runs.

        Raises:
            ConsolidationRefused: It is blank, cut short, no answer, too long even after one request
                to shorten it, or has lost too many entries.
            RedactionError: The redactor failed.
        """
        try:
            return (yield from self._merged(old, chunk, run))
        except ConsolidationRefused:
            known = {normalised(fact) for fact in facts_of(old)}
            if not known.issuperset(chunk.dates):
                raise
            # Every new fact stands in the file already, word for word: it may stay as it is.
            return old

    def _merged(self, old: str, chunk: LedgerChunk, run: Run) -> Steps[str]:
        shown: str = yield io(redacted, self.redact, old)
        ledgers: str = yield io(redacted, self.redact, chunk.text)
        dates = latest(fact_dates(old), chunk.dates)
        text = yield from self._asked(
            f"MEMORY.md now:\n{material('memory', shown)}\n\n"
            f"New in the ledgers:\n{material('ledgers', ledgers)}",
            run,
        )
        text = with_dates(_with_frontmatter(text, old), dates, chunk.newest)
        if count_text(text) > self.limit:
            text = yield from self._asked(
                f"This MEMORY.md is too long. Shorten it to at most {self.limit} tokens: leave out "
                "the least useful entries, keep the others as they are.\n\n"
                f"{material('memory', text)}",
                run,
            )
            text = with_dates(_with_frontmatter(text, old), dates, chunk.newest)
        size = count_text(text)
        if size > self.limit:
            raise ConsolidationRefused(
                f"the new text takes {size:,} tokens, more than {self.limit:,}"
            )
        self._refuse_losses(text, shown, chunk)
        return text

    def _refuse_losses(self, text: str, old: str, chunk: LedgerChunk) -> None:
        """Refuse a file without the old entries, or with nothing of what it was to be made from."""
        parts = _entries(old)
        half, fitting = (len(parts) + 1) // 2, _fitting(parts, self.limit)
        needed, left = min(half, fitting), count_entries(text)
        if left < needed:
            raise ConsolidationRefused(
                f"only {left} of {len(parts)} entries would be left; {needed} is the least"
            )
        words = words_of(text)
        kept = sum(is_kept(entry_body(part), words) for part in parts)
        if fitting < half:
            needed = (needed + 1) // 2  # new ones have to fit as well
        if kept < needed or not (kept or any(is_kept(fact, words) for fact in chunk.dates)):
            old_ones = f"only {kept} of {len(parts)} entries, and little of what is new,"
            raise ConsolidationRefused(
                f"{old_ones if parts else 'nothing of what is new'} can be found again in the "
                f"answer {clip_end(text.strip(), 80)!r}"
            )

    def _asked(self, prompt: str, run: Run) -> Steps[str]:
        """Return the file that the model answers with."""
        answer: AIMessage = yield from auxiliary_answer(
            self.model, run, name="consolidation", system=self.system, prompt=prompt
        )
        self.used.add(answer)
        reason = stop_reason_of(answer)
        if reason is not None:
            raise ConsolidationRefused(f"the model's answer was {reason}")
        text: str = yield io(redacted, self.redact, text_of(answer.content))
        text = unwrapped(text)
        wrapped = _WRAPPED.match(text)
        text = (wrapped[1] if wrapped else text).strip()
        if not count_entries(text):
            raise ConsolidationRefused("the new text is blank")
        return text + "\n"


def _with_frontmatter(text: str, old: str) -> str:
    """Return the text with the old file's frontmatter, which is not the model's to change."""
    before, after = (next(iter(split_memory(t)), None) for t in (old, text))
    if before is None or before.kind != "frontmatter":
        return text
    if after is not None and after.kind == "frontmatter":
        text = text[len(after.text) :]
    return before.text + text


def _entries(text: str) -> list[MemoryPart]:
    """Return the entries of a file; those that say the same count once."""
    found = {normalised(entry_body(part)): part for part in split_memory(text) if part.is_entry}
    return list(found.values())


def _fitting(parts: list[MemoryPart], limit: int) -> int:
    """Return how many of the longest entries a limit has room for."""
    fitting, used = 0, 0
    for tokens in sorted((count_text(part.text) for part in parts), reverse=True):
        used += tokens
        if used > limit:
            break
        fitting += 1
    return fitting
