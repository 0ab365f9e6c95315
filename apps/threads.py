"""`longthread thread …`: what can be done with stored threads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    WORKSPACE,
    AgentOption,
    CheckpointerOption,
    SettingsOption,
    WorkspaceOption,
    help_alone,
)
from .stored_threads import agent_over, journal_of
from .terminal import for_output

__all__ = ["threads"]

threads = typer.Typer(
    help="List, read and search stored threads, and work on one.",
    rich_markup_mode="markdown",
    callback=help_alone,
    invoke_without_command=True,
)

User = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Whose threads. Default: those of no particular user."),
]


@threads.command("list")
def list_threads(
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    user: User = None,
    agent: AgentOption = "agent",
) -> None:
    """List the threads of a user and agent, the one that moved last first."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    with journal_of(checkpointer, workspace, user, agent) as journal:
        found = journal.threads()
    table = Table("thread", "messages", "last moved", "first words", box=box.SIMPLE)
    for info in found:
        place = f" ({info.checkpoint_ns})" if info.checkpoint_ns else ""
        moved = "" if info.updated is None else f"{info.updated.astimezone():%Y-%m-%d %H:%M}"
        words = " ".join(info.first_words.split())
        table.add_row(*map(_plain, (info.thread_id + place, f"{info.messages:,}", moved, words)))
    if found:
        Console().print(table)
    else:
        typer.echo("no threads (if there should be some: longthread thread reindex)")


@threads.command()
def history(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    last: Annotated[
        int, typer.Option("--last", "-n", metavar="N", min=1, help="Show the last N messages.")
    ] = 20,
    before: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=0, help="Only messages before this one, counted from 0."
        ),
    ] = None,
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    user: User = None,
    agent: AgentOption = "agent",
) -> None:
    """Show a thread's messages as they were said, also where they have been summarised."""
    from ..state.transcript import message_text, role_of

    with journal_of(checkpointer, workspace, user, agent) as journal:
        page = journal.page(thread_id, last, before)
    for at, message in enumerate(page.messages, page.start):
        typer.echo(for_output(f"#{at} {role_of(message)}: {message_text(message)}"))
    if page.start:
        typer.echo(f"({page.start:,} older messages: --before {page.start})", err=True)


@threads.command()
def search(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="What to look for; case does not matter.")
    ],
    mode: Annotated[
        str,
        typer.Option(
            metavar="phrase|all|any",
            help="The query literally, or messages with all or any of its words.",
        ),
    ] = "phrase",
    max_results: Annotated[
        int,
        typer.Option("--max", "--limit", "-n", metavar="N", min=1, help="Show at most N messages."),
    ] = 10,
    thread_id: Annotated[
        str | None, typer.Option("--thread", metavar="THREAD", help="Only in this thread.")
    ] = None,
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    user: User = None,
    agent: AgentOption = "agent",
) -> None:
    """Find messages in all threads of a user and agent, the newest first."""
    from ..stores.matching import parse_match_mode

    wanted = parse_match_mode(mode)
    with journal_of(checkpointer, workspace, user, agent) as journal:
        hits = journal.search(query, wanted, max_results, thread_id)
    for hit in hits:
        place = f" ({hit.checkpoint_ns})" if hit.checkpoint_ns else ""
        shown = " ".join(hit.excerpt.split())
        typer.echo(for_output(f"{hit.thread_id}{place} #{hit.position} {hit.role}: {shown}"))
    if not hits:
        typer.echo("no matches", err=True)


@threads.command()
def reindex(
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    user: User = None,
    agent: AgentOption = "agent",
) -> None:
    """Build the registry of threads and the search index anew from the checkpoints.

    Both are derived: nothing can be lost by this. Threads that no agent of longthread has worked
    on become those of no particular user.
    """
    with journal_of(checkpointer, workspace, user, agent) as journal:
        done = journal.reindex()
    threads = "thread" if done.threads == 1 else "threads"
    typer.echo(f"{done.messages:,} messages in {done.threads:,} {threads}")


@threads.command()
def compact(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpointer: CheckpointerOption = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="The agent's model, which writes the summary. Default: that of the settings. Not "
            "needed for a dry run.",
            show_default=False,
        ),
    ] = None,
    settings: SettingsOption = Path("."),
    instructions: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Further instructions for the summariser.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done; ask and write nothing.")
    ] = False,
    workspace: WorkspaceOption = WORKSPACE,
    agent: AgentOption = "agent",
) -> None:
    """Summarise the next part of a thread, from its beginning."""
    from ..graphs.manual_compaction import compact_thread
    from ..state.errors import ConfigurationError
    from ..stores.settings import Settings

    loaded = Settings.load(settings)
    if model is None and loaded.agent(agent).main is None and not dry_run:
        raise ConfigurationError(
            "no model: name the agent's, as in --model openai:gpt-5-mini, or the folder of a "
            "settings.json with --settings"
        )
    asked = None if dry_run else loaded
    with agent_over(checkpointer, workspace, agent, model, asked) as graph:
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


def _plain(text: str) -> str:
    """Return a text that rich shows as it is."""
    from rich.markup import escape

    from ..state.text import visible

    return escape(visible(text))
