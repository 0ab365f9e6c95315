"""What compaction costs, by when it is asked for, how much it must remove and how much it keeps.

    python -m benchmarks.compaction_constants [FILE_OR_FOLDER…] [--seeds 1 2 3] [--tokens 100000]

One field of `CompactionConfig` is changed at a time; the first line has the defaults. Sessions,
figures and arguments are those of `masking_constants`; the window is a quarter of the session. The
summaries are extracts that fill the room they are given, so `max_summary_tokens` weighs more here
than with a model that stops when it has said what there is to say.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

from longthread import CompactionConfig
from longthread.apps.replay import default_window

from .cost_table import Setting, add_arguments, cases, print_costs, print_facts

__all__ = ["main", "settings"]

VALUES: dict[str, tuple[float, ...]] = {
    "min_progress": (0.1, 0.25, 0.4, 0.5, 0.6, 0.75),
    "keep_tokens": (1_000, 2_000, 4_000, 8_000),
    "trigger_messages": (0, 50, 100, 200),
    "max_summary_tokens": (512, 1_024),
    "threshold": (0.5, 0.7, 1.0),
}
FEW = {"min_progress": (0.1, 0.5), "keep_tokens": (2_000,), "trigger_messages": (0,)}


def settings(*, full: bool) -> list[Setting]:
    """Return the settings to compare, the defaults first; without `full` only a few."""
    found = [Setting("defaults")]
    for name, values in (VALUES if full else FEW).items():
        for value in values:
            if CompactionConfig.model_fields[name].default != value:
                changed: dict[str, Any] = {name: value}
                compaction = CompactionConfig(**changed)
                found.append(Setting(f"{name}={value:g}", compaction=compaction))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add_arguments(parser)
    options = parser.parse_args(arguments)
    logging.getLogger("longthread").setLevel(logging.ERROR)
    sessions = cases(options)
    print_facts(sessions)
    print_costs(
        "Window of a quarter of the session",
        settings(full=options.full),
        sessions,
        default_window,
    )


if __name__ == "__main__":
    main()
