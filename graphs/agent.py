"""The agent graph: recall, keep the context in shape, reason, run tools, remember."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.cache.base import BaseCache
from langgraph.graph import StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer, RetryPolicy

from ..nodes.approval import Approval
from ..nodes.compaction import CompactionNode
from ..nodes.consolidation import ConsolidationNode
from ..nodes.eviction import EvictionNode
from ..nodes.flush import FlushNode
from ..nodes.masking import MaskingNode
from ..nodes.overflow_retry import OverflowRetryNode
from ..nodes.own_prompt import OwnPrompt
from ..nodes.reasoning import ReasoningNode
from ..nodes.recall import RecallNode, Reference
from ..nodes.seal import SealNode
from ..nodes.summariser import Summariser
from ..nodes.tool_calls import ToolsNode
from ..state.channels import ThreadContext, ThreadState
from ..state.config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
)
from ..state.errors import ConfigurationError
from ..state.policy import ContextPolicy, SystemPrompt
from ..stores.local.workspace import workspace_at
from ..stores.workspace import Owner, Workspace
from .arguments import (
    check_compiling,
    check_interrupts,
    check_name,
    check_prompt,
    check_reference,
    check_schemas,
    check_state_schema,
    checked_journal_window,
    checked_window,
)
from .compiled import AgentGraph
from .configured import configured
from .models import (
    needs_cache_hints,
    needs_plain_ids,
    output_reserve_of,
    resolve_model,
    window_of,
)
from .offered_tools import OfferedTools
from .retries import without_overflow
from .rolling_models import RollingModels
from .schemas import input_schema, output_schema
from .structured import structured_model
from .triggers import Triggers
from .wiring import Parts, wire

if TYPE_CHECKING:
    from ..stores.settings import Settings

__all__ = ["build_agent_graph", "context_policy", "create_agent_graph"]

Tool = BaseTool | Callable[..., Any] | Mapping[str, Any]


def create_agent_graph(
    model: BaseChatModel | str | None = None,
    tools: Sequence[Tool] = (),
    *,
    system_prompt: str | SystemPrompt | None = None,
    name: str = "agent",
    settings: Settings | None = None,
    memory: MemoryConfig | None = MemoryConfig(),
    compaction: CompactionConfig | None = CompactionConfig(),
    rolling: RollingCompactionConfig | None = RollingCompactionConfig(),
    masking: MaskingConfig | None = MaskingConfig(),
    eviction: ToolResultEvictionConfig | None = ToolResultEvictionConfig(),
    reference: Sequence[Reference] = (),
    workspace: str | PathLike[str] | Workspace | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    context_window: int | None = None,
    journal_window: int | None = 5_000,
    response_format: Any = None,
    context_schema: type[Any] = ThreadContext,
    state_schema: type[Any] = ThreadState,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    interrupt_on: Mapping[str, Any] | None = None,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
) -> AgentGraph:
    """Build and compile an agent whose threads can outlive the model's context window.

    Args:
        model: A chat model, or `"provider:model"`; None: the main role of the settings.
        tools: Tools, functions that become tools, or provider-side tools as dicts.
        system_prompt: Text, a message, or a callable of state and runtime that returns either.
        name: The agent's name, under which it keeps its memory.
        settings: `Settings.load(folder)`: what the arguments leave open. In each part below, the
            fields that are given win over it, and `None` turns the part off.
        memory: What outlives the thread; None: nothing.
        compaction: When old messages become a summary; None: never.
        rolling: How `compact_thread` summarises, and whether that also happens by itself; None:
            not.
        masking: When old tool results show a placeholder; None: never.
        eviction: When a huge text goes to a file; None: never.
        reference: Further reference material: texts, files (as `Path`), callables of state and
            runtime.
        workspace: Folder or `Workspace` for memory and evicted texts; None: `.longthread/`.
        checkpointer: As for `StateGraph.compile`; with a saver of its own the graph runs with
            `durability="sync"` unless the call says otherwise.
        store: As for `StateGraph.compile`.
        cache: As for `StateGraph.compile`.
        context_window: The model's window in tokens; None: its profile's, else 64,000.
        journal_window: Messages that a thread carries in its state; beyond, the part that a summary
            covers is sealed into the workspace. None: never.
        response_format: Schema of a structured response, as for `with_structured_output`; or
            LangChain's `ToolStrategy` or `ProviderStrategy` of one.
        context_schema: The runtime context; fields of `ThreadContext` that it lacks get their
            defaults.
        state_schema: `ThreadState`, or a `TypedDict` that extends it.
        retry_policy: How the model call is retried; overflow never is.
        interrupt_on: Tools whose calls a person decides on first, `{"pay": True}`.
        interrupt_before: Nodes to stop before.
        interrupt_after: Nodes to stop after.

    Returns:
        A compiled LangGraph graph. Input `{"messages": […]}`, output the same with the answer.

    Raises:
        ConfigurationError: An argument cannot be used; says which, and what to do.
        WorkspaceError: The name or the workspace cannot be used.
    """
    interrupts = {"interrupt_before": interrupt_before, "interrupt_after": interrupt_after}
    check_compiling(checkpointer=checkpointer, store=store, cache=cache, **interrupts)
    builder = build_agent_graph(
        model,
        tools,
        system_prompt=system_prompt,
        name=name,
        settings=settings,
        memory=memory,
        compaction=compaction,
        rolling=rolling,
        masking=masking,
        eviction=eviction,
        reference=reference,
        workspace=workspace,
        context_window=context_window,
        journal_window=journal_window,
        response_format=response_format,
        context_schema=context_schema,
        state_schema=state_schema,
        retry_policy=retry_policy,
        interrupt_on=interrupt_on,
    )
    check_interrupts(builder.nodes, **interrupts)
    return AgentGraph.of(
        builder.compile(
            checkpointer=checkpointer,
            store=store,
            cache=cache,
            interrupt_before=_nodes(interrupt_before),
            interrupt_after=_nodes(interrupt_after),
            name=name,
        )
    )


def _nodes(named: Sequence[str]) -> Any:
    return named if named == "*" else list(named)


def build_agent_graph(
    model: BaseChatModel | str | None = None,
    tools: Sequence[Tool] = (),
    *,
    system_prompt: str | SystemPrompt | None = None,
    name: str = "agent",
    settings: Settings | None = None,
    memory: MemoryConfig | None = MemoryConfig(),
    compaction: CompactionConfig | None = CompactionConfig(),
    rolling: RollingCompactionConfig | None = RollingCompactionConfig(),
    masking: MaskingConfig | None = MaskingConfig(),
    eviction: ToolResultEvictionConfig | None = ToolResultEvictionConfig(),
    reference: Sequence[Reference] = (),
    workspace: str | PathLike[str] | Workspace | None = None,
    context_window: int | None = None,
    journal_window: int | None = 5_000,
    response_format: Any = None,
    context_schema: type[Any] = ThreadContext,
    state_schema: type[Any] = ThreadState,
    retry_policy: RetryPolicy | Sequence[RetryPolicy] | None = None,
    interrupt_on: Mapping[str, Any] | None = None,
) -> StateGraph[Any, Any, Any, Any]:
    """Build the agent graph without compiling it, to add to it or to compile it differently.

    Args and errors are those of `create_agent_graph`.
    """
    check_name(name)
    check_schemas(context_schema, retry_policy)
    check_state_schema(state_schema)
    setup = configured(
        settings,
        name,
        resolve_model,
        memory=memory,
        compaction=compaction,
        rolling=rolling,
        masking=masking,
        eviction=eviction,
    )
    memory, compaction, rolling = setup.memory, setup.compaction, setup.rolling
    masking, eviction = setup.masking, setup.eviction
    check_prompt(system_prompt)
    check_reference(reference)
    main = setup.models.main(model)
    files = workspace_at(workspace)
    files.scoped(Owner(None, name))  # a name that cannot be used is an error now, not in a call
    window = window_of(main, checked_window(context_window))
    offered = OfferedTools.of(
        tools, main, files, agent=name, window=window, eviction=eviction, memory=memory
    )
    bound, others, remembering = offered.all, offered.without_threads, offered.remembering
    policy = ContextPolicy(
        window=window,
        output_reserve=output_reserve_of(main),
        system=SystemMessage(system_prompt) if isinstance(system_prompt, str) else system_prompt,
        tools=tuple(convert_to_openai_tool(t) for t in bound),
        read_tool=offered.read_tool,
        search_tool=remembering.names.get("memory_search"),
        recalling_tools=frozenset(
            remembering.names.get(tool, tool) for tool in ContextPolicy.recalling_tools
        ),
        structured=response_format is not None,
        direct_tools=offered.direct,
        eviction=offered.eviction,
        masking=masking,
        compaction=compaction,
        rolling=rolling,
        memory=memory,
        journal_window=checked_journal_window(journal_window),
    )
    own = OwnPrompt(
        main.bind_tools(bound) if bound else main,
        without_threads=None if others is None else (main.bind_tools(others) if others else main),
        cache_hints=needs_cache_hints(main),
        plain_ids=needs_plain_ids(main),
    )
    summariser = setup.models.compact(compaction, main)
    rolling_models = RollingModels(main, rolling, setup.models.named)
    extractor = setup.models.memory(memory, main)
    extractor_window = None if extractor is main else window_of(extractor)
    parts = Parts(
        recall=RecallNode(policy, files, agent=name, reference=reference),
        seal=SealNode(policy, files, agent=name),
        eviction=EvictionNode(policy, files, agent=name),
        masking=MaskingNode(policy),
        flush=FlushNode(policy, files, extractor, agent=name, window=extractor_window),
        compaction=CompactionNode(
            policy,
            Summariser(summariser, own=own)
            if summariser is main
            else Summariser(summariser, window_of(summariser)),
            rolling=rolling_models,
        ),
        reasoning=ReasoningNode(
            policy,
            own.model,
            without_threads=own.without_threads,
            structured=structured_model(main, response_format),
            cache_hints=own.cache_hints,
            plain_ids=own.plain_ids,
        ),
        tools=ToolsNode(
            policy,
            offered.runnable,
            approval=Approval.of(interrupt_on, {tool.name: tool for tool in offered.runnable}),
        ),
        overflow_retry=OverflowRetryNode(policy),
        consolidation=ConsolidationNode(
            policy, files, extractor, agent=name, window=extractor_window
        ),
    )
    graph: StateGraph[Any, Any, Any, Any] = StateGraph(
        state_schema,
        context_schema=context_schema,
        input_schema=input_schema(state_schema),
        output_schema=output_schema(state_schema),
    )
    wire(graph, parts, Triggers(policy), retry_policy=without_overflow(retry_policy))
    return graph


def context_policy(graph: Any) -> ContextPolicy:
    """Return the policy of an agent graph, for `project_context`.

    Args:
        graph: What `create_agent_graph` or `build_agent_graph` returned.

    Raises:
        ConfigurationError: It is not such a graph.
    """
    builder = getattr(graph, "builder", graph)
    node = getattr(builder, "nodes", {}).get("reasoning")
    reasoning = getattr(node, "runnable", None)
    if not isinstance(reasoning, ReasoningNode):
        raise ConfigurationError(f"graph={graph!r}: not a graph made by create_agent_graph")
    return reasoning.policy
