"""The same settings on sessions with other seeds: whether they were tuned to the data at hand."""

from __future__ import annotations

from collections.abc import Sequence

from longthread.apps.replay import default_window

from ..contest import missing_peers, ours, peers
from ..sessions import generated
from .options import Options
from .played import Case, Played, cheapest, play_all
from .result import Cell, Figure, Result, Table

__all__ = ["run"]

HAND, OTHER = "at hand", "other"


def cases(options: Options) -> dict[str, list[Case]]:
    """Return sessions of each kind with the seeds at hand, and as many with other ones.

    Small ones are two and a half windows long, whatever that makes of the window.
    """
    count = options.size(1, 2, 10)
    tokens = options.tokens[0] if options.tokens else options.size(9_000, 20_000, 40_000)
    first = {HAND: 1, OTHER: 101}
    found: dict[str, list[Case]] = {}
    for which, seed in first.items():
        for kind in options.kinds:
            sessions = [generated(kind, seed=seed + n, tokens=tokens) for n in range(count)]
            found[f"{kind}, {which}"] = [
                Case(one, default_window(one) if options.full else one.tokens * 2 // 5)
                for one in sessions
            ]
    return found


def run(options: Options) -> Result:
    """Play both lots; with `--full` ten of each kind, by the peers too."""
    sessions = cases(options)
    played = [play_all(ours(), sessions, failures=False)]
    if options.full:
        beside = peers(summary_tokens=options.peer_summary_tokens)
        played += [play_all(who, sessions) for who in beside if who.counted]
    result = Result("seeds", "Other seeds")
    hand = [group for group in sessions if group.endswith(HAND)]
    other = [group for group in sessions if group.endswith(OTHER)]
    count = len(sessions[hand[0]])
    change = _change(played[0].ratio(hand), played[0].ratio(other))
    result.figures.append(
        Figure(
            f"cost with {count} other seeds, change",
            change,
            at_most=0.05,
            official=options.full,
            note=f"{played[0].ratio(hand):.3f} → {played[0].ratio(other):.3f}",
        )
    )
    official = options.peer_summary_tokens is None
    result.figures += _against_peers(played, hand, other, official)
    rows: list[list[Cell]] = []
    for one in played:
        for was, now in zip(hand, other, strict=True):
            rows.append(_row(f"{one.who.name}, {was.partition(',')[0]}", one, [was], [now]))
        rows.append(_row(f"{one.who.name}, mean", one, hand, other))
    columns = ["", "seeds at hand", "other seeds", "change", "grounding", "other seeds"]
    result.tables.append(Table("Cost against sending everything", columns, rows))
    result.notes = [
        f"{count} sessions a kind with seeds from 1, and as many from 101, by which no "
        "setting was chosen.",
        *(missing_peers() if options.full else ["The peers play along with --full."]),
    ]
    return result


def _against_peers(
    played: Sequence[Played], hand: Sequence[str], other: Sequence[str], official: bool
) -> list[Figure]:
    was, now = cheapest(played, hand), cheapest(played, other)
    own = played[0].ratio(hand), played[0].ratio(other)
    if not was or not now or own[0] is None or own[1] is None:
        return []
    before, after = own[0] / was[0], own[1] / now[0]
    return [
        Figure(
            "cost against the cheapest peer with other seeds, change",
            _change(before, after),
            at_most=0.05,
            official=official,
            note=f"{before:.3f} ({was[1]}) → {after:.3f} ({now[1]})",
        )
    ]


def _change(before: float | None, after: float | None) -> float:
    assert before is not None
    assert after is not None
    return abs(after / before - 1)


def _row(name: str, one: Played, hand: Sequence[str], other: Sequence[str]) -> list[Cell]:
    was, now = one.ratio(hand), one.ratio(other)
    change = f"{now / was - 1:+.1%}" if was is not None and now is not None else None
    return [name, was, now, change, one.grounding(hand), one.grounding(other)]
