"""What a summariser is asked for: an addition to the summary, or all of it anew."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..state.config import CompactionConfig
from ..state.counting import count_text
from ..state.material import escaped, tags_in
from ..state.names import is_line_of_names
from ..state.projection import ContextView
from ..state.summary_size import SummarySize
from ..state.templates import fill
from .summary_answers import bounded_summary

__all__ = ["SummaryTask"]

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """One request for a summary.

    Attributes:
        template: The prompt.
        previous: The summary so far, or "".
        limit: The bound that the prompt names, in tokens.
        most: What an answer is cut to.
        adds: Whether the answer is put after the summary so far, instead of replacing it.
        instructions: What is asked for beyond the template; never a template itself.
    """

    template: str
    previous: str
    limit: int
    most: int
    adds: bool
    instructions: str = ""

    @classmethod
    def of(
        cls,
        view: ContextView,
        previous: str,
        removed: int,
        window: int,
        instructions: str | None = None,
    ) -> SummaryTask:
        """Ask for an addition as long as one fits, then for all of it, shorter.

        Args:
            view: The projection.
            previous: The summary so far, or "".
            removed: Tokens of the messages that go.
            window: Of the summariser, in tokens.
            instructions: Added to the prompt; what they ask for holds for the whole summary.
        """
        config = view.policy.compaction or CompactionConfig()
        size = SummarySize.of(view, window)
        asked = instructions.strip() if instructions else ""
        adding = None if asked else config.adding
        if adding is not None:
            addition = size.addition(removed)
            left = size.text - count_text(previous)
            if left >= addition:
                # Models overshoot what they are asked for: an addition is not cut up for that.
                return cls(adding, previous, addition, left, adds=True)
        limit = size.text if adding is None else size.rewritten
        # They do that here as well, and what is cut out of the middle is lost for good.
        most = (limit + size.text) // 2
        return cls(config.summary_prompt, previous, limit, most, adds=False, instructions=asked)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt without summary and messages."""
        return count_text(self.template) + count_text(self.instructions)

    def prompt(self, chunk: str) -> str:
        """Return the prompt with its material."""
        tags = tags_in(self.template)
        prompt = fill(
            self.template,
            messages=escaped(chunk, tags),
            summary=escaped(self.previous, tags) or "(none)",
            max_tokens=self.limit,
        )
        if not self.instructions:
            return prompt
        return f"{prompt}\n\nAdditional instructions:\n{self.instructions}\n"

    def joined(self, text: str) -> str:
        """Return the summary with a new text in it, within its bound."""
        # Parts are told apart by the blank line between them.
        text = _BLANK_LINES.sub("\n", text)
        if not (self.adds and self.previous):
            return bounded_summary(text, self.most)
        text = bounded_summary(_not_repeated(text, self.previous), self.most)
        return f"{self.previous}\n\n{text}" if text else self.previous


def _not_repeated(text: str, previous: str) -> str:
    """Return an addition without the whole summary so far, which some models put before it."""
    lines = [line for line in text.splitlines() if not is_line_of_names(line)]
    earlier = [line for line in previous.splitlines() if line.strip()]
    if lines[: len(earlier)] != earlier:
        return text
    return "\n".join(lines[len(earlier) :])
