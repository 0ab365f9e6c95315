"""A model and tools that say again what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import Field

from ...graphs.scripted import ScriptedModel
from ...state.body import INTERRUPTED
from .sessions import Session

__all__ = ["RecordedTool", "recorded_model", "recorded_tools"]


def recorded_model(session: Session) -> ScriptedModel:
    """Return a model that gives the recorded answers in order, whatever it is sent."""
    answers: Iterator[AIMessage] = iter([step.answer for step in session.steps])

    def answer(request: list[BaseMessage]) -> AIMessage:  # noqa: ARG001
        # A copy: LangChain writes into the message that a model returns.
        return next(answers).model_copy()

    return ScriptedModel(script=answer)


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
