"""Everything about an agent that shapes what its model is sent, apart from the thread itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import SystemMessage

from .config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
)
from .counting import count_schemas
from .redaction import Redact

__all__ = ["ContextPolicy"]

SystemPrompt = SystemMessage | Callable[[Any, Any], "str | SystemMessage | None"]


@dataclass(frozen=True, eq=False)
class ContextPolicy:
    """The fixed half of a projection; the other half is the thread's state.

    Attributes:
        window: The model's context window in tokens (a limit learned from an overflow may be
            lower).
        output_reserve: Tokens that the model may answer with, if it says so itself.
        system: The system prompt; a callable gets state and runtime before every model call.
        tools: Schemas of the tools, as the model is sent them (OpenAI function format).
        read_tool: Name of the tool that reads an evicted text back; None: there is none.
        search_tool: Name of the tool that searches memory; None: there is none.
        recalling_tools: Names of the tools whose results are memory or past threads: what they say
            is never extracted as new.
        structured: Whether the answer is asked for once more, in the shape of a schema.
        direct_tools: Names of the tools whose result ends the call (`return_direct=True`).
        eviction: See `ToolResultEvictionConfig`; None: off.
        masking: See `MaskingConfig`; None: off.
        compaction: See `CompactionConfig`; None: off.
        rolling: See `RollingCompactionConfig`; None: off.
        memory: See `MemoryConfig`; None: off.
        journal_window: Live messages beyond which the summarised part is sealed; None: never.
    """

    window: int = 64_000
    output_reserve: int | None = None
    system: SystemPrompt | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    read_tool: str | None = None
    search_tool: str | None = None
    recalling_tools: frozenset[str] = frozenset(
        {"memory_search", "memory_get", "memory_read", "thread_search", "thread_history"}
    )
    structured: bool = False
    direct_tools: frozenset[str] = frozenset()
    eviction: ToolResultEvictionConfig | None = None
    masking: MaskingConfig | None = None
    compaction: CompactionConfig | None = None
    rolling: RollingCompactionConfig | None = None
    memory: MemoryConfig | None = None
    journal_window: int | None = None

    def __post_init__(self) -> None:
        # Counted once: a schema never changes, and every request carries it.
        object.__setattr__(self, "_tools_tokens", count_schemas(self.tools))
        names = frozenset(str(tool.get("function", tool).get("name")) for tool in self.tools)
        object.__setattr__(self, "_tool_names", names)

    @property
    def remembers(self) -> bool:
        """Whether memory is written by itself: facts extracted, ledgers consolidated."""
        return self.memory is not None and self.memory.enabled and self.memory.hooks

    @property
    def flushes(self) -> bool:
        """Whether facts are extracted from what a compaction is about to hide."""
        return self.remembers and (self.compaction is None or self.compaction.flush_before_compact)

    @property
    def shows_memory(self) -> bool:
        """Whether MEMORY.md is shown: not when it is neither written by itself nor by tools."""
        memory = self.memory
        return memory is not None and memory.enabled and (memory.hooks or memory.tools)

    @property
    def memory_in_system(self) -> bool:
        """Whether memory joins the system prompt instead of the reference message."""
        return self.memory is not None and self.memory.placement == "system"

    @property
    def redact(self) -> Redact | None:
        """What takes secrets out of a text before a model on the side or a memory file gets it."""
        return self.memory.redact if self.memory is not None else None

    def tool_names(self) -> frozenset[str]:
        """Return the names of the tools."""
        names: frozenset[str] = self.__dict__["_tool_names"]
        return names

    @property
    def tools_tokens(self) -> int:
        """Estimated tokens of the tool schemas."""
        tokens: int = self.__dict__["_tools_tokens"]
        return tokens
