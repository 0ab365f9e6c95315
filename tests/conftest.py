"""What holds for every test: no property test is judged by how long it took."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings
from langgraph_server import langgraph_server
from postgres_server import postgres, postgres_url

__all__ = ["langgraph_server", "postgres", "postgres_url"]

settings.register_profile("longthread", deadline=None)
settings.load_profile("longthread")


@pytest.fixture(autouse=True)
def _nothing_goes_on_in_the_background() -> Iterator[None]:
    """What a test has left to the background worker is done before the next one begins."""
    yield
    worker = sys.modules.get("longthread.nodes.background")
    assert worker is None or worker.drain(60)
