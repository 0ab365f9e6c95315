"""Counting the tokens that models on the side use: summariser, extraction, consolidation."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from langchain_core.messages import AIMessage

__all__ = ["TokensUsed"]


@dataclass(slots=True)
class TokensUsed:
    """What the providers counted for a number of requests.

    Attributes:
        input_tokens: Tokens sent, cached ones included.
        output_tokens: Tokens answered.
    """

    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, other: TokensUsed | AIMessage) -> None:
        """Add those of one answer, nothing if its provider does not count, or those of others."""
        if isinstance(other, TokensUsed):
            self.input_tokens += other.input_tokens
            self.output_tokens += other.output_tokens
        elif other.usage_metadata:
            # An answer out of LangChain's cache may have a price and nothing else.
            self.input_tokens += other.usage_metadata.get("input_tokens", 0)
            self.output_tokens += other.usage_metadata.get("output_tokens", 0)

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name, for an event or a record."""
        return asdict(self)
