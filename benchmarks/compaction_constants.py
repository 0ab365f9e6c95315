"""What compaction costs, by when it is asked for, how much it must remove and how much it keeps.

    python -m benchmarks.compaction_constants [FILE_OR_FOLDER…] [--seeds 1 2 3] [--tokens 100000]

One field of `CompactionConfig` is changed at a time; the first line has the defaults. Sessions,
figures and arguments are those of `masking_constants`; the window is a quarter of the session. The
summaries are extracts that fill the room they are given, so what bounds them weighs more here than
with a model that stops when it has said what there is to say.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from longthread import CompactionConfig
from longthread.apps.replay import default_window

from .cost_table import Setting, add_arguments, cases, print_costs, print_facts
from .quiet import quiet

__all__ = ["main", "settings"]

VALUES: dict[str, tuple[float | None, ...]] = {
    "addition_prompt": (None,),
    "tokens_per_added": (10, 20, 45),
    "max_names_tokens": (0, 300, 3_000),
    "payback": (0, 0.5, 2),
    "min_progress": (0.1, 0.25, 0.6, 0.75),
    "keep_tokens": (700, 1_500, 3_000, 6_000),
    "trigger_messages": (0, 25, 100),
    "max_summary_tokens": (512, 1_024),
    "threshold": (0.5, 0.7, 1.0),
    "cached_prompt": (False,),
}
FEW: dict[str, tuple[float | None, ...]] = {
    "addition_prompt": (None,),
    "payback": (0,),
    "keep_tokens": (3_000,),
}


def settings(*, full: bool) -> list[Setting]:
    """Return the settings to compare, the defaults first; without `full` only a few."""
    found = [Setting("defaults")]
    for name, values in (VALUES if full else FEW).items():
        for value in values:
            if CompactionConfig.model_fields[name].default != value:
                changed: dict[str, Any] = {name: value}
                compaction = CompactionConfig(**changed)
                found.append(Setting(f"{name}={value}", compaction=compaction))
    return found


@quiet()
def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add_arguments(parser)
    options = parser.parse_args(arguments)
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
