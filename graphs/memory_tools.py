"""The memory tools of an agent: which there are, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.tools import BaseTool

from ..nodes.tools.memory_get import memory_get_tool
from ..nodes.tools.memory_read import memory_read_tool
from ..nodes.tools.memory_save import memory_save_tool
from ..nodes.tools.memory_search import memory_search_tool
from ..nodes.tools.own_tool import page_chars_of
from ..state.config import MemoryConfig
from ..stores.workspace import Workspace
from .tool_names import free_name

__all__ = ["MemoryTools", "memory_tools"]


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """The memory tools of an agent.

    Attributes:
        shown: Those that the model is shown.
        aliases: The same ones under other names that a model may know them by. They are run when
            they are called; showing them too would cost every request their schemas.
        names: The name that each has here, by the name it has when the application leaves it free.
    """

    shown: Sequence[BaseTool] = ()
    aliases: Sequence[BaseTool] = ()
    names: dict[str, str] = field(default_factory=dict)


def memory_tools(
    memory: MemoryConfig | None,
    workspace: Workspace,
    others: Sequence[BaseTool | dict[str, Any]],
    *,
    agent: str,
    window: int,
) -> MemoryTools:
    """Make the tools that the configuration asks for.

    Args:
        memory: The configuration.
        workspace: Where memory lives.
        others: The agent's other tools, whose names are taken.
        agent: The agent's name.
        window: The model's window in tokens: one result takes at most an eighth of it, all of
            MEMORY.md a quarter.
    """
    if memory is None or not (memory.enabled and memory.tools):
        return MemoryTools()
    names = {
        name: free_name(name, others)
        for name in ("memory_search", "memory_get", "memory_read", "memory_save")
    }

    def save_tool(name: str) -> BaseTool:
        return memory_save_tool(
            workspace,
            agent=agent,
            max_lines=memory.max_lines,
            max_tokens=min(memory.max_reference_tokens, window // 4),
            redact=memory.redact,
            automatic=memory.hooks and memory.flush_trigger.mode != "never",
            name=name,
        )

    page = window // 8
    get_tool = names["memory_get"]
    shown = (
        memory_search_tool(
            workspace,
            agent=agent,
            page_tokens=page,
            name=names["memory_search"],
            get_tool=get_tool,
        ),
        memory_get_tool(
            workspace,
            agent=agent,
            page_chars=page_chars_of(window),
            page_tokens=page,
            name=get_tool,
        ),
        memory_read_tool(
            workspace,
            agent=agent,
            max_tokens=window // 4,
            name=names["memory_read"],
            get_tool=get_tool,
        ),
        save_tool(names["memory_save"]),
    )
    written = "memory_write"
    aliases = (save_tool(written),) if free_name(written, others) == written else ()
    return MemoryTools(shown, aliases, names)
