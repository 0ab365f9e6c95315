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
}
"""Name on the command line, and what it measures; `suite/NAME.py` holds `run(options)`."""


def run_part(name: str, options: Options) -> Result:
    """Run one part and say how long it took."""
    module = importlib.import_module(f".{name.replace('-', '_')}", __package__)
    started = time.monotonic()
    result = cast(Result, module.run(options))
    result.seconds = time.monotonic() - started
    return result
