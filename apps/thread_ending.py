"""`longthread thread close|export|erase`: what is done with a thread in the end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import WORKSPACE, AgentOption, CheckpointerOption, WorkspaceOption
from .stored_threads import agent_over, journal_of
from .threads import threads

if TYPE_CHECKING:
    from ..graphs.erasing import ErasureResult

__all__ = ["close", "erase", "export"]


@threads.command()
def close(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    agent: AgentOption = "agent",
) -> None:
    """End a thread: it can be read, and nobody can go on with it."""
    from ..graphs.closing import close_thread

    with agent_over(checkpointer, workspace, agent) as graph:
        closed = close_thread(graph, {"configurable": {"thread_id": thread_id}})
    typer.echo(f"{thread_id}: {'closed' if closed else 'was closed already'}")


@threads.command()
def export(
    thread_id: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write to this file, which must not exist. Default: print."
        ),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Whose thread it is. Default: nobody's in particular."),
    ] = None,
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    agent: AgentOption = "agent",
) -> None:
    """Write all messages of a thread as JSON lines, which `longthread replay` reads."""
    from ..state.errors import ConfigurationError
    from .replay.export import recorded_lines

    with journal_of(checkpointer, workspace, user, agent) as journal:
        messages = journal.history(thread_id, last_n=sys.maxsize)
    if output is None:
        for line in recorded_lines(messages):
            typer.echo(line)
        return
    try:
        file = output.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise ConfigurationError(
            f"--output {str(output)!r}: there is such a file; name a new one"
        ) from None
    except OSError as error:
        raise ConfigurationError(
            f"--output {str(output)!r}: {error.strerror}; name a file in a folder that can be "
            "written to"
        ) from error
    with file:
        file.writelines(f"{line}\n" for line in recorded_lines(messages))
    typer.echo(f"{output}: {len(messages)} messages")


@threads.command()
def erase(
    thread_id: Annotated[
        str | None,
        typer.Argument(metavar="[THREAD]", help="The thread's id.", show_default=False),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Whose thread it has to be; with --all, whose threads and memory go.",
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All threads of the user, and everything remembered of them."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be erased; erase nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before erasing.")] = False,
    checkpointer: CheckpointerOption = None,
    workspace: WorkspaceOption = WORKSPACE,
    agent: AgentOption = "agent",
) -> None:
    """Remove a thread for good: checkpoints, files, ledger entries, registry, search index.

    What has been merged into MEMORY.md cannot be traced to a thread, and stays; `--all` removes
    it.
    """
    from ..graphs.erasing import erase_thread, erase_user
    from ..state.channels import ThreadContext
    from ..state.errors import ConfigurationError

    if everything == (thread_id is not None):
        raise ConfigurationError("name a thread, or say --all to erase everything of the --user")
    if everything and user is None:
        raise ConfigurationError("--all: say whose by --user")
    context = None if user is None else ThreadContext(user_id=user)

    with agent_over(checkpointer, workspace, agent) as graph:

        def erased(dry_run: bool) -> ErasureResult:
            if thread_id is None:
                return erase_user(graph, user, dry_run=dry_run)
            config = {"configurable": {"thread_id": thread_id}}
            return erase_thread(graph, config, context=context, dry_run=dry_run)  # type: ignore[arg-type]

        found = erased(dry_run=True)
        typer.echo(_described(found))
        if dry_run or found.nothing:
            return
        if not yes:
            if not sys.stdin.isatty():
                raise ConfigurationError("--yes: say it to erase without being asked")
            typer.confirm("Erase all of this for good?", abort=True)
        erased(dry_run=False)
    typer.echo("erased")


def _described(found: ErasureResult) -> str:
    if found.nothing:
        return "\n".join(["there is nothing to erase", *_kept(found)])
    lines = [f"thread {name}" for name in found.threads]
    lines += [f"file {path}" for path in found.files]
    lines.append(
        f"{found.checkpoints} checkpoints, {found.records} records, {found.ledger_entries} entries "
        "of ledgers"
    )
    return "\n".join([*lines, *_kept(found)])


def _kept(found: ErasureResult) -> list[str]:
    if not found.kept:
        return []
    return [
        f"{len(found.kept)} files and records stay, with what was said in them: threads copied "
        f"from it need them, erase those too: {', '.join(found.kept_for)}"
    ]
