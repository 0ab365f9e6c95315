"""What holds for every test: its files are in memory, and no property is judged by its time."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from langgraph_server import langgraph_server
from postgres_server import postgres, postgres_url

__all__ = ["langgraph_server", "postgres", "postgres_url"]

settings.register_profile("longthread", deadline=None)
settings.load_profile("longthread")

IN_MEMORY = Path(os.environ.get("TESTS_MEMORY", "/dev/shm"))


def pytest_configure() -> None:
    """Keep temporary files in memory where there is room: no test waits for a disk to sync.

    A process that is killed loses nothing of them; only a power cut would.
    """
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > 4 * 2**30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


@pytest.fixture(autouse=True)
def _nothing_is_left_changed_for_the_next_test() -> Iterator[None]:
    """A test that changes what belongs to the whole process fails itself, not the ones after it."""
    before = _of_the_process()
    yield
    assert _of_the_process() == before


def _of_the_process() -> dict[str, object]:
    log = logging.getLogger("longthread")
    return {
        "log level": log.level,
        "log handlers": list(log.handlers),
        "log lines reach the root": log.propagate and not log.disabled,
        "disabled levels": logging.root.manager.disable,
        "working folder": Path.cwd(),
        "environment": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
    }


@pytest.fixture(autouse=True)
def _nothing_goes_on_in_the_background() -> Iterator[None]:
    """What a test has left to the background worker is done before the next one begins."""
    yield
    worker = sys.modules.get("longthread.nodes.background")
    assert worker is None or worker.drain(60)
