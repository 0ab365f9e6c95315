"""The tools that an agent's model is offered: the application's, and our own under free names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from ..nodes.tools.own_tool import page_chars_of
from ..nodes.tools.read_file import read_file_tool
from ..state.config import MemoryConfig, ToolResultEvictionConfig
from ..state.errors import ConfigurationError
from ..stores.workspace import Workspace
from .arguments import checked_tools
from .memory_tools import MemoryTools, memory_tools
from .models import can_call_tools
from .thread_tools import thread_tools
from .tool_names import excluding, free_name

__all__ = ["OfferedTools"]


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """What the model is offered.

    Attributes:
        all: The application's tools, then our own.
        without_threads: The same without those that look into threads; None: there are none.
        read_tool: Name of the tool that reads evicted texts; None: there is none.
        remembering: The memory tools.
        eviction: When results leave the context; those of our own tools do not.
    """

    all: Sequence[Any]
    without_threads: Sequence[Any] | None
    read_tool: str | None
    remembering: MemoryTools
    eviction: ToolResultEvictionConfig | None

    @classmethod
    def of(
        cls,
        tools: Sequence[Any],
        model: BaseChatModel,
        files: Workspace,
        *,
        agent: str,
        window: int,
        eviction: ToolResultEvictionConfig | None,
        memory: MemoryConfig | None,
    ) -> OfferedTools:
        """Put them together.

        Raises:
            ConfigurationError: One of them cannot be used, or the model cannot call any.
        """
        bound = checked_tools(tools)
        can_call = can_call_tools(model)
        if bound and not can_call:
            raise ConfigurationError(
                f"tools: {type(model).__name__} cannot call tools; give it none"
            )
        read_tool = None
        if eviction is not None and can_call:
            read_tool = free_name("read_file", bound)
            bound.append(
                read_file_tool(
                    files,
                    agent=agent,
                    evicted=eviction.path,
                    page_chars=page_chars_of(window),
                    page_tokens=window // 8,
                    name=read_tool,
                )
            )
        asked = memory if can_call else None
        remembering = memory_tools(asked, files, bound, agent=agent, window=window)
        bound.extend(remembering.shown)
        others = list(bound)
        in_threads = thread_tools(asked, files, bound, agent=agent, window=window)
        bound.extend(in_threads.values())
        if eviction is not None:
            ours = {**remembering.names, **{key: t.name for key, t in in_threads.items()}}
            read = {"read_file": read_tool} if read_tool else {}
            eviction = excluding(eviction, {**ours, **read})
        return cls(bound, others if in_threads else None, read_tool, remembering, eviction)

    @property
    def runnable(self) -> list[BaseTool]:
        """Those that are run here, under every name that the model may know them by."""
        return [t for t in (*self.all, *self.remembering.aliases) if isinstance(t, BaseTool)]

    @property
    def direct(self) -> frozenset[str]:
        """Names of those whose results are for the user."""
        return frozenset(t.name for t in self.all if isinstance(t, BaseTool) and t.return_direct)
