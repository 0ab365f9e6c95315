"""LangGraph agents whose threads outlive the model's context window.

The journal (`messages`) is append-only and the truth; what the model is sent is a pure projection
of it and a few recorded decisions (`project_context`); memory is what outlives the thread.
"""

from longthread.graphs.agent import build_agent_graph, context_policy, create_agent_graph
from longthread.state.channels import ThreadContext, ThreadState
from longthread.state.config import (
    CompactionConfig,
    FlushTrigger,
    MaskingConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from longthread.state.errors import LongthreadError
from longthread.state.overflow import Overflow, classify_overflow, is_context_overflow
from longthread.state.projection import project_context
from longthread.state.prompts import (
    DEFAULT_CONSOLIDATION_PROMPT,
    DEFAULT_FLUSH_PROMPT,
    DEFAULT_SUMMARY_PROMPT,
)
from longthread.stores.local import LocalWorkspace

__all__ = [
    "DEFAULT_CONSOLIDATION_PROMPT",
    "DEFAULT_FLUSH_PROMPT",
    "DEFAULT_SUMMARY_PROMPT",
    "CompactionConfig",
    "FlushTrigger",
    "LocalWorkspace",
    "LongthreadError",
    "MaskingConfig",
    "MemoryConfig",
    "Overflow",
    "ThreadContext",
    "ThreadState",
    "ToolResultEvictionConfig",
    "TruncateArgsConfig",
    "build_agent_graph",
    "classify_overflow",
    "context_policy",
    "create_agent_graph",
    "is_context_overflow",
    "project_context",
]
