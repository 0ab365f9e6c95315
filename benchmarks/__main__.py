"""Run the benchmarks: `python -m benchmarks`, from the root of the clone.

    python -m benchmarks                              # every part, small
    python -m benchmarks cost --recorded FOLDER       # one part, with recorded sessions
    python -m benchmarks --full --plot --recorded FOLDER

Prints one report and writes it to `benchmark-results/` (`benchmarks.md`, `benchmarks.json`, with
`--plot` also pictures): figures with the targets of the project, tables, the machine, the versions.
It is written after every part, so that a run that is stopped leaves what it had measured.
The parts beside peers want `pip install -e ".[bench]"`.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile

from longthread.state.errors import LongthreadError

from .sessions import KINDS
from .suite.facts import facts
from .suite.options import Options
from .suite.parts import PARTS, run_part
from .suite.report import markdown, write
from .suite.result import Result

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, print the report and write it.

    A part that fails is reported as such, and does not cost the figures of the others; nor does a
    run that is stopped cost those that it has.

    Returns:
        1 if a part failed, or missed a target in a run that was large enough for it; else 0.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    options, parts, plot = _read(given)
    measured = facts()
    command = shlex.join(["python", "-m", "benchmarks", *given])
    results: list[Result] = []
    written: list[Path] = []
    failed = False
    for part in parts:
        print(f"── {part}", file=sys.stderr, flush=True)
        try:
            results.append(run_part(part, options))
        except Exception as error:
            failed = True
            if not isinstance(error, LongthreadError):
                traceback.print_exc()
            why = f"Failed: {type(error).__name__}: {error}"
            print(why, file=sys.stderr)
            results.append(Result(part, PARTS[part], notes=[why]))
        last = part == parts[-1]
        written = write(options.out, results, measured, command, plot=plot and last)
    print(markdown(results, measured, command))
    print(f"written: {', '.join(map(str, written))}", file=sys.stderr)
    figures = [figure for result in results for figure in result.figures]
    missed = any(figure.official and figure.passed is False for figure in figures)
    return int(failed or missed)


def _read(given: Sequence[str]) -> tuple[Options, list[str], bool]:
    summary = "\n".join(f"  {name:16} {what}" for name, what in PARTS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure longthread beside its peers.",
        epilog=f"parts:\n{summary}\n\nExits with 1 if a target is missed or a part fails.",
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
    parser.add_argument("--tokens", type=_positive, nargs="+", default=[], help="their lengths")
    parser.add_argument(
        "--all-settings", action="store_true", help="also the peers' settings that were dearer"
    )
    parser.add_argument(
        "--peer-summary-tokens",
        type=_positive,
        metavar="N",
        help="room for a peer's summary; default: as much as one of ours may take",
    )
    parser.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    read = parser.parse_args(given)
    if unknown := [part for part in read.parts if part not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if read.plot and not find_spec("matplotlib"):
        parser.error("--plot draws with matplotlib: pip install matplotlib")
    try:
        read.out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=read.out):
            pass
    except OSError as error:
        parser.error(f"--out {read.out}: nothing can be written there ({error.strerror})")
    options = Options(
        recorded=read.recorded,
        kinds=read.kinds,
        seeds=read.seeds,
        tokens=read.tokens,
        full=read.full,
        tiny=read.tiny,
        all_settings=read.all_settings,
        peer_summary_tokens=read.peer_summary_tokens,
        out=read.out,
    )
    return options, read.parts or list(PARTS), read.plot


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a number of tokens: give 1 or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
