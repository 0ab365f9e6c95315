"""Opening a chat: from the options to an agent, its threads and a terminal; and closing it."""

from __future__ import annotations

import asyncio
import io
import sys
from contextlib import AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool
from rich.console import Console

from ...graphs.agent import create_agent_graph
from ...nodes.background import drain
from ...state.errors import ConfigurationError
from ...stores.checkpointers.opening import aopen_checkpointer
from ...stores.local.workspace import LocalWorkspace
from ...stores.settings import Settings
from ..options import checkpointer_url
from .acting_tools import shell_tool, writing_tool
from .commands import run_command
from .folder import Folder
from .interrupts import Interrupts
from .reader import Reader
from .reading_tools import reading_tools
from .screen import PlainScreen, Screen, TerminalScreen, warnings_on
from .session import Session, new_thread_id

__all__ = ["Options", "run_chat"]

FAILED = 2
_DRAIN_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the command, see there."""

    thread: str | None
    model: str | None
    settings: Path
    scripted: bool
    checkpointer: str | None
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
    settings = Settings.load(options.settings)
    model = _model(options, settings)
    url = checkpointer_url(options.checkpointer, options.workspace)
    tools = _tools(options, url)
    reader = Reader()
    screen = _screen(reader)
    workspace = LocalWorkspace(options.workspace)
    with asyncio.Runner() as runner:
        interrupts = Interrupts(runner)
        stack = AsyncExitStack()
        saver = runner.run(stack.enter_async_context(aopen_checkpointer(url)))
        try:
            graph = create_agent_graph(
                model,
                tools,
                system_prompt=options.system,
                name=options.agent,
                **_parts(options, settings),
                workspace=workspace,
                checkpointer=saver,
                context_window=options.window,
            )
            session = Session(
                interrupts=interrupts,
                graph=graph,
                saver=saver,
                workspace=workspace,
                reader=reader,
                screen=screen,
                thread=options.thread or new_thread_id(),
                user=options.user,
                agent=options.agent,
            )
            with warnings_on(screen), interrupts if reader.interactive else nullcontext():
                _greet(session)
                session.talk(run_command)
                _part(session, options)
        finally:
            runner.run(stack.aclose())
    return FAILED if session.failed and not reader.interactive else 0


def _greet(session: Session) -> None:
    state = session.glance()
    if session.reader.interactive:
        session.screen.note(f"thread {session.thread}; /help lists the commands")
        if state is not None and session.unfinished(state):
            session.screen.note("an empty line or /resume goes on with its last turn; or say more")


def _part(session: Session, options: Options) -> None:
    """Wait for memory to be written, and say how to come back."""
    if not drain(0.0):
        if session.reader.interactive:
            session.screen.note("writing down what is to be remembered; Ctrl-C: later")
        try:
            session.drained(_DRAIN_SECONDS)
        except KeyboardInterrupt:
            session.screen.note("the next turn of the thread makes up for it")
    for text in session.unsent():
        session.screen.note(f"not stored: {text}")
    if not session.reader.interactive:
        return
    state = session.glance()
    if state is not None and state.created_at is not None:
        again = "" if options.thread == session.thread else f" --thread {session.thread}"
        if again:
            session.screen.note(f"to go on: longthread chat … {again.strip()}")


def _parts(options: Options, settings: Settings) -> dict[str, Any]:
    """Return what the settings say; of models nothing, where a scripted one does everything."""
    if not options.scripted:
        return {"settings": settings}
    own = settings.agent(options.agent)
    parts = {name: getattr(own, name) for name in ("memory", "compaction", "masking", "eviction")}
    for name in ("memory", "compaction"):
        if parts[name] is not None:
            parts[name] = parts[name].model_copy(update={"model": None})
    return parts


def _model(options: Options, settings: Settings) -> Any:
    if options.scripted:
        if options.model is not None:
            raise ConfigurationError("--scripted and --model: give one of them")
        from .scripted import EchoModel, echo

        return EchoModel(script=echo)
    if options.model is None and settings.agent(options.agent).main is None:
        raise ConfigurationError(
            "no model: name one, as in --model openai:gpt-5-mini, or the folder of a "
            "settings.json with --settings; --scripted needs neither key nor network"
        )
    return options.model


def _tools(options: Options, url: str) -> list[BaseTool]:
    if options.folder is None:
        if options.allow_write or options.allow_shell:
            raise ConfigurationError("--allow-write and --allow-shell: name the --folder too")
        return []
    if not options.folder.is_dir():
        raise ConfigurationError(f"--folder {str(options.folder)!r}: there is no such folder")
    hidden = [options.workspace]
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
