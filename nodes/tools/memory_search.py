"""`memory_search`: find lines in everything that memory holds."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from ...state.counting import count_text
from ...stores.matching import compile_query
from ...stores.memory.memory_search import MemoryHit, MemoryHits, search_memory
from ...stores.workspace import Workspace
from ..identity import owner_of
from ..node import Run
from .own_tool import MatchModeArgument, own_tool

__all__ = ["memory_search_tool"]


class Arguments(BaseModel):
    """What the model says."""

    query: str
    match_mode: MatchModeArgument = "phrase"


def memory_search_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    max_hits: int = 50,
    page_tokens: int = 8_000,
    name: str = "memory_search",
    get_tool: str = "memory_get",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose memory it searches.
        agent: The agent's name.
        max_hits: Most lines that one call returns.
        page_tokens: The most tokens; a line is shown in part when it is long.
        name: Its name, when the application has a tool of that name.
        get_tool: Name of the tool that reads the lines around a hit.
    """

    def memory_search(run: Run, query: str, match_mode: Any) -> str:
        wanted = compile_query(query, match_mode)
        files = workspace.scoped(owner_of(run, agent))
        return _answer(query, search_memory(files, wanted, max_hits=max_hits), page_tokens)

    return own_tool(
        memory_search,
        name=name,
        description=(
            "Search what you remember from all conversations. Do so before you say that you do not "
            "know something about the user, past work, decisions or dates. Each hit is one line, "
            f"`path#line: text`; {get_tool} reads around it. match_mode: the query literally "
            "(phrase), or lines with all or any of its words."
        ),
        arguments=Arguments,
    )


def _answer(query: str, found: MemoryHits, page_tokens: int) -> str:
    shown = _fitting(found.hits, page_tokens)
    count = len(shown)
    asked = query if len(query) <= 200 else query[:200] + "…"
    if not count:
        lines = [f"No matches for {asked!r}."]
    elif found.more or count < len(found.hits):
        lines = [f"First {count} matches for {asked!r}:", *shown]
        lines.append("[there are more matches: make the query more specific]")
    else:
        lines = [f"{count} {'match' if count == 1 else 'matches'} for {asked!r}:", *shown]
    lines += [f"[{path} could not be read and was not searched]" for path in found.unread]
    return "\n".join(lines)


def _fitting(hits: tuple[MemoryHit, ...], tokens: int) -> list[str]:
    """Return as many hits as fit, at least one."""
    shown: list[str] = []
    for line in map(str, hits):
        tokens -= count_text(line) + 1
        if shown and tokens < 0:
            break
        shown.append(line)
    return shown
