"""Names of our own tools beside the application's: the application's win."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from ..state.config import ToolResultEvictionConfig

__all__ = ["excluding", "free_name"]


def free_name(name: str, tools: Sequence[BaseTool | dict[str, Any]]) -> str:
    """Return the name, or a variant of it if the application has a tool of that name."""
    taken = {convert_to_openai_tool(t).get("function", {}).get("name") for t in tools}
    if name not in taken:
        return name
    variants = (f"{name}_from_workspace{i or ''}" for i in range(len(taken) + 1))
    return next(variant for variant in variants if variant not in taken)


def excluding(eviction: ToolResultEvictionConfig, read_tool: str) -> ToolResultEvictionConfig:
    """Return the configuration with the tool that reads evicted texts excluded, whatever its name.

    Args:
        eviction: The configuration. Unless it names its exclusions itself, a `read_file` of the
            application's own is not one of them.
        read_tool: Name of our tool.
    """
    names = eviction.exclude_tools
    if read_tool != "read_file" and "exclude_tools" not in eviction.model_fields_set:
        names = tuple(n for n in names if n != "read_file")
    return eviction.model_copy(update={"exclude_tools": tuple(dict.fromkeys((*names, read_tool)))})
