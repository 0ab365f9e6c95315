"""What holds for every test: its files are in memory, and no property is judged by its time."""

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

IN_MEMORY = Path(os.environ.get("TESTS_MEMORY", "/dev/shm"))


def pytest_configure() -> None:
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
