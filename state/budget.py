"""How many tokens a request may take, and how many of them the conversation gets."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import ThreadBudgetError

__all__ = ["Budget"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The window and how it is divided, in tokens.

    Attributes:
        window: The context window in force.
        output_reserve: Kept free for the answer.
        overhead: What every request carries: system prompt, reference material, tool schemas.
    """

    window: int
    output_reserve: int
    overhead: int

    @classmethod
    def of(cls, window: int, *, output_reserve: int | None, overhead: int) -> Budget:
        """Divide a window; without a reserve of the model's own: an eighth, at most 4,096."""
        reserve = min(4_096, window // 8) if output_reserve is None else output_reserve
        return cls(window, reserve, overhead)

    @property
    def safety(self) -> int:
        """Kept free because estimates are estimates."""
        return self.window // 50

    @property
    def request_limit(self) -> int:
        """The most that a request may take."""
        return self.window - self.output_reserve - self.safety

    @property
    def conversation(self) -> int:
        """What is left for the conversation; may be less than nothing."""
        return self.request_limit - self.overhead

    def keep_tokens(self, configured: int) -> int:
        """The tail that a compaction keeps: -1 is dynamic, and never more than half the budget."""
        half = max(0, self.conversation // 2)
        if configured < 0:
            configured = min(8_000, max(1_000, self.conversation // 12))
        return min(configured, half)

    def check(self, **parts: int) -> None:
        """Raise if nothing is left for the conversation.

        Args:
            **parts: Tokens by name of part, for the message.

        Raises:
            ThreadBudgetError: Naming what takes how many tokens.
        """
        if self.conversation > 0:
            return
        taken = ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in parts.items())
        raise ThreadBudgetError(
            f"the context window of {self.window:,} tokens leaves no room for a conversation: "
            f"{taken}, reserved for the answer {self.output_reserve:,}, safety {self.safety:,}. "
            "Shorten the largest part, or use a model with a larger window (context_window=…)."
        )
