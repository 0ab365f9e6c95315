"""Log lines and warnings that a benchmark provokes on purpose stay out of its report."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet"]

_TALKATIVE = ("longthread", "langgraph.checkpoint.serde.jsonplus", "deepagents", "langchain")


@contextmanager
def quiet(level: int = logging.ERROR) -> Iterator[None]:
    """Keep warnings and log lines out of the report; the figures say what they say.

    What was set before holds again afterwards: whoever calls a benchmark still wants to be warned.

    Args:
        level: Lines of at least this level are still logged.
    """
    logs = [logging.getLogger(name) for name in _TALKATIVE]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(level)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, before in zip(logs, levels, strict=True):
            log.setLevel(before)
