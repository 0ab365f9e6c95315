"""The agent as a node of a larger graph: what is new goes in, the answer comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.graph import StateGraph

from ..nodes.intake import HANDED_IN, HandedIn, graph_path
from ..nodes.node import Effect, Steps, adrive, drive
from ..state.errors import ConfigurationError
from ..state.written import as_messages
from ..stores.checkpointers.leases import released
from .agent import context_policy
from .compiled import AgentGraph
from .subthread import Subthread, is_nested

__all__ = ["agent_node"]

Given = str | AnyMessage | Sequence[Any] | Mapping[str, Any]


def agent_node(
    graph: AgentGraph | StateGraph[Any, Any, Any, Any],
    *,
    input: Callable[[Any], Given] | None = None,
    output: Callable[[dict[str, Any]], Any] | None = None,
    thread: Callable[[Any], str] | None = None,
) -> Runnable[Any, Any]:
    """Return a node for a parent graph that calls an agent.

    The agent keeps its journal, its compaction and everything else it records in a thread of its
    own, inside the parent's thread and in the parent's checkpointer. A call hands in those messages
    of the parent that the journal does not have yet, and the parent gets the answer, with the
    node's name as its `name`. Interrupts, streaming, `Command`, time travel and drawing work as for
    a subgraph that is added directly, which would store every message again in both graphs. (Where
    the parent stores nothing before its end, `durability="exit"`, an agent on a branch begins anew
    with the messages that the parent has.)

    Args:
        graph: What `create_agent_graph` or `build_agent_graph` returned. A checkpointer, store or
            cache of its own is not used: the parent's are.
        input: From the parent's state to what the agent is told: a text, a message, a list of
            messages, or a dict with `messages` and keys of the agent's own `state_schema`. None:
            the parent's `messages`. Messages with ids are told once, those without every time.
        output: From what the agent returns (`messages` with the answer, `structured_response`, keys
            of its own `state_schema`) to the update of the parent's state. None: `messages`, and
            `structured_response` if the agent has a `response_format`.
        thread: From the parent's state to the name of the thread that the call goes on with, for a
            node that is called several times at once (`Send`), or about several things. None: the
            node goes on with one.

    Returns:
        A node, to be added under a name: `parent.add_node("researcher", agent_node(agent))`.

    Raises:
        ConfigurationError: `graph` is no agent graph, or what should be a function is none.
    """
    for field, function in (("input", input), ("output", output), ("thread", thread)):
        if function is not None and not callable(function):
            raise ConfigurationError(f"agent_node: {field}={function!r}: pass a function, or None")
    return _AgentNode(_as_subgraph(graph), input, output, thread)


class _AgentNode(RunnableLambda[Any, Any]):
    """Calls the agent; LangGraph finds it here when it draws the parent or reads its state."""

    def __init__(
        self,
        agent: AgentGraph,
        input: Callable[[Any], Given] | None,
        output: Callable[[dict[str, Any]], Any] | None,
        thread: Callable[[Any], str] | None,
    ) -> None:
        self.agent = agent
        self.structured = context_policy(agent).structured
        self.input = input or _messages_of
        self.output = output or self._update
        self.thread = thread
        super().__init__(self._call, self._acall, name=agent.name)

    @property
    def deps(self) -> list[Runnable[Any, Any]]:
        """The graphs that the node calls."""
        return [self.agent]

    def _call(self, state: Any, config: RunnableConfig) -> Any:
        return drive(self._steps(state, config))

    async def _acall(self, state: Any, config: RunnableConfig) -> Any:
        return await adrive(self._steps(state, config))

    def _steps(self, state: Any, config: RunnableConfig) -> Steps[Any]:
        """Hand in, call, hand out."""
        agent = self.agent
        if not is_nested(config):
            agent = agent.copy(update={"checkpointer": None})  # nobody keeps a thread for it
        given = _as_input(self.input(state))
        name = self.thread(state) if self.thread is not None else None
        thread = Subthread.of(config, None if name is None else str(name))
        speaker = _speaker(config, self.agent)
        with thread.at_work():
            lease = yield from thread.leased()
            try:
                call = _with_messages(given, (yield from thread.entered()), speaker)
                result: dict[str, Any] = yield Effect(
                    run=lambda: agent.invoke(*call), arun=lambda: agent.ainvoke(*call)
                )
            finally:
                yield released(lease)
        return self.output({**result, "messages": _answers(result["messages"], speaker)})

    def _update(self, result: dict[str, Any]) -> dict[str, Any]:
        names = ("messages", "structured_response") if self.structured else ("messages",)
        return {name: result[name] for name in names if name in result}


def _as_subgraph(graph: Any) -> AgentGraph:
    """Return the agent as a graph that keeps its state in its parent's checkpointer."""
    context_policy(graph)
    if isinstance(graph, StateGraph):
        return AgentGraph.of(graph.compile(checkpointer=True))
    return AgentGraph.of(graph.copy(update={"checkpointer": True}))


def _messages_of(state: Any) -> Given:
    """Return the messages of a parent that has a list of them, as most have."""
    messages = (
        state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    )
    if messages is None:
        raise ConfigurationError(
            f"agent_node: the parent's state ({type(state).__name__}) has no 'messages'; say what "
            "the agent is told: agent_node(agent, input=lambda state: …)"
        )
    given: Given = messages
    return given


def _as_input(given: Given) -> dict[str, Any]:
    """Return the agent's input, its messages as a list."""
    if given is None or (
        isinstance(given, Mapping) and not {"messages", "role", "type"} & set(given)
    ):
        raise ConfigurationError(
            f"agent_node: input returned {given!r}; return a text, messages, or a dict with "
            "'messages'"
        )
    told = (
        dict(given) if isinstance(given, Mapping) and "messages" in given else {"messages": given}
    )
    if isinstance(told["messages"], str):
        told["messages"] = [("user", told["messages"])]
    return {**told, "messages": as_messages(told["messages"])}


def _with_messages(
    given: dict[str, Any], config: RunnableConfig, speaker: str
) -> tuple[dict[str, Any], RunnableConfig]:
    """Return input and configuration of a call: messages that may be known travel beside it."""
    values = config.get("configurable") or {}
    handed: HandedIn | None = None
    if any(message.id for message in given["messages"]):
        path = graph_path(values.get("checkpoint_ns"))
        handed = HandedIn(tuple(given["messages"]), speaker, path)
        given = {**given, "messages": []}
    return given, {**config, "configurable": {**values, HANDED_IN: handed}}


def _speaker(config: RunnableConfig, agent: AgentGraph) -> str:
    """Return the name of the agent in the parent, as providers take it."""
    name = (config.get("metadata") or {}).get("langgraph_node") or agent.name
    if str(name).isdigit():
        # LangGraph takes numbers in the name of a thread for its own counters.
        raise ConfigurationError(f"agent_node: a node cannot be called {name!r}: name it by a word")
    return re.sub(r"[\s<|\\/>]+", "_", str(name))


def _answers(journal: Sequence[AnyMessage], speaker: str) -> list[AIMessage]:
    """Return the answer at the end of a journal; results that are for the user are answers too."""
    found: list[AIMessage] = []
    for message in reversed(journal):
        if isinstance(message, AIMessage):
            if not found and not message.tool_calls:
                found.append(message.model_copy(update={"name": speaker}))
            break
        if not isinstance(message, ToolMessage):
            break
        found.append(AIMessage(message.content, id=message.id, name=speaker))
    return found[::-1]
