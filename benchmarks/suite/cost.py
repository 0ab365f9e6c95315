"""Cost and grounding beside the peers, on recorded and on generated sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from longthread.apps.replay import default_window, find_sessions, read_session

from ..contest import missing_peers, ours, peers
from ..sessions import generated
from .cost_plot import plot_costs
from .cost_tables import cost_table, grounding_table, sessions_table, shares_table
from .options import Options
from .played import Case, Played, cheapest, play_all
from .result import Figure, Result

__all__ = ["RECORDED", "run"]

RECORDED = "recorded"
LENGTHS = (40_000, 100_000, 200_000, 400_000)


def cases(options: Options) -> dict[str, list[Case]]:
    """Return the sessions to play, by group."""
    found: dict[str, list[Case]] = {}
    for path in find_sessions(options.recorded) if options.recorded else []:
        session = read_session(path)
        found.setdefault(RECORDED, []).append(Case(session, default_window(session)))
    lengths = options.tokens or ((12_000,) if options.tiny else LENGTHS[: options.size(1, 1, 4)])
    for kind in options.kinds:
        for tokens in lengths:
            for seed in options.seeds or (1,):
                session = generated(kind, seed=seed, tokens=tokens)
                window = 5_000 if options.tiny else default_window(session)
                found.setdefault(kind, []).append(Case(session, window))
    return found


def run(options: Options) -> Result:
    """Play every session with every contestant."""
    sessions = cases(options)
    played = [play_all(ours(), sessions, failures=False)]
    room = options.peer_summary_tokens
    beside = peers(all_settings=options.all_settings, summary_tokens=room)
    played += [play_all(who, sessions) for who in beside]
    groups = list(sessions)
    generated_groups = [group for group in groups if group != RECORDED]
    result = Result("cost", "Cost and grounding beside the peers")
    short = [case.session.path.name for g in groups for case in sessions[g] if not case.long]
    lost = any(one.failed for one in played if one.who.counted)
    official = not (options.tiny or short or missing_peers() or room or lost)
    for name in ([RECORDED], generated_groups):
        if set(name) <= set(groups) and name:
            title = RECORDED if name == [RECORDED] else "generated"
            result.figures += figures(f"{title} sessions", played, name, official)
    result.tables = [
        cost_table(played, groups),
        grounding_table(played, groups),
        shares_table(played, groups),
        sessions_table(played, sessions),
    ]
    result.notes = [
        "Cost is held against sending the whole history with every request. A column is the mean "
        "of its sessions, the mean that of the columns.",
        *(f"{one.who.name}: {one.who.setting}." for one in played),
        *missing_peers(),
        *(
            f"{one.who.name} could not play {name}: {why}"
            for one in played
            for name, why in one.failed.items()
        ),
    ]
    if room:
        result.notes.append(f"The peers' summaries have {room:,} tokens: no figure is a target's.")
    if short:
        result.notes.append(f"Not more than two windows long: {', '.join(short)}.")
    if RECORDED not in groups:
        result.notes.append("No recorded sessions: give files or a folder with --recorded.")
    result.data = {
        one.who.name: {
            group: [{**asdict(cost), "total": cost.total} for cost in costs]
            for group, costs in one.costs.items()
        }
        for one in played
    }
    result.plots["cost.png"] = lambda path: plot_costs(played, groups, path)
    return result


def figures(
    where: str, played: Sequence[Played], groups: Sequence[str], official: bool
) -> list[Figure]:
    """Return the figures that have targets; the first of the played is our own."""
    own = played[0]
    ratio, grounding = own.ratio(groups), own.grounding(groups)
    best = cheapest(played, groups)
    assert ratio is not None
    return [
        Figure(
            f"cost against the cheapest peer, {where}",
            ratio / best[0] if best else None,
            at_most=0.75,
            official=official,
            note=f"{ratio:.3f} against {best[0]:.3f} ({best[1]})" if best else "no peer has played",
        ),
        Figure(f"grounding, {where}", grounding, at_least=0.99, official=official),
        Figure(
            f"requests above the window, {where}",
            sum(cost.above_window for cost in own.all(groups)),
            at_most=0,
            official=official,
        ),
    ]
