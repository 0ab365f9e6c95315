"""The command `longthread chat` with its options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options import CheckpointerOption

__all__ = ["chat"]


def chat(
    thread: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The thread to go on with, or the id of a new one. Default: a new one.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="The model, as in openai:gpt-5-mini. Default: that of the settings.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where settings.json and auth.json lie, if there are any.",
        ),
    ] = Path("."),
    scripted: Annotated[
        bool,
        typer.Option("--scripted", help="Talk to a scripted model: no key, no network."),
    ] = False,
    checkpointer: CheckpointerOption = None,
    workspace: Annotated[Path, typer.Option(metavar="FOLDER", help="Where memory is kept.")] = Path(
        ".longthread"
    ),
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="Who talks. Default: no user in particular.")
    ] = None,
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent's name.")] = "agent",
    system: Annotated[
        str, typer.Option(metavar="TEXT", help="The system prompt.")
    ] = "You are a helpful assistant. Use your tools when they help.",
    window: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            min=1,
            help="The model's context window. Default: what is known of it, else 64,000.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Let the model list, read and search files in this folder, and nowhere else.",
            show_default=False,
        ),
    ] = None,
    allow_write: Annotated[
        bool,
        typer.Option("--allow-write", help="Let it write files there, each after you say yes."),
    ] = False,
    allow_shell: Annotated[
        bool,
        typer.Option(
            "--allow-shell",
            help="Let it run shell commands from there, each after you say yes. A command can do "
            "whatever you can.",
        ),
    ] = False,
) -> None:
    """Talk to an agent in the terminal, on a thread that can be gone on with at any time.

    Ctrl-C interrupts the turn: an empty line, or `/resume`, goes on with it. Ctrl-D or `/quit`
    ends. `/help` lists the other commands. Without a terminal, each line of standard input is a
    message; nothing can be confirmed then, so nothing is written or run.
    """
    from .opening import Options, run_chat

    code = run_chat(
        Options(
            thread=thread,
            model=model,
            settings=settings,
            scripted=scripted,
            checkpointer=checkpointer,
            workspace=workspace,
            user=user,
            agent=agent,
            system=system,
            window=window,
            folder=folder,
            allow_write=allow_write,
            allow_shell=allow_shell,
        )
    )
    raise typer.Exit(code)
