"""`longthread thread …`: what can be done with a stored thread."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["threads"]

threads = typer.Typer(
    help="Work on a stored thread.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    callback=lambda: None,
)


@threads.command()
def compact(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpoints: Annotated[
        Path,
        typer.Option(metavar="FILE", help="The SQLite file that holds the checkpoints."),
    ] = Path("threads.db"),
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="The agent's model, which writes the summary. Not needed for a dry run.",
        ),
    ] = None,
    instructions: Annotated[
        str | None, typer.Option(help="Further instructions for the summariser.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; ask and write nothing.")
    ] = False,
    workspace: Annotated[
        Path, typer.Option(metavar="FOLDER", help="The agent's workspace.")
    ] = Path(".longthread"),
    agent: Annotated[str, typer.Option(help="The agent's name.")] = "agent",
) -> None:
    """Summarise the next part of a thread, from its beginning."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    from ..graphs.agent import create_agent_graph
    from ..graphs.manual_compaction import compact_thread
    from ..graphs.scripted import ScriptedModel
    from ..state.errors import ConfigurationError

    if not checkpoints.is_file():
        raise ConfigurationError(f"--checkpoints {str(checkpoints)!r}: there is no such file")
    if model is None and not dry_run:
        raise ConfigurationError("--model: name the agent's model, as in openai:gpt-5-mini")
    with SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        graph = create_agent_graph(
            model or ScriptedModel(script=lambda _: ""),
            name=agent,
            workspace=workspace,
            checkpointer=saver,
        )
        result = compact_thread(
            graph,
            {"configurable": {"thread_id": thread_id}},
            instructions=instructions,
            dry_run=dry_run,
        )
    if result.already_up_to_date:
        typer.echo(f"{thread_id}: up to date, {result.new_size} messages are summarised")
    else:
        verb = "would be summarised" if dry_run else "summarised"
        typer.echo(
            f"{thread_id}: {result.compacted_count} messages {verb}, {result.new_size} in all"
        )
