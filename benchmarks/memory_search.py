"""Time of `memory_search` by kind of query, over many years of daily ledgers.

    python -m benchmarks.memory_search [--megabytes 100] [--days 1000] [--repeat 20] [--plain]

Writes ledgers of made-up prose, with a few words in other scripts in some of them, and searches
them the way the tool does. The first search reads and folds every file; the table is about those
after it, each kind of query with words of its own every time. Figures are milliseconds of the clock
and of the processor: on a busy machine the clock also counts the waiting.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from importlib.util import find_spec
from itertools import accumulate

from longthread.stores.local.workspace import LocalWorkspace
from longthread.stores.matching import compile_query
from longthread.stores.memory.memory_search import search_memory
from longthread.stores.workspace import Owner, ScopedWorkspace

_LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
_FOREIGN = ("Straße", "İstanbul", "東京", "北京", "café", "“blue”", "—", "😀")


def vocabulary(chance: random.Random, size: int = 40_000) -> list[str]:
    """Return made-up words, the most frequent first."""
    weights = list(accumulate(range(len(_LETTERS), 0, -1)))

    def word() -> str:
        return "".join(chance.choices(_LETTERS, cum_weights=weights, k=chance.randint(3, 10)))

    return [word() for _ in range(size)]


def write_ledgers(
    files: ScopedWorkspace, words: list[str], chance: random.Random, *, megabytes: float, days: int
) -> None:
    """Write a ledger for each day, together so many megabytes; every tenth one has a needle."""
    # Words of a language: the n-th is used about 1/n as often as the first.
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    length = int(megabytes * 1_000_000 / days)
    for number in range(days):
        lines = [f"# {_day(number)}\n"]
        size = len(lines[0])
        while size < length:
            chosen = chance.choices(words, cum_weights=weights, k=14)
            if number % 2 and chance.random() < 0.1:
                chosen.append(chance.choice(_FOREIGN))
            lines.append(f"- {' '.join(chosen).capitalize()} {chance.randrange(10_000)}.\n")
            size += len(lines[-1])
        if number % 10 == 0:
            lines.insert(len(lines) // 2, f"- The Needle of day {number} uses port 5051.\n")
        files.write_text(f"memory/{_day(number)}.md", "".join(lines))


def _day(number: int) -> str:
    return (date(2020, 1, 1) + timedelta(days=number)).isoformat()


def queries(
    words: list[str], chance: random.Random, days: int
) -> dict[str, Callable[[], tuple[str, str]]]:
    """Return for each kind of query how to make one: text and mode."""

    def common(count: int) -> str:
        return " ".join(chance.sample(words[:200], k=count))

    def rare(count: int) -> str:
        return " ".join(chance.sample(words[-20_000:], k=count))

    def absent(count: int) -> str:
        return " ".join(f"{word}q{chance.randrange(9)}z" for word in rare(count).split())

    return {
        "phrase, frequent": lambda: (common(1), "phrase"),
        "phrase, rare": lambda: (rare(1), "phrase"),
        "phrase, in one ledger": lambda: (
            f"needle OF day {chance.randrange(0, days, 10)} uses",
            "phrase",
        ),
        "phrase, nowhere": lambda: (f"{common(2)} {absent(1)}", "phrase"),
        "two characters, CJK": lambda: (chance.choice(("東京", "大阪")), "phrase"),
        "all, frequent words": lambda: (common(4), "all"),
        "all, rare words": lambda: (rare(3), "all"),
        "any, rare words": lambda: (rare(3), "any"),
        "any, nowhere": lambda: (absent(3), "any"),
    }


def timed(files: ScopedWorkspace, query: str, mode: str) -> tuple[float, float]:
    """Return the milliseconds that one search takes, by the clock and by the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    search_memory(files, compile_query(query, mode))
    return (time.perf_counter() - clock) * 1_000, (time.process_time() - processor) * 1_000


def row(kind: str, times: list[tuple[float, float]]) -> str:
    """Return one line of the table."""
    cells = "".join(
        f"{statistics.median(values):>9.1f}{percentile(values):>9.1f}"
        for values in (list(column) for column in zip(*times, strict=True))
    )
    return f"{kind:<24}{cells}"


def percentile(values: list[float]) -> float:
    """Return the value that 95 of 100 do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--days", type=int, default=1_000)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--plain", action="store_true", help="search as without stringzilla")
    arguments = parser.parse_args()
    if arguments.plain:
        sys.modules["stringzilla"] = None  # type: ignore[assignment]
    chance = random.Random(7)
    words = vocabulary(chance)
    folder = tempfile.mkdtemp(prefix="longthread-bench-")
    try:
        files = LocalWorkspace(folder).scoped(Owner(None, "agent"))
        write_ledgers(files, words, chance, megabytes=arguments.megabytes, days=arguments.days)
        library = "with" if find_spec("stringzilla") and not arguments.plain else "without"
        print(f"{arguments.megabytes:g} MB in {arguments.days} ledgers, {library} stringzilla")
        print(f"first search: {timed(files, 'nowhere at all', 'phrase')[0]:,.0f} ms")
        everything: list[tuple[float, float]] = []
        print(f"{'query':<24}{'median':>9}{'p95':>9}{'CPU':>9}{'p95':>9}   ms")
        for kind, make in queries(words, chance, arguments.days).items():
            times = [timed(files, *make()) for _ in range(arguments.repeat)]
            everything += times
            print(row(kind, times))
        print(row("all of them", everything))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
