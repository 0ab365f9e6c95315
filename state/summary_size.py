"""How long a summary may become, and how long what is added to it."""

from __future__ import annotations

from dataclasses import dataclass

from .config import CompactionConfig
from .projection import ContextView

__all__ = ["SummarySize"]

_LEAST = 128  # tokens of an addition: less is no summary
_NAMES = 3  # tokens of names for one of the addition
_REWRITTEN = 0.4  # what is left of a full summary's text, and of its names, when it is written anew
_NAMES_LEFT = 0.6


@dataclass(frozen=True, slots=True)
class SummarySize:
    """Bounds in tokens.

    Attributes:
        text: On what the model writes, all additions together.
        names: On the names that code adds to it.
        condensed: Tokens that go for one that is added.
    """

    text: int
    names: int
    condensed: int

    @classmethod
    def of(cls, view: ContextView, window: int | None = None) -> SummarySize:
        """As configured, or less in a small window.

        Args:
            view: The projection.
            window: The summariser's own context window: it reads the summary too. None: as large.
        """
        config = view.policy.compaction or CompactionConfig()
        most = view.budget.conversation // 8
        names = most if config.max_names_tokens < 0 else min(config.max_names_tokens, most)
        text = max(64, min(config.max_summary_tokens, most))
        if window is not None:
            text = min(text, max(1, window // 4))
        return cls(text, max(0, names), config.tokens_per_added)

    @property
    def rewritten(self) -> int:
        """Bound on a full summary's text when it is written anew: additions need room again."""
        return max(min(64, self.text), int(self.text * _REWRITTEN))

    @property
    def names_left(self) -> int:
        """Bound on the names that such a summary keeps."""
        return int(self.names * _NAMES_LEFT)

    def addition(self, removed: int) -> int:
        """Return the bound on what is added for messages of that many tokens."""
        return max(1, min(self.text // 3, max(_LEAST, removed // self.condensed)))

    def names_added(self, removed: int) -> int:
        """Return the bound on the names that are added with it."""
        return min(self.names, _NAMES * self.addition(removed))
