"""The HTTP routes: sessions and memory, alone or inside LangGraph Server."""

from __future__ import annotations

from .application import create_app

__all__ = ["create_app"]
