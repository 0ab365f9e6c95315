"""What holds for every test: how the suite is run, and no property test is judged by its time."""

from __future__ import annotations

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

MOST_PROCESSES = 4
IN_MEMORY = Path(os.environ.get("TESTS_MEMORY", "/dev/shm"))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The whole suite runs in a process for each core; what is named is run here, as ever."""
    options = config.option
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if not whole or options.keyword or options.markexpr or options.capture == "no":
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, MOST_PROCESSES) if cores != 1 else 0


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory where there is room: no test waits for a disk to sync.

    A process that is killed loses nothing of them; only a power cut would.
    """
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > 4 * 2**30:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


@pytest.fixture(autouse=True)
def _nothing_goes_on_in_the_background() -> Iterator[None]:
    """What a test has left to the background worker is done before the next one begins."""
    yield
    worker = sys.modules.get("longthread.nodes.background")
    assert worker is None or worker.drain(60)
