"""The closing report: the comparison, the nodes, the claims, the files, and what to try next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .expectations import Expectation, evicted_file, ledgers
from .places import Places
from .session import BELIEVED, LIMIT
from .story import STYLES
from .tally import NODES, Tally

__all__ = ["print_closing"]


def print_closing(
    console: Console, places: Places, tally: Tally, claims: Sequence[Expectation]
) -> None:
    """Print the report.

    Args:
        console: Where to print.
        places: Where everything is.
        tally: What happened.
        claims: What was expected, and whether it is so.
    """
    console.print()
    console.print(_comparison(tally))
    console.print(
        "The graph was told a window of "
        f"{BELIEVED:,} tokens, the provider takes {LIMIT:,}. Cost in uncached input tokens: cached "
        "0.1, new 1.25, output 5; work on the side included. Unmanaged requests above the window "
        "are counted as if the provider had taken them.",
        style="dim",
        highlight=False,
    )
    console.print()
    console.print(_nodes(tally))
    console.print()
    for claim in claims:
        mark = Text("✓ ", style="green") if claim.holds else Text("✗ ", style="bold red")
        console.print(mark + Text(claim.claim, style="" if claim.holds else "bold red"))
    console.print()
    for what, path in _files(places):
        # One path a line, however long, so that it can be copied.
        console.print(Text.assemble((f"{what:<16}", "bold"), str(path)), soft_wrap=True)
    console.print()
    console.print(
        "Next: longthread replay FILE…  shows the same figures for a session of your own\n"
        "      README.md                the idea in one diagram, and a first graph in 20 lines",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    failed = sum(not claim.holds for claim in claims)
    if failed:
        console.print(f"\n{failed} of {len(claims)} claims do not hold.", style="bold red")


def _comparison(tally: Tally) -> Table:
    """This session beside the same one with every message in every request."""
    ours, whole = tally.managed, tally.unmanaged
    table = Table(title="This session and the same session unmanaged", title_justify="left")
    for name in ("", "longthread", "unmanaged", "ratio"):
        table.add_column(name, justify="right" if name else "left")
    refused = len(tally.refused) + len(tally.refused_aside)
    aside = f"{ours.requests} + {ours.summaries} on the side"
    table.add_row("requests answered", aside, f"{whole.requests}", "")
    table.add_row("refused as too long", f"{refused}", "", "")
    _row(table, "input tokens", ours.tokens, whole.tokens)
    _row(table, "output tokens", ours.output, whole.output)
    table.add_row(
        "cached share",
        f"{_share(ours.cached, ours.tokens):.0%}",
        f"{_share(whole.cached, whole.tokens):.0%}",
        "",
    )
    _row(table, "cost, cache-aware", round(ours.cost), round(whole.cost))
    largest = max(ours.largest, *tally.refused, 0) if tally.refused else ours.largest
    _row(table, "largest request", largest, whole.largest)
    above = ours.above_window + refused
    table.add_row("requests above the window", f"{above}", f"{whole.above_window}", "")
    return table


def _row(table: Table, name: str, ours: int, whole: int) -> None:
    table.add_row(name, f"{ours:,}", f"{whole:,}", f"{_share(whole, ours):.1f} ×")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _nodes(tally: Tally) -> Table:
    table = Table(title="Every node, and why", title_justify="left", show_header=False)
    table.add_column("node")
    table.add_column("visits", justify="right")
    table.add_column("why", overflow="fold")
    for node in NODES:
        reasons = list(tally.reasons.get(node, {}).values())
        shown = "\n".join(reasons) if reasons else "NOT VISITED"
        table.add_row(Text(node, style=STYLES[node]), str(tally.visits[node]), shown)
    return table


def _files(places: Places) -> list[tuple[str, Path | str]]:
    ledger = ledgers(places)
    return [
        ("ledger", ledger[-1] if ledger else "none"),
        ("memory", places.agent_files / "MEMORY.md"),
        ("evicted result", evicted_file(places) or "none"),
        ("threads, SQLite", places.database),
        ("tool calls", places.run_log),
        ("the project", places.project),
    ]
