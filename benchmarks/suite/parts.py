"""The parts of the suite, in the order in which they run and are reported."""

from __future__ import annotations

import importlib
import time
from typing import cast

from .options import Options
from .result import Result

__all__ = ["PARTS", "run_part"]

PARTS = {
    "cost": "cost and grounding beside the peers, recorded and generated sessions",
    "seeds": "the same settings on generated sessions with other seeds",
    "steps": "time per model step by length of the thread, beside create_agent",
    "turns": "time of one more call by length of the thread, SQLite and PostgreSQL",
    "checkpoints": "bytes on disk by what was said, SQLite and PostgreSQL",
    "thread-search": "searching threads",
    "memory-search": "searching memory",
    "memory-writing": "flush, consolidation, redaction",
    "tokens": "the token estimate against o200k_base",
    "imports": "import time",
}
"""Name on the command line, and what it measures; `suite/NAME.py` holds `run(options)`."""


def run_part(name: str, options: Options) -> Result:
    """Run one part and say how long it took."""
    module = importlib.import_module(f".{name.replace('-', '_')}", __package__)
    started = time.monotonic()
    result = cast(Result, module.run(options))
    result.seconds = time.monotonic() - started
    return result
