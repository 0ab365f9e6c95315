"""What a series of requests costs when the provider caches prefixes.

A request's prefix that equals the previous request's is read from the cache: messages that are the
same, and of the first that differs its beginning, in steps of 128 tokens, as providers do it that
cache by themselves. A prefix below 1,024 tokens is not cached by any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage

from ...state.counting import count_message, count_text, text_of
from ...state.payback import CACHED, NEW, OUTPUT

__all__ = ["Priced", "Prices", "PromptMeter"]


_STEP = 128


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in units of one uncached input token of a provider without a cache.

    Attributes:
        cached: A token read from the cache.
        new: A token that is read anew and written to the cache.
        output: A token of the answer.
        cacheable: Tokens from which on a prefix is cached.
    """

    cached: float = CACHED
    new: float = NEW
    output: float = OUTPUT
    cacheable: int = 1_024

    def cost(self, *, cached: int, new: int, output: int) -> float:
        """Return the price of one request, all figures in tokens."""
        return self.cached * cached + self.new * new + self.output * output


@dataclass(frozen=True, slots=True)
class Priced:
    """What one request took, in tokens, and its cost.

    Attributes:
        tokens: The whole request.
        cached: Its tokens that came from the cache.
        output: The answer.
        cost: See `Prices`.
    """

    tokens: int
    cached: int
    output: int
    cost: float

    @property
    def new(self) -> int:
        """Tokens that the provider had to read."""
        return self.tokens - self.cached


class PromptMeter:
    """Counts and prices the requests of one conversation, each against the one before it.

    Args:
        tools: Tokens of the tool schemas, which stand before the messages in every request.
        prices: What a token costs.
    """

    def __init__(self, *, tools: int = 0, prices: Prices | None = None) -> None:
        self.tools = tools
        self.prices = prices or Prices()
        self._messages: list[BaseMessage] = []
        self._tokens: list[int] = []
        self._asked = False

    def measure(self, request: Sequence[BaseMessage], answer: BaseMessage) -> Priced:
        """Price the next request and remember it.

        Args:
            request: The messages that the model was sent.
            answer: What it answered.
        """
        same = self._same(request)
        shared = self._tokens[:same]
        rest = [_count(message) for message in request[same:]]
        prefix = self.tools + sum(shared) + self._begun(request, same) if self._asked else 0
        cached = prefix if prefix >= self.prices.cacheable else 0
        tokens = self.tools + sum(shared) + sum(rest)
        self._messages, self._tokens, self._asked = list(request), shared + rest, True
        return self._priced(tokens, cached, answer)

    def measure_apart(self, request: Sequence[BaseMessage], answer: BaseMessage) -> Priced:
        """Price a request of its own, without tools and without a cached prefix: a summary, say."""
        return self._priced(sum(map(_count, request)), 0, answer)

    def measure_aside(self, request: Sequence[BaseMessage], answer: BaseMessage) -> Priced:
        """Price a request on the side that begins as the last one did, tools and all; forget it."""
        same = self._same(request)
        prefix = self.tools + sum(self._tokens[:same]) if self._asked else 0
        cached = prefix if prefix >= self.prices.cacheable else 0
        return self._priced(self.tools + sum(map(_count, request)), cached, answer)

    def _same(self, request: Sequence[BaseMessage]) -> int:
        """Return how many messages at its beginning are those of the last request."""
        same = 0
        for before, now in zip(self._messages, request, strict=False):
            if not _equal(before, now):
                break
            same += 1
        return same

    def _begun(self, request: Sequence[BaseMessage], same: int) -> int:
        """Return the tokens that the first message that differs has in common with its like."""
        if same >= min(len(request), len(self._messages)):
            return 0
        before, now = self._messages[same], request[same]
        if before.type != now.type:
            return 0
        text, other = text_of(now.content), text_of(before.content)
        pairs = enumerate(zip(text, other, strict=False))
        common = next((at for at, (a, b) in pairs if a != b), min(len(text), len(other)))
        return count_text(text[:common]) // _STEP * _STEP

    def _priced(self, tokens: int, cached: int, answer: BaseMessage) -> Priced:
        output = _count(answer)
        cost = self.prices.cost(cached=cached, new=tokens - cached, output=output)
        return Priced(tokens, cached, output, cost)


def _equal(a: BaseMessage, b: BaseMessage) -> bool:
    """Whether a provider gets the same for both: ids of messages are not sent."""
    if a is b:
        return True
    if a.type != b.type or a.content != b.content:
        return False
    if isinstance(a, AIMessage) and isinstance(b, AIMessage):
        return a.tool_calls == b.tool_calls and a.invalid_tool_calls == b.invalid_tool_calls
    if isinstance(a, ToolMessage) and isinstance(b, ToolMessage):
        return a.tool_call_id == b.tool_call_id
    return True


def _count(message: BaseMessage) -> int:
    # Models are typed to get `BaseMessage`s; only those of `AnyMessage` are ever sent.
    return count_message(cast(AnyMessage, message))
