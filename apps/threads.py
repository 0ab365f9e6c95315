"""`longthread thread …`: what can be done with stored threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .checkpointer_option import CHECKPOINTER, Checkpointer

if TYPE_CHECKING:
    from ..stores.journal import ThreadJournal

__all__ = ["threads"]

threads = typer.Typer(
    help="List, read and search stored threads, and work on one.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    callback=lambda: None,
)


Workspace = Annotated[Path, typer.Option(metavar="FOLDER", help="The agent's workspace.")]
Agent = Annotated[str, typer.Option(help="The agent's name.")]
User = Annotated[
    str | None, typer.Option(help="Whose threads. Default: those of no particular user.")
]
WORKSPACE = Path(".longthread")


@threads.command("list")
def list_threads(
    checkpointer: Checkpointer = CHECKPOINTER,
    workspace: Workspace = WORKSPACE,
    user: User = None,
    agent: Agent = "agent",
) -> None:
    """List the threads of a user and agent, the one that moved last first."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    with _journal(checkpointer, workspace, user, agent) as journal:
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
    checkpointer: Checkpointer = CHECKPOINTER,
    workspace: Workspace = WORKSPACE,
    user: User = None,
    agent: Agent = "agent",
) -> None:
    """Show a thread's messages as they were said, also where they have been summarised."""
    from ..state.transcript import message_text, role_of

    with _journal(checkpointer, workspace, user, agent) as journal:
        page = journal.page(thread_id, last, before)
    for at, message in enumerate(page.messages, page.start):
        typer.echo(f"#{at} {role_of(message)}: {message_text(message)}")
    if page.start:
        typer.echo(f"({page.start:,} older messages: --before {page.start})", err=True)


@threads.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for; case does not matter.")],
    mode: Annotated[
        str,
        typer.Option(
            metavar="phrase|all|any",
            help="The query literally, or messages with all or any of its words.",
        ),
    ] = "phrase",
    max_results: Annotated[
        int, typer.Option("--max", "-n", metavar="N", min=1, help="Show at most N messages.")
    ] = 10,
    thread_id: Annotated[
        str | None, typer.Option("--thread", metavar="THREAD", help="Only in this thread.")
    ] = None,
    checkpointer: Checkpointer = CHECKPOINTER,
    workspace: Workspace = WORKSPACE,
    user: User = None,
    agent: Agent = "agent",
) -> None:
    """Find messages in all threads of a user and agent, the newest first."""
    from ..stores.matching import parse_match_mode

    wanted = parse_match_mode(mode)
    with _journal(checkpointer, workspace, user, agent) as journal:
        hits = journal.search(query, wanted, max_results, thread_id)
    for hit in hits:
        place = f" ({hit.checkpoint_ns})" if hit.checkpoint_ns else ""
        shown = " ".join(hit.excerpt.split())
        typer.echo(f"{hit.thread_id}{place} #{hit.position} {hit.role}: {shown}")
    if not hits:
        typer.echo("no matches", err=True)


@threads.command()
def reindex(
    checkpointer: Checkpointer = CHECKPOINTER,
    workspace: Workspace = WORKSPACE,
    user: User = None,
    agent: Agent = "agent",
) -> None:
    """Build the registry of threads and the search index anew from the checkpoints.

    Both are derived: nothing can be lost by this. Threads that no agent of longthread has worked
    on become those of no particular user.
    """
    with _journal(checkpointer, workspace, user, agent) as journal:
        done = journal.reindex()
    typer.echo(f"{done.messages:,} messages in {done.threads:,} threads")


@contextmanager
def _journal(
    checkpointer: str, workspace: Path, user: str | None, agent: str
) -> Iterator[ThreadJournal]:
    """Open the journal of a checkpointer that is there: none is made by looking into it."""
    from ..stores.checkpointers import open_checkpointer
    from ..stores.journal import ThreadJournal

    with open_checkpointer(checkpointer, create=False) as saver:
        yield ThreadJournal(saver, workspace, user=user, agent=agent)


def _plain(text: str) -> str:
    """Return a text that rich shows as it is."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() else "�" for c in text))


@threads.command()
def compact(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpointer: Checkpointer = CHECKPOINTER,
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
    workspace: Workspace = WORKSPACE,
    agent: Agent = "agent",
) -> None:
    """Summarise the next part of a thread, from its beginning."""
    from ..graphs.agent import create_agent_graph
    from ..graphs.manual_compaction import compact_thread
    from ..graphs.scripted import ScriptedModel
    from ..state.errors import ConfigurationError
    from ..stores.checkpointers import open_checkpointer

    if model is None and not dry_run:
        raise ConfigurationError("--model: name the agent's model, as in openai:gpt-5-mini")
    # Uncompressed, which a saver that was not opened by us reads too.
    with open_checkpointer(checkpointer, compress=False, create=False) as saver:
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
