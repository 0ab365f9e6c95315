"""The compaction graph: `compact_thread` as a graph, so that a server can run and schedule it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from ..nodes.node import Node, Run, Steps, Update
from .compiled import AgentGraph
from .manual_compaction import compaction_steps

__all__ = ["CompactionInput", "CompactionOutput", "create_compaction_graph"]


class CompactionInput(TypedDict, total=False):
    """What to compact.

    Keys:
        thread_id: The thread.
        instructions: Added to the summariser's prompt.
        dry_run: Say what would be done; ask no model, write nothing.
    """

    thread_id: str
    instructions: str | None
    dry_run: bool


class CompactionOutput(TypedDict, total=False):
    """What was done, see `CompactionResult`."""

    thread_id: str
    compacted_count: int
    new_size: int
    already_up_to_date: bool


class _State(CompactionInput, CompactionOutput, total=False):
    pass


class _CompactThread(Node):
    def __init__(self, agent: AgentGraph) -> None:
        self.agent = agent

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        config = {**run.config, "configurable": {"thread_id": state.get("thread_id")}}
        result = yield from compaction_steps(
            self.agent,
            config,  # type: ignore[arg-type]
            state.get("instructions"),
            bool(state.get("dry_run")),
        )
        return {
            "thread_id": result.thread_id,
            "compacted_count": result.compacted_count,
            "new_size": result.new_size,
            "already_up_to_date": result.already_up_to_date,
        }


def create_compaction_graph(agent: AgentGraph) -> Any:
    """Make a graph that compacts threads of an agent on demand.

    Args:
        agent: The agent graph, compiled with the checkpointer that holds its threads.

    Returns:
        A compiled graph: `CompactionInput` in, `CompactionOutput` out. It raises what
        `compact_thread` raises.
    """
    graph = StateGraph(_State, input_schema=CompactionInput, output_schema=CompactionOutput)
    graph.add_node("compaction", _CompactThread(agent))
    graph.add_edge(START, "compaction")
    graph.add_edge("compaction", END)
    return graph.compile(name="compaction")
