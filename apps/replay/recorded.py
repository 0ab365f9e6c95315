"""A model and tools that say again what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

from ...graphs.scripted import ScriptedModel
from ...state.body import INTERRUPTED
from .pricing import PromptMeter
from .sessions import Session

__all__ = ["RecordedTool", "recorded_model", "recorded_tools"]


def recorded_model(
    session: Session,
    *,
    meter: PromptMeter | None = None,
    summary: Callable[[list[BaseMessage]], str | None] | None = None,
) -> ScriptedModel:
    """Return a model that gives the recorded answers in order, whatever it is sent.

    Args:
        session: The recording.
        meter: Counts the requests, so that answers say what a provider says of them: how many
            tokens they took, and how many of these came from the cache.
        summary: Answers what is no request of the conversation; None for what is one.
    """
    answers: Iterator[AIMessage] = iter([step.answer for step in session.steps])

    def answer(request: list[BaseMessage]) -> AIMessage | str:
        aside = summary(request) if summary is not None else None
        if aside is not None:
            return aside
        recorded = next(answers)
        # A copy: LangChain writes into the message that a model returns.
        if meter is None:
            return recorded.model_copy()
        return recorded.model_copy(update={"usage_metadata": _usage(meter, request, recorded)})

    return ScriptedModel(script=answer)


def _usage(meter: PromptMeter, request: list[BaseMessage], answer: AIMessage) -> UsageMetadata:
    priced = meter.measure(request, answer)
    return UsageMetadata(
        input_tokens=priced.tokens,
        output_tokens=priced.output,
        total_tokens=priced.tokens + priced.output,
        input_token_details={"cache_read": priced.cached},
    )


class RecordedTool(BaseTool):
    """A tool that returns what was recorded for the id of its call.

    A recording does not hold the schemas of its tools, so this one's has the name and nothing else.

    Args:
        name: The tool's name.
        results: Recorded results by call id. A call without one was interrupted.
    """

    name: str
    description: str = "A recorded tool."
    args_schema: Any = Field(default_factory=lambda: {"type": "object", "properties": {}})
    results: Mapping[str, ToolMessage]

    def invoke(
        self,
        input: Any,
        config: RunnableConfig | None = None,  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> ToolMessage:
        """Return the recorded result; `input` is the tool call, the only part of it that counts
        its id.

        A tool proper never sees that id, so this stands above `_run` and its checks of arguments.
        """
        call_id: str = input["id"]
        found = self.results.get(call_id)
        if found is not None:
            return found.model_copy(update={"name": self.name})
        return ToolMessage(
            INTERRUPTED,
            tool_call_id=call_id,
            name=self.name,
            id=f"interrupted-{call_id}",
            status="error",
        )

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a recorded tool answers calls by their id: use invoke")


def recorded_tools(session: Session) -> list[RecordedTool]:
    """Return a tool for every name that the session calls."""
    results = {r.tool_call_id: r for step in session.steps for r in step.results}
    return [RecordedTool(name=name, results=results) for name in session.tool_names]
