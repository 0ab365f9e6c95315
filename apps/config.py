"""`longthread config …`: what the settings of a folder come to, and schemas for editors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import help_alone

if TYPE_CHECKING:
    from ..stores.settings import Settings, SettingsError
    from ..stores.settings.agent import AgentSettings

__all__ = ["config"]

config = typer.Typer(
    help="Check settings files, and write schemas for editors.",
    rich_markup_mode="markdown",
    callback=help_alone,
    invoke_without_command=True,
)

MISTAKEN = 2
_UNFOLDED = 100_000  # columns


@config.command()
def check(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where settings.json lies.")
    ] = Path("."),
    agent: Annotated[
        str | None,
        typer.Option(
            help="Show what holds for this agent. Default: what holds for any, then what is "
            "different for each.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document: values, sources, mistakes.")
    ] = False,
) -> None:
    """Show every setting, its value and where that comes from.

    Read are settings.json, agents/NAME/agent.json, auth.json and the variables LONGTHREAD_…; keys
    are never shown. Exit code 2 if anything is wrong; then every mistake is listed.
    """
    from ..stores.settings import Settings, SettingsError

    try:
        settings = Settings.load(folder)
    except SettingsError as error:
        _show_mistakes(error, as_json)
        raise typer.Exit(MISTAKEN) from None
    if agent is not None and agent not in settings.agents:
        raise typer.BadParameter(
            f"{agent!r} has no agent.json in {folder}; agents there: "
            f"{', '.join(settings.agents) or 'none'}",
            param_hint="--agent",
        )
    problems = _unusable(settings)
    if as_json:
        _show_json(settings, agent, problems)
    else:
        _show_tables(settings, agent)
        for problem in problems:
            typer.echo(f"Error: {problem}", err=True)
    raise typer.Exit(MISTAKEN if problems else 0)


@config.command()
def schema(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to write the schemas.")
    ] = Path("."),
) -> None:
    """Write JSON Schema files for settings.json, agent.json and auth.json.

    An editor that finds `"$schema": "./settings.schema.json"` in a settings file completes and
    checks it while it is written.
    """
    from ..stores.settings.schema import write_schemas

    for path in write_schemas(folder):
        typer.echo(path)


def _unusable(settings: Settings) -> list[str]:
    """Return why a model that the settings name cannot be made: a missing key, say."""
    from ..graphs.model_roles import ModelRoles
    from ..graphs.models import resolve_model

    agents = map(settings.agent, (None, *settings.agents))
    found = [line for own in agents for line in ModelRoles(own, resolve_model).problems()]
    return list(dict.fromkeys(found))


def _show_mistakes(error: SettingsError, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    if as_json:
        typer.echo(json.dumps({"mistakes": [asdict(each) for each in error.mistakes]}, indent=2))
    else:
        typer.echo(str(error), err=True)


def _show_json(settings: Settings, agent: str | None, problems: list[str]) -> None:
    import json

    from .settings_table import rows

    def document(own: AgentSettings) -> dict[str, dict[str, str]]:
        return {row.field: {"value": row.value, "from": row.source} for row in rows(own)}

    names = [agent] if agent is not None else list(settings.agents)
    shown = {
        "folder": str(settings.folder),
        "files": list(settings.files),
        "settings": document(settings.agent(agent)),
        "agents": {name: document(settings.agent(name)) for name in names},
        "ignored": {file: list(fields) for file, fields in settings.ignored.items()},
        "mistakes": [{"fix": problem} for problem in problems],
    }
    typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))


def _show_tables(settings: Settings, agent: str | None) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from .settings_table import rows

    # Nothing is folded for a program that reads it: `grep` would look for half a name.
    console = Console(width=None if sys.stdout.isatty() else _UNFOLDED)

    def table(title: str, own: AgentSettings, only: str | None = None) -> None:
        shown = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for heading in ("setting", "value", "from"):
            shown.add_column(heading, overflow="fold")
        for row in rows(own):
            if only is None or row.source.startswith(only):
                style = "dim" if row.source == "default" else None
                shown.add_row(*map(escape, (row.field, row.value, row.source)), style=style)
        console.print(shown)

    files = ", ".join(settings.files) or "no files"
    console.print(f"{escape(str(settings.folder.resolve()))}: {escape(files)}", soft_wrap=True)
    title = "every agent" if agent is None else f"agent {agent}"
    table(title, settings.agent(agent))
    for name in settings.agents if agent is None else ():
        console.print()
        file = f"agents/{name}/agent.json"
        table(f"agent {name}: of its own", settings.agent(name), only=file)
    for file, fields in settings.ignored.items():
        console.print(
            f"{escape(file)}: not used here: {escape(', '.join(fields))}",
            style="dim",
            soft_wrap=True,
        )
