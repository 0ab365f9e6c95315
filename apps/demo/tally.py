"""What has happened so far, added up from the events."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..replay.measures import Totals
from ..replay.pricing import Priced
from .session import LIMIT, Event

__all__ = ["NODES", "Tally"]

NODES = (
    *("recall", "eviction", "masking", "flush", "compaction"),
    *("reasoning", "tools", "overflow_retry", "consolidation"),
)


@dataclass(slots=True)
class Tally:
    """Sums over the events.

    Attributes:
        thread: The thread whose requests are compared with the unmanaged session.
        visits: How often each node was visited.
        reasons: Why, for each node, without repetitions.
        order: The nodes in the order of the visits.
        node: The node that runs.
        pid: The process that it runs in.
        context: The context when the last node started.
        facts: What the graph said about itself, by type of event.
        managed: The requests as they were made; those on the side are counted as summaries.
        unmanaged: The agent's requests with every message in each.
        refused: Tokens of each request that the provider refused.
        refused_aside: The same for requests on the side.
        sent: Tokens of each request that the provider answered, the agent's own.
    """

    thread: str
    visits: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, dict[str, str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    node: str = ""
    pid: int = 0
    context: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    managed: Totals = field(default_factory=Totals)
    unmanaged: Totals = field(default_factory=Totals)
    refused: list[int] = field(default_factory=list)
    refused_aside: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """Add an event."""
        self.pid = event.get("pid", self.pid)
        match event["kind"]:
            case "node":
                self._visited(event["node"], event["why"])
                self.context = event["context"] or self.context
            case "event":
                self.facts.setdefault(event["facts"]["type"], []).append(event["facts"])
            case "request" if event["thread"] == self.thread:
                self._asked(event)

    def _visited(self, node: str, why: str) -> None:
        self.node = node
        self.order.append(node)
        self.visits[node] += 1
        # The same reason with other figures or another tool is the same reason.
        kind = re.sub(r"\d[\d,]*", "#", why).partition(":")[0]
        self.reasons.setdefault(node, {}).setdefault(kind, why)

    def _asked(self, event: Event) -> None:
        taken = Priced(**event["taken"])
        if event["refused"]:
            (self.refused if event["purpose"] == "agent" else self.refused_aside).append(
                taken.tokens
            )
            return
        if event["purpose"] != "agent":
            self.managed.add(taken, window=None)
            return
        self.sent.append(taken.tokens)
        self.managed.add(taken, window=LIMIT)
        self.unmanaged.add(Priced(**event["whole"]), window=LIMIT)
