"""`longthread memory …`: what an agent remembers, from the shell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import WORKSPACE, AgentOption, SettingsOption, WorkspaceOption, help_alone
from .terminal import for_output

if TYPE_CHECKING:
    from ..stores.workspace import ScopedWorkspace

__all__ = ["memory"]

memory = typer.Typer(
    help="Look at what an agent remembers, and after it.",
    rich_markup_mode="markdown",
    callback=help_alone,
    invoke_without_command=True,
)

UserOption = Annotated[
    str | None, typer.Option(metavar="ID", help="Whose memory. Default: that of no user.")
]
ScopeOption = Annotated[
    str, typer.Option(metavar="agent|global", help="The agent's own, or what all agents share.")
]


def _owner_files(workspace: Path, user: str | None, agent: str) -> ScopedWorkspace:
    """Return the files of the owner that the options name."""
    from ..state.errors import ConfigurationError
    from ..stores.local.workspace import LocalWorkspace
    from ..stores.workspace import Owner

    if not workspace.is_dir():
        raise ConfigurationError(f"--workspace {str(workspace)!r}: there is no such folder")
    return LocalWorkspace(workspace).scoped(Owner(user, agent))


@memory.command()
def show(
    scope: ScopeOption = "agent",
    workspace: WorkspaceOption = WORKSPACE,
    user: UserOption = None,
    agent: AgentOption = "agent",
) -> None:
    """Print MEMORY.md."""
    from ..stores.memory.memory_paths import memory_path
    from ..stores.memory.scopes import parse_scope

    path = memory_path(parse_scope(scope))
    text = _owner_files(workspace, user, agent).read_text(path)
    if text is None:
        typer.echo(f"There is no {path} yet.", err=True)
        return
    typer.echo(for_output(text), nl=False, color=True)


@memory.command()
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")],
    mode: Annotated[
        str,
        typer.Option(
            metavar="phrase|all|any",
            help="The query literally, or lines with all or any of its words.",
        ),
    ] = "phrase",
    limit: Annotated[
        int,
        typer.Option("--limit", "--max", "-n", metavar="N", min=1, help="Most lines to show."),
    ] = 50,
    workspace: WorkspaceOption = WORKSPACE,
    user: UserOption = None,
    agent: AgentOption = "agent",
) -> None:
    """Find lines in MEMORY.md, the ledgers and the archives, shared ones included."""
    from ..stores.matching import compile_query
    from ..stores.memory.memory_search import search_memory

    wanted = compile_query(query, mode)
    found = search_memory(_owner_files(workspace, user, agent), wanted, max_hits=limit)
    for hit in found.hits:
        typer.echo(str(hit))
    if found.more:
        typer.echo("There are more matches; raise --limit to see them.", err=True)
    for path in found.unread:
        typer.echo(f"{path} could not be read.", err=True)
    if not found.hits:
        typer.echo("No matches.", err=True)


@memory.command()
def consolidate(
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="The model that merges. Default: the main model of the settings.",
            show_default=False,
        ),
    ] = None,
    settings: SettingsOption = Path("."),
    workspace: WorkspaceOption = WORKSPACE,
    user: UserOption = None,
    agent: AgentOption = "agent",
) -> None:
    """Merge what is new in the ledgers into MEMORY.md, now, and archive old ledgers.

    The agent does so by itself after calls. The shared memory is looked after too.
    """
    from ..graphs.agent import create_agent_graph
    from ..graphs.maintenance import maintain_memory
    from ..stores.settings import Settings

    _owner_files(workspace, user, agent)  # a folder that is not there is an error, not a new one
    graph = create_agent_graph(
        model, name=agent, workspace=workspace, settings=Settings.load(settings)
    )
    result = maintain_memory(graph, context={"user_id": user})
    for path in result.rewritten:
        typer.echo(f"{path}: rewritten")
    for path in result.archived:
        typer.echo(f"{path}: archived")
    if not result.rewritten:
        typer.echo("Nothing is new in the ledgers.", err=True)


@memory.command()
def undo(
    scope: ScopeOption = "agent",
    workspace: WorkspaceOption = WORKSPACE,
    user: UserOption = None,
    agent: AgentOption = "agent",
) -> None:
    """Put back MEMORY.md as it was before its last consolidation.

    Entries saved since stay. What that consolidation had taken in of the ledgers counts as new
    again. Up to five consolidations can be undone.
    """
    from ..nodes.identity import utc_now
    from ..stores.memory.scopes import parse_scope
    from ..stores.memory.undo import undo_consolidation

    files = _owner_files(workspace, user, agent)
    undone = undo_consolidation(files, utc_now(), parse_scope(scope))
    if undone is None:
        typer.echo("There is no consolidation to undo.", err=True)
        return
    made = f"{undone.at:%Y-%m-%d %H:%M}"
    what = "removed: there was none" if undone.text is None else "as it was"
    typer.echo(f"{undone.path}: {what} before the consolidation of {made}")
