"""What figures depend on: the machine, its load, the day, and the versions of what was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from longthread.state.tokenizer import load_tokenizer

__all__ = ["facts"]

_MEASURED = (
    "longthread",
    "langgraph",
    "langchain-core",
    "langchain",
    "deepagents",
    "langmem",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
)


def facts() -> dict[str, Any]:
    """Return the facts of a run, in JSON types."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "tokens": load_tokenizer().name,
        "versions": {name: _version(name) for name in _MEASURED},
    }


def _cpu() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
