"""Parent graphs for tests: agents as nodes of somebody else's graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents import Scripted, look
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from longthread import create_agent_graph
from longthread.graphs.agent_node import agent_node


def inner(script: Scripted, tmp_path: Path, tools: Sequence[Any] = (look,), **options: Any) -> Any:
    """Make an agent without a checkpointer of its own."""
    options.setdefault("memory", None)
    return create_agent_graph(script.model, tools, workspace=tmp_path / "workspace", **options)


def chain(saver: Any = None, schema: Any = MessagesState, **nodes: Any) -> Any:
    """Compile a parent that runs its nodes one after the other, in the order that they are given.

    Args:
        saver: The checkpointer; None: one in memory, False: none.
        schema: The parent's state.
        **nodes: Nodes by name.
    """
    builder = StateGraph(schema)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer=InMemorySaver() if saver is None else saver or None)


def around(script: Scripted, tmp_path: Path, saver: Any = None, **options: Any) -> Any:
    """Compile a parent with one agent in it, called `helper`."""
    return chain(saver, helper=agent_node(inner(script, tmp_path, **options)))


def inside(name: str, *more: str, thread: str = "t") -> Any:
    """Return the config of the agent's thread in a parent's thread."""
    values = {"thread_id": thread, "checkpoint_ns": "|".join((name, *more))}
    return {"configurable": values}


def journal(parent: Any, name: str = "helper", thread: str = "t") -> list[Any]:
    """Return the journal of an agent in a parent."""
    found: list[Any] = parent.get_state(inside(name, thread=thread)).values.get("messages", [])
    return found
