"""Run the benchmarks: `python -m benchmarks`, from the root of the clone.

    python -m benchmarks                              # every part, small
    python -m benchmarks cost --recorded FOLDER       # one part, with recorded sessions
    python -m benchmarks --full --plot --recorded FOLDER

Prints one report and writes it to `benchmark-results/` (`benchmarks.md`, `benchmarks.json`, with
`--plot` also pictures): figures with the targets of the project, tables, the machine, the versions.
The parts beside peers want `pip install -e ".[bench]"`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from .sessions import KINDS
from .suite.facts import facts
from .suite.options import Options
from .suite.parts import PARTS, run_part
from .suite.report import markdown, write

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, print the report and write it; 1 if a target of a full-size run is missed."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options, parts, plot = _read(given)
    measured = facts()
    results = []
    for part in parts:
        print(f"── {part}", file=sys.stderr, flush=True)
        results.append(run_part(part, options))
    command = shlex.join(["python", "-m", "benchmarks", *given])
    print(markdown(results, measured, command))
    written = write(options.out, results, measured, command, plot=plot)
    print(f"written: {', '.join(map(str, written))}", file=sys.stderr)
    figures = [figure for result in results for figure in result.figures]
    return int(any(figure.official and figure.passed is False for figure in figures))


def _read(given: Sequence[str]) -> tuple[Options, list[str], bool]:
    summary = "\n".join(f"  {name:16} {what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure longthread beside its peers.",
        epilog=f"parts:\n{summary}\n\nExits with 1 when a target is missed.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="which to run; default: all")
    parser.add_argument("--full", action="store_true", help="the long runs, which take an hour")
    parser.add_argument("--plot", action="store_true", help="also draw (needs matplotlib)")
    parser.add_argument("--out", type=Path, default=Path("benchmark-results"), metavar="FOLDER")
    parser.add_argument(
        "--recorded",
        nargs="+",
        default=[],
        metavar="PATH",
        help="recorded sessions: .jsonl, folders",
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[], help="of generated sessions")
    parser.add_argument("--tokens", type=int, nargs="+", default=[], help="their lengths")
    parser.add_argument(
        "--all-settings", action="store_true", help="also the peers' settings that were dearer"
    )
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    read = parser.parse_args(given)
    if unknown := [part for part in read.parts if part not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    options = Options(
        recorded=read.recorded,
        kinds=read.kinds,
        seeds=read.seeds,
        tokens=read.tokens,
        full=read.full,
        tiny=read.tiny,
        all_settings=read.all_settings,
        out=read.out,
    )
    return options, read.parts or list(PARTS), read.plot


if __name__ == "__main__":
    sys.exit(main())
