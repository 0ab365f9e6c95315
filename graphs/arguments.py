"""Checking what an application hands to `create_agent_graph`: field, value, what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..state.config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
)
from ..state.errors import ConfigurationError

__all__ = [
    "BoundTool",
    "check_parts",
    "check_prompt",
    "check_reference",
    "checked_journal_window",
    "checked_tools",
    "checked_window",
]

BoundTool = BaseTool | dict[str, Any]

_PARTS: dict[str, type[Any]] = {
    "memory": MemoryConfig,
    "compaction": CompactionConfig,
    "rolling": RollingCompactionConfig,
    "masking": MaskingConfig,
    "eviction": ToolResultEvictionConfig,
}


def check_parts(**parts: Any) -> None:
    """Refuse a part that is neither its configuration model nor None."""
    for name, value in parts.items():
        kind = _PARTS[name]
        if value is not None and not isinstance(value, kind):
            raise ConfigurationError(
                f"{name}={value!r}: pass {kind.__name__}(…), or None to turn it off"
            )


def checked_tools(
    tools: Sequence[BaseTool | Callable[..., Any] | Mapping[str, Any]],
) -> list[BoundTool]:
    """Return the tools ready to be bound: functions made into tools, names all different."""
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Sequence):
        raise ConfigurationError(f"tools={tools!r}: pass a list of tools")
    bound: list[BoundTool] = []
    for number, given in enumerate(tools):
        if isinstance(given, BaseTool):
            bound.append(given)
        elif isinstance(given, Mapping):
            bound.append(dict(given))
        elif callable(given):
            try:
                bound.append(as_tool(given))
            except Exception as error:
                raise ConfigurationError(f"tools[{number}]={given!r}: {error}") from error
        else:
            raise ConfigurationError(
                f"tools[{number}]={given!r}: pass a tool, a function, or a provider's own as a dict"
            )
    names = [convert_to_openai_tool(tool).get("function", {}).get("name") for tool in bound]
    for name in names:
        if name is not None and names.count(name) > 1:
            raise ConfigurationError(f"tools: two of them are called {name!r}; rename one")
    return bound


def checked_window(window: Any) -> int | None:
    """Return the configured context window, if one is given."""
    if window is None:
        return None
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigurationError(
            f"context_window={window!r}: give the model's window in tokens, such as 128_000"
        )
    return window


def checked_journal_window(window: Any) -> int | None:
    """Return how many messages a thread carries in its state, or None for any number."""
    if window is None:
        return None
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise ConfigurationError(
            f"journal_window={window!r}: give a number of messages, such as 5_000, or None to "
            "seal nothing"
        )
    return window


def check_prompt(prompt: Any) -> None:
    """Refuse a system prompt that is no text, message or callable."""
    if not (prompt is None or callable(prompt) or isinstance(prompt, (str, SystemMessage))):
        raise ConfigurationError(
            f"system_prompt={prompt!r}: pass a text, a SystemMessage, or a callable of state and "
            "runtime"
        )


def check_reference(reference: Any) -> None:
    """Refuse reference material that is no sequence of texts, files and callables."""
    if isinstance(reference, (str, PathLike)) or not isinstance(reference, Sequence):
        raise ConfigurationError(f"reference={reference!r}: pass a list: reference=[…]")
    for number, material in enumerate(reference):
        if not (isinstance(material, (str, PathLike)) or callable(material)):
            raise ConfigurationError(
                f"reference[{number}]={material!r}: pass a text, a file as a Path, or a callable "
                "of state and runtime"
            )
