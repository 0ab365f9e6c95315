"""Settings files and the environment: read, checked, put together, and told where from."""

from __future__ import annotations

from .loading import Settings
from .mistakes import Mistake, SettingsError

__all__ = ["Mistake", "Settings", "SettingsError"]
