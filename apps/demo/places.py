"""Where the demo writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Places"]


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one demo.

    Args:
        root: The folder that holds them all.
    """

    root: Path

    @property
    def project(self) -> Path:
        """The project that the agent repairs."""
        return self.root / "project"

    @property
    def workspace(self) -> Path:
        """The workspace: memory, ledgers, evicted results."""
        return self.root / "workspace"

    @property
    def agent_files(self) -> Path:
        """The agent's own files in the workspace."""
        return self.workspace / "users" / "_default" / "agents" / "keeper"

    @property
    def database(self) -> Path:
        """The SQLite file with the checkpoints."""
        return self.root / "threads.sqlite"

    @property
    def run_log(self) -> Path:
        """When each tool call began and ended."""
        return self.root / "tool_calls.jsonl"
