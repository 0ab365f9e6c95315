"""How long a summary may become, and how long what is added to it."""

from __future__ import annotations

from dataclasses import dataclass

from .config import CompactionConfig
from .projection import ContextView

__all__ = ["SummarySize"]

_PER_TOKEN = 30  # tokens that go for one that is added
_ADDED = (128, 512)
_NAMES = 2  # tokens of names for one of the addition
_REWRITTEN = 0.4  # what is left of a full summary's text, and of its names, when it is written anew
_NAMES_LEFT = 0.6


@dataclass(frozen=True, slots=True)
class SummarySize:
    """Bounds in tokens.

    Attributes:
        text: On what the model writes, all additions together.
        names: On the names that code adds to it.
    """

    text: int
    names: int

    @classmethod
    def of(cls, view: ContextView) -> SummarySize:
        """As configured, or less in a small window."""
        config = view.policy.compaction or CompactionConfig()
        budget = view.budget.conversation
        names = budget // 12 if config.max_names_tokens < 0 else config.max_names_tokens
        return cls(
            max(64, min(config.max_summary_tokens, budget // 8)), max(0, min(names, budget // 8))
        )

    @property
    def whole(self) -> int:
        """Bound on the summary."""
        return self.text + self.names

    @property
    def rewritten(self) -> int:
        """Bound on a full summary's text when it is written anew: additions need room again."""
        return max(64, int(self.text * _REWRITTEN))

    @property
    def names_left(self) -> int:
        """Bound on the names that such a summary keeps."""
        return int(self.names * _NAMES_LEFT)

    def addition(self, removed: int) -> int:
        """Return the bound on what is added for messages of that many tokens."""
        least, most = _ADDED
        return max(1, min(self.text // 3, most, max(least, removed // _PER_TOKEN)))

    def names_added(self, removed: int) -> int:
        """Return the bound on the names that are added with it."""
        return min(self.names, _NAMES * self.addition(removed))
