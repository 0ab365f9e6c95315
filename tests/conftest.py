"""What holds for every test: no property test is judged by how long it took."""

from __future__ import annotations

from hypothesis import settings
from postgres_server import postgres, postgres_url

__all__ = ["postgres", "postgres_url"]

settings.register_profile("longthread", deadline=None)
settings.load_profile("longthread")
