"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["CHECKPOINTER", "WORKSPACE", "AgentOption", "CheckpointerOption", "WorkspaceOption"]

CHECKPOINTER = "sqlite:///threads.db"
WORKSPACE = Path(".longthread")

CheckpointerOption = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="LONGTHREAD_CHECKPOINTER",
        help="Where the checkpoints are: sqlite:///file.db or postgresql://user:password@host/name.",
    ),
]
WorkspaceOption = Annotated[Path, typer.Option(metavar="FOLDER", help="The agent's workspace.")]
AgentOption = Annotated[str, typer.Option(metavar="NAME", help="The agent's name.")]
