"""Checking what an application hands to `create_agent_graph`: field, value, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, get_type_hints

from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.cache.base import BaseCache
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.store.base import BaseStore
from langgraph.types import RetryPolicy
from typing_extensions import is_typeddict

from ..state.channels import ThreadState
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
    "check_compiling",
    "check_interrupts",
    "check_name",
    "check_parts",
    "check_prompt",
    "check_reference",
    "check_schemas",
    "check_state_schema",
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


def check_name(name: Any) -> None:
    """Refuse a name that is no text; what the workspace makes of it is the workspace's business."""
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"name={name!r}: give the agent's name, a text such as 'coder'")


def check_compiling(
    *, checkpointer: Any, store: Any, cache: Any, interrupt_before: Any, interrupt_after: Any
) -> None:
    """Refuse what LangGraph would only trip over later, or take for something else."""
    if not (checkpointer is None or isinstance(checkpointer, (bool, BaseCheckpointSaver))):
        raise ConfigurationError(
            f"checkpointer={checkpointer!r}: pass a saver, such as the one of `with "
            "open_checkpointer('sqlite:///threads.db') as saver:`, or True, False or None inside "
            "a graph"
        )
    if cache is not None and not isinstance(cache, BaseCache):
        raise ConfigurationError(f"cache={cache!r}: pass a LangGraph cache, or None")
    if store is not None and not isinstance(store, BaseStore):
        raise ConfigurationError(f"store={store!r}: pass a LangGraph store, or None")
    for field, nodes in (
        ("interrupt_before", interrupt_before),
        ("interrupt_after", interrupt_after),
    ):
        if nodes == "*":
            continue
        if isinstance(nodes, str) or not isinstance(nodes, Sequence):
            raise ConfigurationError(f"{field}={nodes!r}: pass the names of nodes, ('tools',)")


def check_interrupts(nodes: Iterable[str], **interrupts: Any) -> None:
    """Refuse a node to stop at that the graph does not have."""
    known = sorted(nodes)
    for field, named in interrupts.items():
        for name in () if named == "*" else named:
            if name not in known:
                raise ConfigurationError(
                    f"{field}={named!r}: there is no node {name!r}; there are {', '.join(known)}"
                )


def check_schemas(context_schema: Any, retry_policy: Any) -> None:
    """Refuse a context schema that is no class, and a retry policy that is none."""
    if not isinstance(context_schema, type):
        raise ConfigurationError(
            f"context_schema={context_schema!r}: pass a class, such as ThreadContext"
        )
    policies = [] if retry_policy is None else retry_policy
    if not isinstance(policies, RetryPolicy) and not (
        isinstance(policies, Sequence) and all(isinstance(one, RetryPolicy) for one in policies)
    ):
        raise ConfigurationError(
            f"retry_policy={retry_policy!r}: pass RetryPolicy(…), several of them, or None"
        )


def check_state_schema(schema: Any) -> None:
    """Refuse a state schema without our channels, or with something else under their names."""
    if not is_typeddict(schema):
        raise ConfigurationError(
            f"state_schema={schema!r}: pass a TypedDict that extends ThreadState, "
            "`class MyState(ThreadState, total=False)`"
        )
    ours = get_type_hints(ThreadState, include_extras=True)
    theirs = get_type_hints(schema, include_extras=True)
    for name in ours.keys() - {"structured_response"}:
        if theirs.get(name) != ours[name]:
            raise ConfigurationError(
                f"state_schema={schema.__name__}: its {name!r} is not that of ThreadState; extend "
                "ThreadState, and call channels of your own by other names"
            )


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
