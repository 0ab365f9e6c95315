"""Playing a recorded session through a peer's own graph, and noting every request on the way.

The peer gets the recorded answers from its model and the recorded results from its tools, as our
own graph does in `longthread replay`, in the same window and with the same summariser. What it
sends is what its model receives: nothing is reckoned from its state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from longthread import CompactionConfig
from longthread.apps.replay import Priced, PromptMeter, Session
from longthread.apps.replay.recorded import recorded_tools
from longthread.graphs.scripted import ScriptedModel
from longthread.state.counting import count_message, count_schemas, text_of

from .stand_in import stand_in

__all__ = ["Build", "Materials", "Played", "PlayedModel", "count_tokens", "play_peer"]


class PlayedModel(ScriptedModel):
    """A model that also notes which tools it was given.

    Attributes:
        schemas: The tools of the last request, in OpenAI's format.
    """

    schemas: list[dict[str, Any]] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:  # noqa: ARG002
        """Note the tools and return the model itself."""
        self.schemas[:] = [convert_to_openai_tool(tool) for tool in tools]
        return self


@dataclass(frozen=True, slots=True)
class Materials:
    """What a peer's graph is built from.

    Attributes:
        model: The agent's model.
        summariser: The model for summaries.
        tools: The recorded tools.
        system: The system prompt; "" if the session has none.
        window: The context window in tokens.
        summary_tokens: Bound on a summary.
    """

    model: PlayedModel
    summariser: ScriptedModel
    tools: list[BaseTool]
    system: str
    window: int
    summary_tokens: int


Build = Callable[[Materials], Any]
"""Makes the peer's graph: nodes `tools` and another, state with `messages`, a checkpointer."""


@dataclass(slots=True)
class Played:
    """What a peer sent.

    Attributes:
        prompts: Messages of each request.
        requests: Each request, priced.
        summaries: The requests to the summariser, priced.
    """

    prompts: list[list[BaseMessage]] = field(default_factory=list)
    requests: list[Priced] = field(default_factory=list)
    summaries: list[Priced] = field(default_factory=list)


def count_tokens(messages: Any, tools: Sequence[Any] | None = None) -> int:
    """Count tokens as our own agent does; peers decide by it too."""
    schemas = [convert_to_openai_tool(tool) for tool in tools or ()]
    return sum(map(count_message, messages)) + count_schemas(schemas)


def play_peer(
    session: Session,
    build: Build,
    *,
    window: int,
    summary_tokens: int | None = None,
    system_in_state: bool = False,
) -> Played:
    """Play a session through a peer's graph.

    Args:
        session: The recording.
        build: Makes the graph.
        window: The context window in tokens.
        summary_tokens: Bound on a summary; None: the same as ours by default.
        system_in_state: Whether the system prompt stands among the messages instead of being an
            argument of the graph.
    """
    room = CompactionConfig().max_summary_tokens if summary_tokens is None else summary_tokens
    system, given = _opening(session)
    played = Played()
    model = PlayedModel(script=lambda _: AIMessage(""), profile={"max_input_tokens": window})
    meter = PromptMeter()

    def answer(request: list[BaseMessage]) -> AIMessage:
        recorded = session.steps[len(played.prompts)].answer
        meter.tools = count_schemas(model.schemas)
        played.prompts.append(list(request))
        played.requests.append(meter.measure(request, recorded))
        # A copy: LangChain writes into the message that a model returns.
        return recorded.model_copy()

    model.script = answer
    summariser = stand_in(window=window, max_tokens=room)
    extract = summariser.script

    def summary(request: list[BaseMessage]) -> AIMessage | str:
        text = extract(request)
        message = AIMessage(text) if isinstance(text, str) else text
        played.summaries.append(meter.measure_apart(request, message))
        return message

    summariser.script = summary
    tools: list[BaseTool] = [*recorded_tools(session)]
    graph = build(
        Materials(model, summariser, tools, "" if system_in_state else system, window, room)
    )
    if system_in_state and system:
        given = [SystemMessage(system), *given]
    _play(session, graph, given)
    return played


def _opening(session: Session) -> tuple[str, list[BaseMessage]]:
    """Split the first input into the system prompt and the rest."""
    inputs = session.steps[0].inputs
    system = [message for message in inputs if isinstance(message, SystemMessage)]
    text = "\n\n".join(text_of(message.content) for message in system)
    return text, [message for message in inputs if not isinstance(message, SystemMessage)]


def _play(session: Session, graph: Any, opening: list[BaseMessage]) -> None:
    """Take the graph from answer to answer; it stops before tools are run."""
    config: RunnableConfig = {"configurable": {"thread_id": "replay"}, "recursion_limit": 10_000}
    for number, step in enumerate(session.steps):
        inputs = step.inputs if number else opening
        given: Any = {"messages": [message.model_copy() for message in inputs]}
        if number and session.steps[number - 1].answer.tool_calls:
            if inputs:
                graph.invoke(None, config, interrupt_after=["tools"])
            else:
                given = None  # the graph goes on by itself
        graph.invoke(given, config, interrupt_before=["tools"])
