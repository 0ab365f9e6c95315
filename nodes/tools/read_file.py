"""`read_file`: the agent reads back what was evicted, or another file of its workspace."""

from __future__ import annotations

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime

from ...state.counting import count_text
from ...state.errors import WorkspaceError
from ...stores.workspace import TextPage, Workspace
from ..identity import owner_of
from ..node import Run

__all__ = ["read_file_tool"]


def read_file_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    page_chars: int = 20_000,
    page_tokens: int = 8_000,
    name: str = "read_file",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose files it reads; never anything outside.
        agent: The agent's name.
        page_chars: The most characters that one call returns.
        page_tokens: The most tokens; dense text reaches that first.
        name: Its name, when the application has a `read_file` of its own.
    """

    @tool(name)
    def read_file(
        path: str,
        runtime: ToolRuntime,
        offset: int = 0,
        limit: int = 500,
        char_offset: int | None = None,
    ) -> str:
        """Read a file of your workspace, above all the full text of a large tool result.

        Args:
            path: Path as it was shown to you, such as large_tool_results/….txt.
            offset: First line to read, counted from 0.
            limit: Most lines to read.
            char_offset: Read from this character instead, to page through a very long line.
        """
        files = workspace.scoped(owner_of(Run(runtime.config, runtime), agent))
        try:
            if char_offset is not None:
                page = files.read_chars(path, max(0, char_offset), page_chars)
            else:
                page = files.read_lines(path, max(0, offset), max(1, limit), page_chars)
        except WorkspaceError as error:
            return f"Error: {error}"
        if page is None:
            return f"Error: there is no file {path!r} in the workspace."
        if count_text(page.text) > page_tokens:
            # Dense text: as many characters as fit, from where the page begins.
            fits = len(page.text) * page_tokens // count_text(page.text)
            page = files.read_chars(path, page.char, max(1, fits))
            assert page is not None
        return _shown(page, path)

    return read_file


def _shown(page: TextPage, path: str) -> str:
    if page.at_end:
        return page.text or f"[{path} has no text from there on]"
    if page.text.endswith("\n"):
        more = f"offset={page.next_line}"
    else:
        more = f"char_offset={page.next_char}"
    return f"{page.text}\n[{path} goes on: read it again with {more}]"
