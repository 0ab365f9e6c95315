"""Tools that change something: each asks for a yes first, through `interrupt()`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import Process
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from ...nodes.tools.own_tool import own_tool
from .folder import Folder

__all__ = ["REFUSED", "shell_tool", "writing_tool"]

REFUSED = "The user said no: nothing was done."
_SECONDS = 120.0
_END_SECONDS = 2.0
_OUTPUT_BYTES = 30_000


class _Writing(BaseModel):
    path: str = Field(description="The file, which is made, or replaced as a whole.")
    content: str = Field(description="Its new text.")


class _Running(BaseModel):
    command: str = Field(description="A shell command.")


def writing_tool(folder: Folder) -> BaseTool:
    """Return the tool that writes a file, after a yes."""

    def write(_: Any, path: str, content: str) -> str:
        exists = folder.path(path).exists()  # what is refused need not be asked about
        verb = "replace" if exists else "make"
        if not _confirmed({"action": f"{verb} the file {path}", "detail": content}):
            return REFUSED
        return f"{path}: {folder.write(path, content):,} bytes written."

    return own_tool(
        write,
        name="write_file",
        description="Write a file of the user's. The user is asked first.",
        arguments=_Writing,
    )


def shell_tool(folder: Folder) -> BaseTool:
    """Return the tool that runs a command from the folder, after a yes."""

    async def run(command: str) -> str:
        """Run a shell command in the user's folder. The user is asked first."""
        if "\0" in command:
            return "Error: a command cannot hold NUL characters."
        if not _confirmed({"action": f"run a command in {folder.root}", "detail": command}):
            return REFUSED
        process = await _started(command, folder)
        output = bytearray()
        over = False
        try:
            async with asyncio.timeout(_SECONDS):
                assert process.stdout is not None
                while piece := await process.stdout.read(65_536):
                    over = over or len(output) + len(piece) > _OUTPUT_BYTES
                    output += piece[: _OUTPUT_BYTES - len(output)]
                code = await process.wait()
            ended = f"exit code {code}"
        except TimeoutError:
            ended = f"stopped after {_SECONDS:g} seconds"
        finally:  # Ctrl-C comes here too
            await asyncio.shield(_stopped(process))
        text = output.decode("utf-8", "replace")
        more = f"\n(only the first {_OUTPUT_BYTES:,} bytes)" if over else ""
        return f"{text}{more}\n({ended})" if text else f"({ended}, no output)"

    return StructuredTool.from_function(
        coroutine=run,
        name="run_command",
        description="Run a shell command in the user's folder. The user is asked first.",
        args_schema=_Running,
    )


async def _started(command: str, folder: Folder) -> Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_shell(
            command,
            cwd=folder.root,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            # A group of its own: with it everything that the command has started is ended.
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:  # Ctrl-C, while it is just being started
        await _stopped(await starting)
        raise


async def _stopped(process: Process) -> None:
    """End a command with all that it has started, but for what has left its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(TimeoutError):  # somebody outside the group holds its output open
        await asyncio.wait_for(process.wait(), _END_SECONDS)


def _confirmed(request: dict[str, str]) -> bool:
    return interrupt({"type": "confirmation", **request}) is True
