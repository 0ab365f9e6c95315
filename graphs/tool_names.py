"""Names of our own tools beside the application's: the application's win."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def excluding(
    eviction: ToolResultEvictionConfig, ours: Mapping[str, str]
) -> ToolResultEvictionConfig:
    """Return the configuration with our tools that read excluded, whatever they are called.

    Args:
        eviction: The configuration. Where it names its exclusions itself, only what reads evicted
            texts is added; else a tool of the application's own that has the name of one of ours is
            not excluded.
        ours: The name that each of our tools has here, by its usual name.
    """
    names = eviction.exclude_tools
    if "exclude_tools" not in eviction.model_fields_set:
        names = tuple(ours.get(name, name) for name in names)
    elif "read_file" in ours:
        names = tuple(dict.fromkeys((*names, ours["read_file"])))
    return eviction.model_copy(update={"exclude_tools": names})
