"""`memory_read`: read the MEMORY.md of a scope, whole."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from ...state.counting import count_text
from ...state.text import clip_end
from ...stores.memory.memory_paths import memory_path
from ...stores.memory.scopes import parse_scope
from ...stores.workspace import Workspace
from ..identity import owner_of
from ..node import Run
from .own_tool import ScopeArgument, own_tool

__all__ = ["memory_read_tool"]


class Arguments(BaseModel):
    """What the model says."""

    scope: ScopeArgument = "agent"


def memory_read_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    max_tokens: int = 16_000,
    name: str = "memory_read",
    get_tool: str = "memory_get",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose memory it reads.
        agent: The agent's name.
        max_tokens: A file that takes more is returned up to there, with a note on how to go on.
        name: Its name, when the application has a tool of that name.
        get_tool: Name of the tool that reads on.
    """

    def memory_read(run: Run, scope: Any) -> str:
        path = memory_path(parse_scope(scope))
        text = workspace.scoped(owner_of(run, agent)).read_text(path) or ""
        if not text.strip():
            return f"[{path} is empty: nothing has been remembered yet]"
        tokens = count_text(text)
        if tokens <= max_tokens:
            return text
        head = clip_end(text, len(text) * max_tokens // tokens)
        place = f"char_offset={len(head)}"
        if "\n" in head:
            head = head[: head.rindex("\n")]
            place = f"start_line={head.count(chr(10)) + 2}"
        return f"{head}\n[{path} goes on: {get_tool} with path={path!r}, {place}]"

    return own_tool(
        memory_read,
        name=name,
        description="Read all of MEMORY.md: your own (scope agent) or that of all agents (global).",
        arguments=Arguments,
    )
