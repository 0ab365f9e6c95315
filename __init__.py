"""LangGraph agents whose threads outlive the model's context window.

The journal (`messages`) is append-only and the truth; what the model is sent is a pure projection
of it and a few recorded decisions (`project_context`); memory is what outlives the thread.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from longthread.apps.context_history import (
        ContextPoint,
        acontext_history,
        context_history,
    )
    from longthread.apps.context_plot import plot_context
    from longthread.graphs.agent import build_agent_graph, context_policy, create_agent_graph
    from longthread.graphs.agent_node import agent_node
    from longthread.graphs.closing import aclose_thread, close_thread
    from longthread.graphs.erasing import (
        ErasureResult,
        aerase_thread,
        aerase_user,
        erase_thread,
        erase_user,
    )
    from longthread.graphs.fork import afork_thread, fork_thread
    from longthread.graphs.maintenance import (
        MaintenanceResult,
        amaintain_memory,
        maintain_memory,
    )
    from longthread.graphs.manual_compaction import (
        CompactionResult,
        acompact_thread,
        compact_thread,
    )
    from longthread.nodes.background import adrain, drain
    from longthread.nodes.merging import ConsolidationRefused
    from longthread.state.channels import ThreadContext, ThreadState
    from longthread.state.config import (
        CompactionConfig,
        FlushTrigger,
        MaskingConfig,
        MemoryConfig,
        RollingCompactionConfig,
        ToolResultEvictionConfig,
        TruncateArgsConfig,
    )
    from longthread.state.errors import (
        AnswerCutOff,
        CheckpointerError,
        ConfigurationError,
        LongthreadError,
        SummaryRefused,
        ThreadBudgetError,
        UnreadableAnswer,
        WorkspaceError,
    )
    from longthread.state.overflow import Overflow, classify_overflow, is_context_overflow
    from longthread.state.projection import project_context
    from longthread.state.prompts import (
        DEFAULT_ADDITION_PROMPT,
        DEFAULT_CONSOLIDATION_PROMPT,
        DEFAULT_FLUSH_PROMPT,
        DEFAULT_SUMMARY_PROMPT,
    )
    from longthread.state.redaction import RedactionError, redact_secrets
    from longthread.stores.checkpointers.opening import aopen_checkpointer, open_checkpointer
    from longthread.stores.journal import ThreadJournal
    from longthread.stores.langgraph_store.workspace import StoreWorkspace
    from longthread.stores.local.workspace import LocalWorkspace
    from longthread.stores.settings import Settings
    from longthread.stores.settings.mistakes import SettingsError

__all__ = [
    "DEFAULT_ADDITION_PROMPT",
    "DEFAULT_CONSOLIDATION_PROMPT",
    "DEFAULT_FLUSH_PROMPT",
    "DEFAULT_SUMMARY_PROMPT",
    "AnswerCutOff",
    "CheckpointerError",
    "CompactionConfig",
    "CompactionResult",
    "ConfigurationError",
    "ConsolidationRefused",
    "ContextPoint",
    "ErasureResult",
    "FlushTrigger",
    "LocalWorkspace",
    "LongthreadError",
    "MaintenanceResult",
    "MaskingConfig",
    "MemoryConfig",
    "Overflow",
    "RedactionError",
    "RollingCompactionConfig",
    "Settings",
    "SettingsError",
    "StoreWorkspace",
    "SummaryRefused",
    "ThreadBudgetError",
    "ThreadContext",
    "ThreadJournal",
    "ThreadState",
    "ToolResultEvictionConfig",
    "TruncateArgsConfig",
    "UnreadableAnswer",
    "WorkspaceError",
    "aclose_thread",
    "acompact_thread",
    "acontext_history",
    "adrain",
    "aerase_thread",
    "aerase_user",
    "afork_thread",
    "agent_node",
    "amaintain_memory",
    "aopen_checkpointer",
    "build_agent_graph",
    "classify_overflow",
    "close_thread",
    "compact_thread",
    "context_history",
    "context_policy",
    "create_agent_graph",
    "drain",
    "erase_thread",
    "erase_user",
    "fork_thread",
    "is_context_overflow",
    "maintain_memory",
    "open_checkpointer",
    "plot_context",
    "project_context",
    "redact_secrets",
]

# Imported when first used: `longthread --help` and `import longthread` need no LangGraph.
_HOMES = {
    "apps.context_history": ("ContextPoint", "acontext_history", "context_history"),
    "apps.context_plot": ("plot_context",),
    "graphs.agent": ("build_agent_graph", "context_policy", "create_agent_graph"),
    "graphs.agent_node": ("agent_node",),
    "graphs.maintenance": ("MaintenanceResult", "amaintain_memory", "maintain_memory"),
    "graphs.closing": ("aclose_thread", "close_thread"),
    "graphs.erasing": (
        "ErasureResult",
        "aerase_thread",
        "aerase_user",
        "erase_thread",
        "erase_user",
    ),
    "graphs.fork": ("afork_thread", "fork_thread"),
    "graphs.manual_compaction": ("CompactionResult", "acompact_thread", "compact_thread"),
    "nodes.background": ("adrain", "drain"),
    "nodes.merging": ("ConsolidationRefused",),
    "state.channels": ("ThreadContext", "ThreadState"),
    "state.config": (
        "CompactionConfig",
        "FlushTrigger",
        "MaskingConfig",
        "MemoryConfig",
        "RollingCompactionConfig",
        "ToolResultEvictionConfig",
        "TruncateArgsConfig",
    ),
    "state.errors": (
        "AnswerCutOff",
        "CheckpointerError",
        "ConfigurationError",
        "LongthreadError",
        "SummaryRefused",
        "ThreadBudgetError",
        "UnreadableAnswer",
        "WorkspaceError",
    ),
    "state.overflow": ("Overflow", "classify_overflow", "is_context_overflow"),
    "state.projection": ("project_context",),
    "state.prompts": (
        "DEFAULT_ADDITION_PROMPT",
        "DEFAULT_CONSOLIDATION_PROMPT",
        "DEFAULT_FLUSH_PROMPT",
        "DEFAULT_SUMMARY_PROMPT",
    ),
    "stores.journal": ("ThreadJournal",),
    "stores.checkpointers.opening": ("aopen_checkpointer", "open_checkpointer"),
    "state.redaction": ("RedactionError", "redact_secrets"),
    "stores.local.workspace": ("LocalWorkspace",),
    "stores.settings": ("Settings",),
    "stores.settings.mistakes": ("SettingsError",),
    "stores.langgraph_store.workspace": ("StoreWorkspace",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f"longthread.{home}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'longthread' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
