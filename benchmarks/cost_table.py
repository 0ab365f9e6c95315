"""Several settings on several sessions, as tables of cost and grounding; shared by benchmarks."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from longthread import CompactionConfig, MaskingConfig, ToolResultEvictionConfig
from longthread.apps.replay import Session, default_window, find_sessions, read_session
from longthread.state.tokenizer import load_tokenizer

from .cost import Cost, session_cost
from .sessions import KINDS, generated

__all__ = ["Case", "Setting", "add_arguments", "cases", "print_costs", "print_facts"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of a table: a name and how the context is managed."""

    name: str
    masking: MaskingConfig | None = field(default_factory=MaskingConfig)
    compaction: CompactionConfig | None = field(default_factory=CompactionConfig)
    eviction: ToolResultEvictionConfig | None = field(default_factory=ToolResultEvictionConfig)


@dataclass(frozen=True, slots=True)
class Case:
    """A session, and the column that it counts in."""

    group: str
    session: Session


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say which sessions are played."""
    parser.add_argument("recorded", nargs="*", help="recorded sessions: .jsonl files or folders")
    parser.add_argument("--seeds", type=int, nargs="*", help="of the generated sessions")
    parser.add_argument("--tokens", type=int, help="length of a generated session")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--full", action="store_true", help="more settings, longer sessions")


def cases(options: argparse.Namespace) -> list[Case]:
    """Return the sessions that were asked for; fewer and shorter ones without `--full`.

    Raises:
        SystemExit: None were.
    """
    seeds = options.seeds if options.seeds is not None else [1, 2, 3] if options.full else [1]
    tokens = options.tokens or (100_000 if options.full else 40_000)
    found = find_sessions(options.recorded) if options.recorded else []
    if not found and not seeds:
        raise SystemExit("no sessions to play: name recordings, or give --seeds a number")
    return [
        *(Case("recorded", read_session(path)) for path in found),
        *(
            Case(kind, generated(kind, seed=seed, tokens=tokens))
            for kind in options.kinds
            for seed in seeds
        ),
    ]


def print_facts(sessions: Sequence[Case]) -> None:
    """Print what the figures depend on."""
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("langgraph", "langchain-core")
    )
    print(f"Python {sys.version.split()[0]}, {versions}, tokens: {load_tokenizer().name}")
    for case in sessions:
        session = case.session
        print(f"{case.group}: {session.path.stem}, {session.tokens:,} tokens", end=", ")
        print(f"{len(session.steps)} requests, window {default_window(session):,}")


def print_costs(
    title: str,
    settings: Sequence[Setting],
    sessions: Sequence[Case],
    window: Callable[[Session], int],
) -> None:
    """Play every session with every setting and print a table.

    Each column is the mean of its sessions; the means are of the columns, so that no kind of
    session outweighs another. `×first` is the mean cost against the first setting's.

    Args:
        title: Printed above.
        settings: The lines.
        sessions: What is played.
        window: The context window for a session.
    """
    groups = list(dict.fromkeys(case.group for case in sessions))
    print(f"\n{title}\n")
    header = ["setting", *groups, "mean", "×first", *(f"g:{group}" for group in groups)]
    print("| " + " | ".join([*header, "new", "summaries", "masked", "compacted", "above"]) + " |")
    print("|---" * (len(header) + 5) + "|")
    first = 0.0
    for setting in settings:
        costs: dict[str, list[Cost]] = {group: [] for group in groups}
        for case in sessions:
            costs[case.group].append(
                session_cost(
                    case.session,
                    window=window(case.session),
                    masking=setting.masking,
                    compaction=setting.compaction,
                    eviction=setting.eviction,
                )
            )
        means = [_mean([cost.ratio for cost in costs[group]]) for group in groups]
        first = first or _mean(means)
        every = [cost for group in groups for cost in costs[group]]
        figures = [*means, _mean(means), _mean(means) / first]
        figures += [Cost.grounding(costs[group]) for group in groups]
        figures += [_mean([c.new / c.unmanaged for c in every])]
        figures += [_mean([c.summaries / c.unmanaged for c in every])]
        counts = [sum(c.maskings for c in every), sum(c.compactions for c in every)]
        row = [setting.name, *(f"{figure:.3f}" for figure in figures), *map(str, counts)]
        print("| " + " | ".join([*row, str(sum(c.above_window for c in every))]) + " |", flush=True)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
