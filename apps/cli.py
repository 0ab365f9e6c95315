"""`longthread`: the command line.

What a command needs is imported when it runs, so that help comes at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from . import thread_ending as thread_ending
from .chat.command import chat
from .config import config
from .memory import memory
from .one_line import one_line
from .threads import threads

__all__ = ["app", "main"]

FAILED, INTERRUPTED = 2, 130


class OneLineErrors(TyperGroup):
    """The commands, each of which ends in success or in one line on standard error.

    Exit codes: 0, what the command itself returns, 2 after an error, 130 after Ctrl-C.
    `LONGTHREAD_DEBUG=1` shows the traceback of an error.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and exit, as click does."""
        code: Any
        try:
            code = super().main(
                args,
                prog_name,
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )
            sys.stdout.flush()
        except BrokenPipeError:
            code = _nobody_listens()
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            if os.environ.get("LONGTHREAD_DEBUG", "0") not in ("", "0"):
                raise
            print(f"Error: {one_line(error)}", file=sys.stderr)
            code = FAILED
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=OneLineErrors,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"longthread {version('longthread')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def longthread(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """LangGraph agents whose threads outlive the model's context window."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.add_typer(threads, name="thread")
app.add_typer(config, name="config")
app.add_typer(memory, name="memory")
app.command()(chat)


@app.command()
def demo(
    folder: Annotated[
        Path | None,
        typer.Option(
            "--keep",
            metavar="FOLDER",
            help="Write everything into this folder, new or empty. Default: a new temporary one.",
        ),
    ] = None,
    live: Annotated[
        bool | None,
        typer.Option(
            "--live/--no-live",
            help="Draw the live view of the context. Default: only on a terminal.",
            show_default=False,
        ),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Do not rest between the steps of the live view.")
    ] = False,
    seed: Annotated[
        int, typer.Option(help="Chooses the facts that the scripted model has to find out.")
    ] = 7,
) -> None:
    """Watch a long session go through every node of the graph.

    No key and no network: a scripted model works through a task with real tools on a temporary
    folder. At the end a table compares tokens and cost with the same session unmanaged.
    """
    from .demo import run_demo

    code = run_demo(folder=folder, live=live, pace=0.0 if fast else None, seed=seed)
    raise typer.Exit(code)


@app.command()
def replay(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Recorded sessions: JSON lines, one chat-format message a line (role, content, "
            "tool_calls, tool_call_id, name). A folder stands for its *.jsonl, and patterns are "
            "expanded.",
            show_default=False,
        ),
    ],
    window: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            min=1,
            help="Context window. Default: a quarter of the session, but at least 16,000.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document with everything measured.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PICTURE",
            help="Draw the context by part over the requests into this file (.png, .svg, .pdf). "
            "Needs longthread[notebooks].",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="PROVIDER:MODEL",
            help="Model that writes the summaries. Default: none, they are extracts and always the "
            "same.",
        ),
    ] = None,
    requests: Annotated[
        bool | None,
        typer.Option(
            "--requests/--no-requests",
            help="Show a line for every request. Default: only for a single session.",
            show_default=False,
        ),
    ] = None,
    no_masking: Annotated[
        bool, typer.Option("--no-masking", help="Never mask old tool results.")
    ] = False,
    masking_batch: Annotated[
        str,
        typer.Option(
            metavar="auto|N",
            help="Move the mask when that pays, or N steps at a time.",
        ),
    ] = "auto",
    no_compaction: Annotated[
        bool, typer.Option("--no-compaction", help="Never summarise.")
    ] = False,
    no_eviction: Annotated[
        bool, typer.Option("--no-eviction", help="Never move a huge text to a file.")
    ] = False,
) -> None:
    """Play recorded sessions through the agent graph and measure every request.

    The recorded answers and tool results are played again; memory is off and nothing leaves a
    temporary folder. Reported: tokens by part, what masks and evictions hide, the cached prefix,
    the cost (0.1 for a cached token, 1.25 for a new one, 5 for one of output, summaries included;
    a prefix below 1,024 tokens is not cached), and requests above the window, beside the same
    session with its whole history in every request.

    Exit code 2 and one line on standard error if something is wrong; LONGTHREAD_DEBUG=1 shows the
    traceback and checks every request.
    """
    from .replay.command import ReplayOptions, run_replay

    run_replay(
        ReplayOptions(
            files=files,
            window=window,
            as_json=as_json,
            plot=plot,
            model=model,
            requests=requests,
            masking=not no_masking,
            masking_batch=masking_batch,
            compaction=not no_compaction,
            eviction=not no_eviction,
            check=os.environ.get("LONGTHREAD_DEBUG", "0") not in ("", "0"),
        )
    )


def main() -> None:
    """Run the command line: the entry point of the installed command."""
    app()


def _nobody_listens() -> int:
    """Whoever read our output has gone (`| head`): end quietly, also at the interpreter's exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # not a real file: there is nothing that could complain at exit
    return 0
