"""How the nodes are wired: which edge follows which node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from ..nodes.compaction import CompactionNode
from ..nodes.consolidation import ConsolidationNode
from ..nodes.eviction import EvictionNode
from ..nodes.flush import FlushNode
from ..nodes.masking import MaskingNode
from ..nodes.overflow_retry import OverflowRetryNode
from ..nodes.reasoning import ReasoningNode
from ..nodes.recall import RecallNode
from ..nodes.seal import SealNode
from ..nodes.tool_calls import ToolsNode
from .triggers import (
    ANSWERED,
    COMPACT,
    COMPACTED,
    EVICT,
    FLUSHED,
    MASK,
    OVERFLOWED,
    RESULTS,
    SEAL,
    Triggers,
)

__all__ = ["Parts", "wire"]


@dataclass(frozen=True, slots=True)
class Parts:
    """The nodes of the agent graph, by the names that people see in Studio."""

    recall: RecallNode
    seal: SealNode
    eviction: EvictionNode
    masking: MaskingNode
    flush: FlushNode
    compaction: CompactionNode
    reasoning: ReasoningNode
    tools: ToolsNode
    overflow_retry: OverflowRetryNode
    consolidation: ConsolidationNode


def wire(
    graph: StateGraph[Any, Any, Any, Any],
    parts: Parts,
    triggers: Triggers,
    *,
    retry_policy: Sequence[RetryPolicy] | None = None,
) -> None:
    """Add nodes and edges. The shape is the same whatever is turned off: a thread can change
    policy.

    Args:
        graph: An empty graph over `ThreadState`.
        parts: The nodes.
        triggers: The questions on the conditional edges.
        retry_policy: How the model call is retried.
    """
    graph.add_node("recall", parts.recall)
    graph.add_node("seal", parts.seal)
    graph.add_node("eviction", parts.eviction)
    graph.add_node("masking", parts.masking)
    graph.add_node("flush", parts.flush)
    graph.add_node("compaction", parts.compaction)
    graph.add_node("reasoning", parts.reasoning, retry_policy=retry_policy)
    graph.add_node("tools", parts.tools)
    graph.add_node("overflow_retry", parts.overflow_retry)
    graph.add_node("consolidation", parts.consolidation)

    graph.add_edge(START, "recall")
    graph.add_conditional_edges("recall", triggers.recalled, SEAL)
    graph.add_conditional_edges("seal", triggers.sealed, EVICT)
    graph.add_conditional_edges("eviction", triggers.evicted, MASK)
    graph.add_conditional_edges("masking", triggers.masked, COMPACT)
    graph.add_conditional_edges("compaction", triggers.compacted, COMPACTED)
    graph.add_conditional_edges("reasoning", triggers.answered, ANSWERED)
    graph.add_conditional_edges("tools", triggers.results_in, RESULTS)
    graph.add_conditional_edges("overflow_retry", triggers.overflowed, OVERFLOWED)
    graph.add_conditional_edges("flush", triggers.flushed, FLUSHED)
    graph.add_edge("consolidation", END)
