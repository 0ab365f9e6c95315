"""Opening a chat: from the options to an agent, its threads and a terminal; and closing it."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool
from rich.console import Console

from ...graphs.agent import create_agent_graph
from ...nodes.background import drain
from ...state.errors import ConfigurationError
from ...stores.checkpointers import aopen_checkpointer
from ...stores.local import LocalWorkspace
from .acting_tools import shell_tool, writing_tool
from .commands import run_command
from .folder import Folder
from .reader import Reader
from .reading_tools import reading_tools
from .screen import PlainScreen, Screen, TerminalScreen, warnings_to
from .session import Session, new_thread_id

if TYPE_CHECKING:
    from ...stores.settings import Settings

__all__ = ["Options", "run_chat"]

FAILED = 2
_DRAIN_SECONDS = 30.0
_SETTINGS = "settings.json"


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command, see there."""

    thread: str | None
    model: str | None
    settings: Path | None
    scripted: bool
    checkpoints: str | None
    workspace: Path
    user: str | None
    agent: str
    system: str
    window: int | None
    folder: Path | None
    allow_write: bool
    allow_shell: bool


def run_chat(options: Options) -> int:
    """Chat until there is no more input.

    Returns:
        0; without a terminal, 2 if something has failed.
    """
    settings = _settings(options)
    model = _model(options, settings)
    url = _url(options)
    tools = _tools(options, url)
    reader = Reader()
    if reader.interactive:
        _heed_ctrl_c()
    screen = _screen(reader)
    logger = logging.getLogger("longthread")
    handler = warnings_to(screen)
    workspace = LocalWorkspace(options.workspace)
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        saver = runner.run(stack.enter_async_context(aopen_checkpointer(url)))
        logger.addHandler(handler)
        try:
            graph = create_agent_graph(
                model,
                tools,
                system_prompt=options.system,
                name=options.agent,
                settings=settings,
                workspace=workspace,
                checkpointer=saver,
                context_window=options.window,
            )
            session = Session(
                runner=runner,
                graph=graph,
                saver=saver,
                workspace=workspace,
                reader=reader,
                screen=screen,
                thread=options.thread or new_thread_id(),
                user=options.user,
                agent=options.agent,
            )
            _greet(session)
            session.talk(run_command)
            _part(session, options)
        finally:
            logger.removeHandler(handler)
            runner.run(stack.aclose())
    return FAILED if session.failed and not reader.interactive else 0


def _heed_ctrl_c() -> None:
    """Undo what a script that starts programs in the background does: have them ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _greet(session: Session) -> None:
    waiting = session.unfinished()
    if session.reader.interactive:
        session.screen.note(f"thread {session.thread}; /help lists the commands")
        if waiting:
            session.screen.note("an empty line or /resume goes on with its last turn; or say more")


def _part(session: Session, options: Options) -> None:
    """Wait for memory to be written, and say how to come back."""
    if not drain(0.0):
        if session.reader.interactive:
            session.screen.note("writing down what is to be remembered; Ctrl-C: later")
        try:
            drain(_DRAIN_SECONDS)
        except KeyboardInterrupt:
            session.screen.note("the next turn of the thread makes up for it")
    if session.reader.interactive and session.state().created_at is not None:
        again = "" if options.thread == session.thread else f" --thread {session.thread}"
        if again:
            session.screen.note(f"to go on: longthread chat … {again.strip()}")


def _settings(options: Options) -> Settings | None:
    folder = options.settings
    if folder is None and (Path(_SETTINGS).is_file() and not options.scripted):
        folder = Path()
    if folder is None:
        return None
    from ...stores.settings import Settings

    return Settings.load(folder)


def _model(options: Options, settings: Settings | None) -> Any:
    if options.scripted:
        if options.model is not None:
            raise ConfigurationError("--scripted and --model: give one of them")
        from .scripted import EchoModel, echo

        return EchoModel(script=echo)
    named = options.model or (None if settings else os.environ.get("LONGTHREAD_MODEL"))
    if named is None and settings is None:
        raise ConfigurationError(
            "no model: name one, as in --model openai:gpt-5-mini, or the folder of a "
            "settings.json with --settings; --scripted needs neither key nor network"
        )
    return named


def _url(options: Options) -> str:
    given = options.checkpoints
    if given is not None and "://" in given:
        return given
    path = Path(given) if given is not None else options.workspace / "threads.db"
    return f"sqlite:///{path.absolute()}"


def _tools(options: Options, url: str) -> list[BaseTool]:
    if options.folder is None:
        if options.allow_write or options.allow_shell:
            raise ConfigurationError("--allow-write and --allow-shell: name the --folder too")
        return []
    if not options.folder.is_dir():
        raise ConfigurationError(f"--folder {str(options.folder)!r}: there is no such folder")
    hidden = [options.workspace, (options.settings or Path()) / "auth.json"]
    if url.startswith("sqlite:///"):
        path = url.removeprefix("sqlite:///")
        hidden += [Path(path + end) for end in ("", "-wal", "-shm", "-journal")]
    folder = Folder(options.folder, hidden)
    tools = reading_tools(folder)
    if options.allow_write:
        tools.append(writing_tool(folder))
    if options.allow_shell:
        tools.append(shell_tool(folder))
    return tools


def _screen(reader: Reader) -> Screen:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    return TerminalScreen(console) if reader.interactive else PlainScreen(console)
