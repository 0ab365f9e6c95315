"""What eviction costs and saves, by how long a text has to be and how much of it stays in view.

    python -m benchmarks.eviction_constants [FILE_OR_FOLDER…] [--seeds 1 2 3] [--tokens 100000]

plays recorded sessions (any `.jsonl` in chat format) and generated ones in a window of a quarter of
the session, at least 16,000 tokens, with one field changed at a time; columns as in
`masking_constants`. An answer that uses a name of an evicted text that is no longer in view adds a
re-read. Figures are the same in every run. `--full` tries all values of the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from longthread import ToolResultEvictionConfig
from longthread.apps.replay import default_window

from .cost_table import Setting, add_arguments, cases, print_costs, print_facts
from .quiet import quiet

__all__ = ["main", "settings"]

VALUES: dict[str, tuple[float, ...]] = {
    "max_window_share": (0.05, 0.1, 0.5, 1.0),
    "max_chars": (4_000, 16_000),
    "preview_chars": (0, 500, 1_000, 4_000),
}
FEW: dict[str, tuple[float, ...]] = {"max_window_share": (0.1,)}


def settings(*, full: bool) -> list[Setting]:
    """Return the settings to compare, the defaults first; without `full` only a few."""
    found = [Setting("defaults"), Setting("no eviction", eviction=None)]
    for name, values in (VALUES if full else FEW).items():
        for value in values:
            changed: dict[str, Any] = {name: value}
            found.append(Setting(f"{name}={value}", eviction=ToolResultEvictionConfig(**changed)))
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
        "Window of a quarter of the session", settings(full=options.full), sessions, default_window
    )


if __name__ == "__main__":
    main()
