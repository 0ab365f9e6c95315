"""`memory_get`: read some lines of a memory file."""

from __future__ import annotations

import sys

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from ...state.counting import count_text
from ...state.errors import ToolInputError
from ...stores.lines import split_lines
from ...stores.memory.memory_paths import check_memory_path
from ...stores.paths import shown
from ...stores.workspace import ScopedWorkspace, TextPage, Workspace
from ..identity import owner_of
from ..node import Run
from .own_tool import own_tool

__all__ = ["memory_get_tool"]


class Arguments(BaseModel):
    """What the model says."""

    path: str
    start_line: int = 1
    end_line: int = 0
    char_offset: int = 0


def memory_get_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    page_chars: int = 20_000,
    page_tokens: int = 8_000,
    name: str = "memory_get",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose memory it reads; never another file.
        agent: The agent's name.
        page_chars: The most characters that one call returns.
        page_tokens: The most tokens; dense text reaches that first.
        name: Its name, when the application has a tool of that name.
    """

    def memory_get(run: Run, path: str, start_line: int, end_line: int, char_offset: int) -> str:
        check_memory_path(path)
        first, skip = max(1, start_line), max(0, char_offset)
        if 0 < end_line < first:
            raise ToolInputError(
                f"end_line={end_line!r} is before start_line={start_line!r}; give a later one, or "
                "leave it out to read on to the end"
            )
        last = end_line if end_line > 0 else first + sys.maxsize
        files = workspace.scoped(owner_of(run, agent))
        page = _page(files, path, first, last, skip, page_chars)
        tokens = count_text(page.text)
        if tokens > page_tokens:
            # Dense text: as many characters as fit.
            fits = max(1, len(page.text) * page_tokens // tokens)
            page = _page(files, path, first, last, skip, fits)
        return _shown(page, path, first, last, skip, name)

    return own_tool(
        memory_get,
        name=name,
        description=(
            "Read lines of a memory file (MEMORY.md, memory/YYYY-MM-DD.md, archive-YYYY-MM.md, or "
            "global/…), numbered from 1, as `n|text`. end_line is included; 0: to the end."
        ),
        arguments=Arguments,
    )


def _page(
    files: ScopedWorkspace, path: str, first: int, last: int, skip: int, chars: int
) -> TextPage:
    """Read the lines from `first` to `last`, without the first `skip` characters."""
    page = files.read_lines(path, first - 1, last - first + 1, 1 if skip else chars)
    if page is None:
        raise ToolInputError(f"there is no file {shown(path)} in memory")
    if not skip or not page.text:
        return page
    rest = files.read_chars(path, page.char + skip, chars)
    if rest is None or rest.line != first - 1 or not rest.text:
        raise ToolInputError(f"char_offset={skip!r}: line {first} of {path} is not that long")
    return rest


def _shown(page: TextPage, path: str, first: int, last: int, skip: int, name: str) -> str:
    lines = split_lines(page.text)[: last - first + 1]
    if not lines:
        return f"[{path} ends before line {first}]"
    shown = [f"{first + index}|{line.removesuffix(chr(10))}" for index, line in enumerate(lines)]
    end = first + len(lines) - 1
    whole = lines[-1].endswith("\n") or page.at_end
    if not whole:
        seen = len(lines[-1]) + (skip if len(lines) == 1 else 0)
        more = f"start_line={end}, char_offset={seen}"
    elif end < last and not page.at_end:
        more = f"start_line={end + 1}"
    else:
        return "\n".join(shown)
    return "\n".join([*shown, f"[{path} goes on: {name} again with {more}]"])
