"""`read_file`: the agent reads back what was evicted, or another file of its workspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, WithJsonSchema

from ...state.counting import count_text
from ...state.errors import ToolInputError
from ...stores.paths import shown
from ...stores.workspace import TextPage, Workspace
from ..identity import owner_of, thread_owner
from ..node import Run
from .own_tool import own_tool

__all__ = ["read_file_tool"]


class Arguments(BaseModel):
    """What the model says."""

    path: str
    offset: int = 0
    limit: int = 500
    char_offset: Annotated[int | None, WithJsonSchema({"type": "integer"})] = None


def read_file_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    evicted: str = "large_tool_results",
    page_chars: int = 20_000,
    page_tokens: int = 8_000,
    name: str = "read_file",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose files it reads; never anything outside.
        agent: The agent's name.
        evicted: The folder of evicted texts, which are kept with the files of the thread's owner.
        page_chars: The most characters that one call returns.
        page_tokens: The most tokens; dense text reaches that first.
        name: Its name, when the application has a `read_file` of its own.
    """

    def read_file(run: Run, path: str, offset: int, limit: int, char_offset: int | None) -> str:
        owner = owner_of(run, agent)
        if path.startswith(f"{evicted}/"):
            owner = thread_owner(_state(run), run, agent)
        files = workspace.scoped(owner)
        if char_offset is not None:
            page = files.read_chars(path, max(0, char_offset), page_chars)
        else:
            page = files.read_lines(path, max(0, offset), max(1, limit), page_chars)
        if page is None:
            raise ToolInputError(f"there is no file {shown(path)} in the workspace.")
        if count_text(page.text) > page_tokens:
            # Dense text: as many characters as fit, from where the page begins.
            fits = len(page.text) * page_tokens // count_text(page.text)
            page = files.read_chars(path, page.char, max(1, fits))
            assert page is not None
        return _shown(page, path)

    return own_tool(
        read_file,
        name=name,
        description=(
            "Read a file of your workspace, above all the full text of a large tool result: "
            "`limit` lines from line `offset` on, counted from 0; or from character `char_offset` "
            "on, to page through a very long line."
        ),
        arguments=Arguments,
    )


def _state(run: Run) -> Mapping[str, Any]:
    """Return our state, which under the middleware is one channel of somebody else's."""
    state: Any = getattr(run.runtime, "state", None)
    if not isinstance(state, Mapping):
        return {}
    ours = state.get("longthread")
    return ours if isinstance(ours, Mapping) else state


def _shown(page: TextPage, path: str) -> str:
    if page.at_end:
        return page.text or f"[{path} has no text from there on]"
    if page.text.endswith("\n"):
        more = f"offset={page.next_line}"
    else:
        more = f"char_offset={page.next_char}"
    return f"{page.text}\n[{path} goes on: read it again with {more}]"
