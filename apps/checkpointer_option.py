"""`--checkpointer`: where the commands find stored threads."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["CHECKPOINTER", "Checkpointer"]

CHECKPOINTER = "sqlite:///threads.db"

Checkpointer = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="LONGTHREAD_CHECKPOINTER",
        help="Where the checkpoints are: sqlite:///file.db or postgresql://user:password@host/name.",
    ),
]
