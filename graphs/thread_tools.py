"""The tools of an agent that look into threads: which there are, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool

from ..nodes.tools.own_threads import OwnThreads
from ..nodes.tools.own_tool import page_chars_of
from ..nodes.tools.thread_history import thread_history_tool
from ..nodes.tools.thread_search import thread_search_tool
from ..state.config import MemoryConfig
from ..stores.workspace import Workspace
from .tool_names import free_name

__all__ = ["thread_tools"]


def thread_tools(
    memory: MemoryConfig | None,
    workspace: Workspace,
    others: Sequence[BaseTool | dict[str, Any]],
    *,
    agent: str,
    window: int,
) -> dict[str, BaseTool]:
    """Make the tools that the configuration asks for.

    Args:
        memory: The configuration.
        workspace: Where threads are registered.
        others: The agent's other tools, whose names are taken.
        agent: The agent's name.
        window: The model's window in tokens: one result takes at most an eighth of it.

    Returns:
        The tools, by the name that each has when the application leaves it free.
    """
    if memory is None or not (memory.enabled and memory.tools):
        return {}
    threads = OwnThreads(workspace, agent)
    history = free_name("thread_history", others)
    return {
        "thread_search": thread_search_tool(
            threads,
            page_tokens=window // 8,
            name=free_name("thread_search", others),
            history_tool=history,
        ),
        "thread_history": thread_history_tool(
            threads,
            page_chars=page_chars_of(window),
            page_tokens=window // 8,
            name=history,
        ),
    }
