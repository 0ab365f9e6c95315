"""Folders with settings files, read as if nobody had set a variable."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

__all__ = ["clear_variables", "write_settings"]


def write_settings(folder: Path, **files: Any) -> Path:
    """Write `settings`, `auth` and agents (by name) as the JSON files of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / f"{name}.json"
        if name not in ("settings", "auth"):
            path = folder / "agents" / name / "agent.json"
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data), encoding="utf-8")
    return folder


def clear_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the `LONGTHREAD_*` variables of whoever runs the tests."""
    for name in [name for name in os.environ if name.upper().startswith("LONGTHREAD_")]:
        monkeypatch.delenv(name)
