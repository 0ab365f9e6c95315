"""The context policy as middleware of LangChain's `create_agent`. Needs the extra `[langchain]`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Annotated, Any, NotRequired

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context
from langchain_core.runnables.utils import coro_with_context
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.channels import DeltaChannel
from langgraph.config import get_config
from langgraph.types import Command

from ..nodes.node import Run, Steps, Update, adrive, drive
from ..nodes.recall import Reference
from ..state.channels import SNAPSHOT_FREQUENCY, Messages
from ..state.config import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
)
from ..state.errors import ConfigurationError
from ..state.policy import ContextPolicy
from ..state.projection import project_context
from ..stores.workspace import Workspace
from .agent import Tool, build_agent_graph, context_policy
from .context_steps import ContextSteps, merge_decisions, recorded
from .models import needs_cache_hints

try:
    from langchain.agents import AgentState
    from langchain.agents.middleware import (
        AgentMiddleware,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
    )
    from langchain.agents.middleware.types import PrivateStateAttr
except ImportError as error:
    raise ConfigurationError(
        "ContextMiddleware: LangChain is missing, pip install 'longthread[langchain]'"
    ) from error

__all__ = ["ContextMiddleware", "ContextState"]

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]

Decisions = Annotated[
    dict[str, Any],
    DeltaChannel(merge_decisions, snapshot_frequency=SNAPSHOT_FREQUENCY),
    PrivateStateAttr,
]


class _MiddlewareState(AgentState[Any]):
    longthread: NotRequired[Decisions]


class ContextState(_MiddlewareState):
    """A state schema for `create_agent` that stores messages as they are added.

    LangChain's own stores the whole list with every step. Pass `state_schema=ContextState`.
    """

    messages: Messages


class ContextMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps the context of an agent made by `create_agent` in shape, and its messages as they are.

    Large results go to files, old ones are masked, old messages are summarised, and a context
    overflow is recovered from, as in `create_agent_graph` and by the same code. `messages` is never
    shortened: what the model is sent is computed from it. List it last, so that it sees the request
    as the others have made it. All that it records is in one channel, `longthread`.

    Args:
        model: The agent's model; also writes the summaries unless `compaction` names another.
        tools: The agent's tools, so that ours get names that are free and the first request is
            counted right.
        name: The agent's name, under which it keeps its files and memory.
        memory: What outlives the thread; None: nothing.
        compaction: When old messages become a summary; None: never.
        masking: When old results show a placeholder; None: never.
        eviction: When a large text goes to a file; None: never.
        reference: Further reference material, as for `create_agent_graph`.
        workspace: Folder or `Workspace` for files and memory; None: `.longthread/`.
        context_window: The model's window in tokens; None: its profile's, else 64,000.

    Raises:
        ConfigurationError: An argument cannot be used, or LangChain is not installed.
    """

    state_schema = _MiddlewareState

    def __init__(
        self,
        model: BaseChatModel | str,
        tools: Sequence[Tool] = (),
        *,
        name: str = "agent",
        memory: MemoryConfig | None = None,
        compaction: CompactionConfig | None = CompactionConfig(),
        masking: MaskingConfig | None = MaskingConfig(),
        eviction: ToolResultEvictionConfig | None = ToolResultEvictionConfig(),
        reference: Sequence[Reference] = (),
        workspace: str | PathLike[str] | Workspace | None = None,
        context_window: int | None = None,
    ) -> None:
        builder = build_agent_graph(
            model,
            tools,
            name=name,
            memory=memory,
            compaction=compaction,
            rolling=None,
            masking=masking,
            eviction=eviction,
            reference=reference,
            workspace=workspace,
            context_window=context_window,
            journal_window=None,
        )
        self.policy = context_policy(builder)
        self.steps = ContextSteps(builder, self.policy)
        ours = {_name_of(tool) for tool in self.policy.tools[len(tools) :]}
        runner: Any = builder.nodes["tools"].runnable
        found: dict[str, BaseTool] = runner.runner.tools_by_name
        self.tools = [tool for name, tool in found.items() if name in ours]
        self._seen = self.policy

    def project(self, state: Any) -> list[AnyMessage]:
        """Return the messages that the model would be sent in a state of the agent."""
        return project_context(_thread_state(state), self._seen)

    def before_agent(self, state: Any, runtime: Any) -> Update | None:
        """Load memory and reference material; settle what an interrupted call left behind."""
        return _update(drive(self.steps.begin(_thread_state(state), _run(runtime))))

    async def abefore_agent(self, state: Any, runtime: Any) -> Update | None:
        """Do what `before_agent` does, asynchronously."""
        return _update(await adrive(self.steps.begin(_thread_state(state), _run(runtime))))

    def before_model(self, state: Any, runtime: Any) -> Update | None:
        """Evict, mask and compact what is due."""
        steps = self.steps.shape(_thread_state(state), _run(runtime), self._seen)
        return _update(drive(steps))

    async def abefore_model(self, state: Any, runtime: Any) -> Update | None:
        """Do what `before_model` does, asynchronously."""
        steps = self.steps.shape(_thread_state(state), _run(runtime), self._seen)
        return _update(await adrive(steps))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Handler
    ) -> ExtendedModelResponse[Any]:
        """Send the projection; recover from an overflow."""
        return drive(self._asked(request, _Requests(request, handler)))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: AsyncHandler
    ) -> ExtendedModelResponse[Any]:
        """Do what `wrap_model_call` does, asynchronously."""
        return await adrive(self._asked(request, _Requests(request, handler)))

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Extract from the conversation what is worth remembering."""
        drive(self.steps.end(_thread_state(state), _run(runtime)))

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Do what `after_agent` does, asynchronously."""
        await adrive(self.steps.end(_thread_state(state), _run(runtime)))

    def _asked(
        self, request: ModelRequest[Any], requests: _Requests
    ) -> Steps[ExtendedModelResponse[Any]]:
        policy = self._policy_of(request)
        answer, update = yield from self.steps.ask(
            _thread_state({**request.state, "messages": request.messages}),
            _run(request.runtime),
            policy,
            requests,
            cache_hints=needs_cache_hints(request.model),
        )
        command: Command[Any] = Command(update={"longthread": recorded(update)})
        return ExtendedModelResponse(requests.answered(answer), command)

    def _policy_of(self, request: ModelRequest[Any]) -> ContextPolicy:
        """Return the policy with the system prompt and the tools of a request."""
        tools = tuple(convert_to_openai_tool(tool) for tool in request.tools)
        if tools != self._seen.tools or request.system_message != self._seen.system:
            self._seen = replace(self.policy, system=request.system_message, tools=tools)
        return self._seen


class _Requests(Runnable[Any, AIMessage]):
    """LangChain's handler of a request as a model that takes messages."""

    def __init__(self, request: ModelRequest[Any], handler: Any) -> None:
        self.request = request
        self.handler = handler
        self.response: ModelResponse[Any] = ModelResponse(result=[])

    def invoke(
        self,
        input: list[AnyMessage],
        config: RunnableConfig | None = None,
        **settings: Any,
    ) -> AIMessage:
        """Make the request."""
        # LangChain goes by the configuration of the context.
        with set_config_context(ensure_config(config)) as context:
            return self._said(context.run(self.handler, self._with(input, settings)))

    async def ainvoke(
        self,
        input: list[AnyMessage],
        config: RunnableConfig | None = None,
        **settings: Any,
    ) -> AIMessage:
        """Make the request, asynchronously."""
        with set_config_context(ensure_config(config)) as context:
            asked = self.handler(self._with(input, settings))
            return self._said(await coro_with_context(asked, context, create_task=True))

    def answered(self, answer: AIMessage) -> ModelResponse[Any]:
        """Return LangChain's response with the answer as it goes into the journal."""
        before = next(m for m in self.response.result if isinstance(m, AIMessage))
        fresh: dict[str | None, list[str]] = {}
        for old, new in zip(before.tool_calls, answer.tool_calls, strict=True):
            fresh.setdefault(old["id"], []).append(new["id"] or "")
        result: list[Any] = []
        for message in self.response.result:
            if message is before:
                message = answer
            elif isinstance(message, ToolMessage) and fresh.get(message.tool_call_id):
                # Of calls with the same id, each has a result of its own, in their order.
                call_id = fresh[message.tool_call_id].pop(0)
                message = message.model_copy(update={"tool_call_id": call_id})
            result.append(message)
        return replace(self.response, result=result)

    def _with(self, messages: list[AnyMessage], settings: dict[str, Any]) -> ModelRequest[Any]:
        first = messages[0] if messages else None
        system = first if isinstance(first, SystemMessage) else None
        return self.request.override(
            system_message=system,
            messages=messages[1:] if system is not None else messages,
            model_settings={**self.request.model_settings, **settings},
        )

    def _said(self, response: ModelResponse[Any]) -> AIMessage:
        self.response = response
        return next(m for m in response.result if isinstance(m, AIMessage))


def _thread_state(state: Any) -> dict[str, Any]:
    """Return the state of an agent of LangChain's as one of ours."""
    return {**(state.get("longthread") or {}), "messages": state["messages"]}


def _update(update: Update) -> Update | None:
    """Return an update of ours as one of an agent of LangChain's."""
    decisions = recorded(update)
    found: Update = {"longthread": decisions} if decisions else {}
    if update.get("messages"):
        found["messages"] = update["messages"]
    return found or None


def _run(runtime: Any) -> Run:
    return Run(get_config(), runtime)


def _name_of(schema: Any) -> str:
    return str(schema.get("function", {}).get("name"))
