"""Maintaining memory on demand: `maintain_memory`, its twin, and a graph to be scheduled.

An agent looks after its memory by itself, after calls. This is for memory that has no calls any
more, for an application that wants to choose the time, and for `MemoryConfig(hooks=False)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from ..nodes.consolidation import ConsolidationNode
from ..nodes.identity import now, owner_of
from ..nodes.maintenance import Maintained, Maintenance
from ..nodes.node import Node, Run, Steps, Update, adrive, drive, io
from ..state.channels import ThreadContext
from ..state.errors import LongthreadError
from ..stores.memory.retention import remove_older
from ..stores.workspace import Owner
from .compiled import AgentGraph
from .thread_access import agent_at, state_of

__all__ = [
    "MaintenanceInput",
    "MaintenanceOutput",
    "MaintenanceResult",
    "amaintain_memory",
    "create_maintenance_graph",
    "maintain_memory",
]


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What maintenance did.

    Attributes:
        rewritten: The MEMORY.md files that were rewritten: of the agent, and the shared one.
        ledgers: The ledgers whose text they have taken in.
        archived: The ledgers that moved to the archive, where they are now.
        removed: The evicted texts that had outlived their time.
    """

    rewritten: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def already_up_to_date(self) -> bool:
        """Whether there was nothing to do; then no model was asked."""
        return not (self.rewritten or self.archived or self.removed)


def maintain_memory(
    graph: Any,
    config: RunnableConfig | None = None,
    *,
    context: ThreadContext | Mapping[str, Any] | None = None,
) -> MaintenanceResult:
    """Consolidate what is new in the ledgers and archive old ones, whenever that was done last.

    Without long-term memory, evicted texts that have outlived their `retention_days` are removed.

    Args:
        graph: The agent graph, or one that holds it.
        config: May name a thread (`configurable.thread_id`) of whose owner the memory is, and with
            `checkpoint_ns` the agent inside of another graph.
        context: Whose memory, as in a call; None: the thread's owner, else the default user's.

    Returns:
        What was done.

    Raises:
        LongthreadError: With code `MEMORY_DISABLED` when there is nothing that it could do, or
            `CONSOLIDATION_REFUSED` when what the model wrote must not replace MEMORY.md: what was
            rewritten before stays.
        WorkspaceError: A file cannot be read or written.
    """
    return drive(_on_demand(graph, config or {}, context))


async def amaintain_memory(
    graph: Any,
    config: RunnableConfig | None = None,
    *,
    context: ThreadContext | Mapping[str, Any] | None = None,
) -> MaintenanceResult:
    """Do what `maintain_memory` does, asynchronously."""
    return await adrive(_on_demand(graph, config or {}, context))


def _on_demand(
    graph: Any, config: RunnableConfig, context: ThreadContext | Mapping[str, Any] | None
) -> Steps[MaintenanceResult]:
    node = _consolidation(agent_at(graph, config))
    run = Run(config, Runtime(context=context))
    owner = owner_of(run, node.agent)
    if context is None and (config.get("configurable") or {}).get("thread_id"):
        owner = yield from _owner_of_thread(graph, config, owner)
    return (yield from _maintained(node, owner, run))


def _owner_of_thread(graph: Any, config: RunnableConfig, default: Owner) -> Steps[Owner]:
    if getattr(graph, "checkpointer", None) in (None, False):
        return default
    snapshot = yield state_of(graph, config)
    recorded = (snapshot.values or {}).get("owner")
    return Owner(recorded["user"], recorded["agent"]) if recorded else default


def _maintained(node: ConsolidationNode, owner: Owner, run: Run) -> Steps[MaintenanceResult]:
    memory, eviction = node.policy.memory, node.policy.eviction
    files = node.workspace.scoped(owner)
    moment: datetime = yield io(now, run)
    if memory is None or not memory.enabled:
        if eviction is None or eviction.retention_days is None:
            raise LongthreadError(
                "this agent has no long-term memory (memory=None or MemoryConfig(enabled=False)), "
                "so there is nothing to maintain",
                code="MEMORY_DISABLED",
            )
        removed: list[str] = yield io(
            remove_older, files, eviction.path, moment, eviction.retention_days
        )
        return MaintenanceResult(removed=tuple(removed))
    maintenance = Maintenance(node.policy, node.model, node.window)
    done: Maintained = yield from maintenance.steps(files, moment, node.policy.window, run)
    return MaintenanceResult(
        *map(tuple, (done.rewritten, done.ledgers, done.archived, done.removed))
    )


def _consolidation(agent: Any) -> ConsolidationNode:
    node = agent.builder.nodes["consolidation"].runnable
    assert isinstance(node, ConsolidationNode)
    return node


class MaintenanceInput(TypedDict, total=False):
    """Whose memory to maintain. An identity that the server has authenticated overrides it.

    Keys:
        user_id: The user; left out: the context's, else the default user.
        agent: The name under which the agent keeps its memory; left out: the graph's own.
    """

    user_id: str | None
    agent: str | None


class MaintenanceOutput(TypedDict, total=False):
    """What was done, see `MaintenanceResult`."""

    rewritten: list[str]
    ledgers: list[str]
    archived: list[str]
    removed: list[str]


class _State(MaintenanceInput, MaintenanceOutput, total=False):
    pass


class _MaintainMemory(Node):
    def __init__(self, agent: AgentGraph) -> None:
        self.node = _consolidation(agent)

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        known = owner_of(run, self.node.agent)
        server = getattr(run.runtime, "server_info", None)
        user = known.user
        if getattr(server, "user", None) is None:
            user = state.get("user_id") or user
        owner = Owner(user, state.get("agent") or known.agent)
        result = yield from _maintained(self.node, owner, run)
        return {
            "rewritten": list(result.rewritten),
            "ledgers": list(result.ledgers),
            "archived": list(result.archived),
            "removed": list(result.removed),
        }


def create_maintenance_graph(agent: AgentGraph) -> Any:
    """Make a graph that maintains an agent's memory, for a server to run and to schedule.

    Args:
        agent: The agent graph.

    Returns:
        A compiled graph: `MaintenanceInput` in, `MaintenanceOutput` out. It raises what
        `maintain_memory` raises.
    """
    graph = StateGraph(
        _State,
        context_schema=ThreadContext,
        input_schema=MaintenanceInput,
        output_schema=MaintenanceOutput,
    )
    graph.add_node("maintenance", _MaintainMemory(agent))
    graph.add_edge(START, "maintenance")
    graph.add_edge("maintenance", END)
    return graph.compile(name="maintenance")
