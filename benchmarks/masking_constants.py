"""What masking saves, by how much a move of the mask has to pay and how many steps stay visible.

    python -m benchmarks.masking_constants [FILE_OR_FOLDER…] [--seeds 1 2 3] [--tokens 100000]

plays recorded sessions (any `.jsonl` in chat format) and generated ones through the agent graph and
prints two tables: in a window of a quarter of the session (at least 16,000), where compaction takes
turns with masking, and in one that holds all of it, with compaction off. Figures are cost against
sending the whole history every time (see `cost`), then grounding, `g:`. They are the same in every
run. Without arguments it takes some minutes; `--full` crosses all settings on longer sessions.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from longthread import CompactionConfig, MaskingConfig
from longthread.apps.replay import Session, default_window

from .cost_table import Setting, add_arguments, cases, print_costs, print_facts
from .quiet import quiet

__all__ = ["main", "settings"]

PAYBACKS = (0.25, 0.5, 1.0, 2.0, 4.0)
TURNS = (5, 10, 20)
BATCHES = (1, 4)


def settings(compaction: CompactionConfig | None, *, full: bool) -> list[Setting]:
    """Return the settings to compare; without `full`, one thing is changed at a time.

    Args:
        compaction: What all of them have in common.
        full: Every combination.
    """
    found = [Setting("no masking", None, compaction)]
    for turns in TURNS:
        for payback in PAYBACKS:
            if full or turns == 10 or payback == 1.0:
                masking = MaskingConfig(turns=turns, payback=payback)
                found.append(Setting(f"turns={turns} payback={payback:g}", masking, compaction))
        for batch in BATCHES:
            if full or turns == 10:
                masking = MaskingConfig(turns=turns, batch=batch)
                found.append(Setting(f"turns={turns} batch={batch}", masking, compaction))
    return found


def everything(session: Session) -> int:
    """Return a window that holds the whole session twice."""
    return 2 * session.tokens


@quiet()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    sessions = cases(options)
    print_facts(sessions)
    print_costs(
        "Window of a quarter of the session, compaction on",
        settings(CompactionConfig(), full=options.full),
        sessions,
        default_window,
    )
    print_costs(
        "Window that holds the session, compaction off",
        settings(None, full=options.full),
        sessions,
        everything,
    )


if __name__ == "__main__":
    main()
