"""Sessions, played by several contestants, and what they all came to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longthread.apps.replay import Session

from ..contest import Contestant
from ..cost import Cost
from ..quiet import quiet

__all__ = ["Case", "Played", "cheapest", "mean", "play_all"]


@dataclass(frozen=True, slots=True)
class Case:
    """A session and the window that it is played in."""

    session: Session
    window: int

    @property
    def long(self) -> bool:
        """Whether it is more than two windows long, as the targets ask for."""
        return self.session.tokens > 2 * self.window


@dataclass(slots=True)
class Played:
    """All sessions, played by one contestant.

    Attributes:
        who: The contestant.
        costs: What each session cost, by group of sessions.
        failed: What went wrong, by name of the session.
    """

    who: Contestant
    costs: dict[str, list[Cost]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def all(self, groups: Sequence[str]) -> list[Cost]:
        """Return the costs of every session in those groups."""
        return [cost for group in groups for cost in self.costs[group]]

    def ratio(self, groups: Sequence[str]) -> float | None:
        """Return the cost against sending everything: the mean of each group, then of the groups.

        None if there is no such group, or if a session of one could not be played.
        """
        if not groups or self.failed:
            return None
        return mean([mean([cost.ratio for cost in self.costs[group]]) for group in groups])

    def grounding(self, groups: Sequence[str]) -> float | None:
        """Return the share of used identifiers that was in the prompt."""
        return Cost.grounding(self.all(groups)) if groups and not self.failed else None


def mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return sum(values) / len(values)


def cheapest(played: Sequence[Played], groups: Sequence[str]) -> tuple[float, str] | None:
    """Return the lowest cost among the peers that count, and whose it is; None without any."""
    found = [
        (ratio, one.who.name)
        for one in played
        if one.who.counted and (ratio := one.ratio(groups)) is not None
    ]
    return min(found, default=None)


def play_all(
    who: Contestant, sessions: Mapping[str, Sequence[Case]], *, failures: bool = True
) -> Played:
    """Let one contestant play everything.

    Args:
        who: The contestant.
        sessions: What is played, by group.
        failures: Note what cannot be played instead of raising.
    """
    played = Played(who)
    for group, members in sessions.items():
        played.costs[group] = []
        for case in members:
            print(f"… {who.name}: {case.session.path.stem}", file=sys.stderr, flush=True)
            try:
                with quiet(logging.CRITICAL):
                    played.costs[group].append(who.play(case.session, case.window))
            except Exception as error:
                if not failures:
                    raise
                played.failed[case.session.path.name] = f"{type(error).__name__}: {error}"
    return played
