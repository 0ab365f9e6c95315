"""What a replay found out: request by request, event by event, and in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .pricing import Priced
from .sessions import Session

__all__ = ["Event", "Events", "Measured", "Replay", "Totals"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One request, as the graph made it and as it would be with the whole history.

    Attributes:
        parts: Tokens by part: system, tools, reference, summary, messages.
        masked: Tokens of the shown part of the history that masks keep out.
        evicted: Tokens that evictions keep out.
        managed: What the request took.
        unmanaged: What the same request takes with everything that was said before.
    """

    parts: Mapping[str, int]
    masked: int
    evicted: int
    managed: Priced
    unmanaged: Priced


@dataclass(frozen=True, slots=True)
class Event:
    """Something that the graph did to the context.

    Attributes:
        request: Number of the request that it came before, counted from 1.
        kind: `eviction`, `masking`, `compaction`, or another event of the graph.
        facts: What the graph says about it.
    """

    request: int
    kind: str
    facts: Mapping[str, Any]


@dataclass(slots=True)
class Totals:
    """Sums over requests; tokens, and cost as in `Prices`."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    above_window: int = 0
    largest: int = 0
    summaries: int = 0

    @property
    def new(self) -> int:
        """Input tokens that were not cached."""
        return self.tokens - self.cached

    def add(self, priced: Priced, *, window: int | None) -> None:
        """Add a request, or, without a window to hold it against, a summary."""
        self.tokens += priced.tokens
        self.cached += priced.cached
        self.output += priced.output
        self.cost += priced.cost
        if window is None:
            self.summaries += 1
        else:
            self.requests += 1
            self.above_window += priced.tokens > window
            self.largest = max(self.largest, priced.tokens)

    def add_all(self, other: Totals) -> None:
        """Add the sums of another session."""
        for name in ("requests", "tokens", "cached", "output", "cost", "above_window", "summaries"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest = max(self.largest, other.largest)


@dataclass(slots=True)
class Events:
    """How often the context was changed, and by how much, in tokens."""

    evictions: int = 0
    evicted_chars: int = 0
    maskings: int = 0
    masking_freed: int = 0
    compactions: int = 0
    compaction_before: int = 0
    compaction_after: int = 0

    @classmethod
    def of(cls, events: Iterable[Event]) -> Events:
        """Sum events up."""
        sums = cls()
        for event in events:
            if event.kind == "eviction":
                sums.evictions += 1
                sums.evicted_chars += event.facts["chars"]
            elif event.kind == "masking":
                sums.maskings += 1
                sums.masking_freed += event.facts["tokens_freed"]
            elif event.kind == "compaction":
                sums.compactions += 1
                sums.compaction_before += event.facts["tokens_before"]
                sums.compaction_after += event.facts["tokens_after"]
        return sums


@dataclass(slots=True)
class Replay:
    """A session, played.

    Attributes:
        session: What was played.
        window: The context window, in tokens.
        requests: Every model request, in order.
        events: What the graph did to the context, in order.
        summaries: The requests to the summariser.
        seconds: How long it took.
    """

    session: Session
    window: int
    requests: list[Measured] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    summaries: list[Priced] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def managed(self) -> Totals:
        """Sums of the session as the graph played it, summaries included."""
        totals = Totals()
        for request in self.requests:
            totals.add(request.managed, window=self.window)
        for summary in self.summaries:
            totals.add(summary, window=None)
        return totals

    @property
    def unmanaged(self) -> Totals:
        """Sums of the same session with the whole history in every request."""
        totals = Totals()
        for request in self.requests:
            totals.add(request.unmanaged, window=self.window)
        return totals
