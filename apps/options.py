"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "WORKSPACE",
    "AgentOption",
    "CheckpointerOption",
    "SettingsOption",
    "WorkspaceOption",
    "checkpointer_url",
    "help_alone",
]

WORKSPACE = Path(".longthread")

CheckpointerOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|URL",
        envvar="LONGTHREAD_CHECKPOINTER",
        help="Where threads are kept: a SQLite file, or a URL such as sqlite:///file.db or "
        "postgresql://user:pw@host/name. Default: threads.db in the workspace.",
        show_default=False,
    ),
]
WorkspaceOption = Annotated[Path, typer.Option(metavar="FOLDER", help="The agent's workspace.")]
AgentOption = Annotated[str, typer.Option(metavar="NAME", help="The agent's name.")]
SettingsOption = Annotated[
    Path,
    typer.Option(metavar="FOLDER", help="Where settings.json and auth.json lie, if there are any."),
]


def help_alone(context: typer.Context) -> None:
    """Show the commands of a group when none is named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def checkpointer_url(given: str | None, workspace: Path) -> str:
    """Return the URL of what `--checkpointer` and `--workspace` name together."""
    if given is not None and "://" in given:
        return given
    path = Path(given) if given is not None else workspace / "threads.db"
    return f"sqlite:///{path.absolute()}"
