"""The HTTP routes: sessions and memory, alone or inside LangGraph Server."""

from __future__ import annotations

from ...state.errors import ConfigurationError

try:
    from .application import create_app
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "starlette":
        raise
    raise ConfigurationError(
        "create_app: Starlette is missing, pip install 'longthread[server]'"
    ) from error

__all__ = ["create_app"]
