"""The tables of the comparison: cost, grounding, where the cost goes, and every session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..cost import Cost
from .played import Case, Played, cheapest, mean
from .result import Cell, Table

__all__ = ["cost_table", "grounding_table", "sessions_table", "shares_table"]


def cost_table(played: Sequence[Played], groups: Sequence[str]) -> Table:
    """Return cost by group of sessions, and against the cheapest peer that counts."""
    best = cheapest(played, groups)
    rows: list[list[Cell]] = []
    for one in played:
        every = one.ratio(groups)
        rows.append(
            [
                one.who.name if one.who.counted or one is played[0] else f"({one.who.name})",
                *(one.ratio([group]) for group in groups),
                every,
                every / best[0] if every is not None and best else None,
                sum(cost.above_window for cost in one.all(groups)),
            ]
        )
    if best:
        low = [cheapest(played, [group]) for group in groups]
        own = [played[0].ratio([group]) for group in groups]
        rows.append(
            [
                "longthread ÷ cheapest peer",
                *(a / b[0] if a is not None and b else None for a, b in zip(own, low, strict=True)),
                (played[0].ratio(groups) or 0.0) / best[0],
                None,
                None,
            ]
        )
    title = "Cost against sending everything"
    if any(not one.who.counted for one in played[1:]):
        title += " (in brackets: loses the conversation, not counted as a peer)"
    return Table(title, ["", *groups, "mean", "÷ cheapest peer", "above the window"], rows)


def grounding_table(played: Sequence[Played], groups: Sequence[str]) -> Table:
    """Return the share of used identifiers that was in the prompt, by group."""
    rows: list[list[Cell]] = [
        [one.who.name, *(one.grounding([group]) for group in groups), one.grounding(groups)]
        for one in played
    ]
    return Table("Grounding", ["", *groups, "all"], rows)


def shares_table(played: Sequence[Played], groups: Sequence[str]) -> Table:
    """Return where the cost goes, as shares of sending everything, and how often it is cut."""
    shares: dict[str, Callable[[Cost], float]] = {
        "answers": lambda cost: cost.answers,
        "cached": lambda cost: cost.cached,
        "new": lambda cost: cost.new,
        "summaries": lambda cost: cost.summaries,
        "re-reads": lambda cost: cost.rereads,
    }
    rows: list[list[Cell]] = []
    for one in played:
        costs = one.all(groups)
        cells: list[Cell] = [
            mean([share(cost) / cost.unmanaged for cost in costs]) if costs else None
            for share in shares.values()
        ]
        counts = [sum(cost.compactions for cost in costs), sum(cost.maskings for cost in costs)]
        rows.append([one.who.name, *cells, *counts])
    title = "Where the cost goes, as shares of sending everything"
    return Table(title, ["", *shares, "compactions", "masked"], rows)


def sessions_table(played: Sequence[Played], sessions: Mapping[str, Sequence[Case]]) -> Table:
    """Return every session: how long it is, and what it cost us and the cheapest peer."""
    rows: list[list[Cell]] = []
    for group, members in sessions.items():
        for at, case in enumerate(members):
            own = played[0].costs[group][at]
            peers = [
                (one.costs[group][at].ratio, one.who.name)
                for one in played
                if one.who.counted and not one.failed
            ]
            low, name = min(peers, default=(None, None))
            rows.append(
                [
                    case.session.path.stem,
                    case.session.tokens,
                    len(case.session.steps),
                    case.window,
                    own.ratio,
                    low,
                    name,
                    own.ratio / low if low else None,
                    1 - own.missing / own.used if own.used else None,
                ]
            )
    columns = ["session", "tokens", "requests", "window", "longthread", "cheapest peer", "which"]
    return Table("Session by session", [*columns, "ratio", "grounding"], rows)
