"""Small agents for tests: a scripted model, a few tools, and what a run of them leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import openai
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from longthread import MemoryConfig, create_agent_graph
from longthread.graphs.compiled import AgentGraph
from longthread.graphs.scripted import ScriptedModel

Answer = AIMessage | str | Exception | Callable[[list[BaseMessage]], AIMessage | str]


class Scripted:
    """A script that keeps what it was asked.

    Args:
        answers: What the agent's own model says, in order; the last one is repeated. An exception
            is raised, a function is asked.
        summary: What a summariser is answered (a text, an exception or a function).
        facts: What an extraction is answered.
        memory: What a consolidation is answered; None: "A fact", or the last of the facts given.
    """

    def __init__(
        self,
        *answers: Answer,
        summary: Answer = "## Intent\nGo on.",
        facts: Answer = "NO_REPLY",
        memory: Answer | None = None,
    ) -> None:
        self.answers = list(answers) or ["done"]
        self.side: dict[str, Answer] = {
            "summary": summary,
            "facts": facts,
            "memory": _remembered if memory is None else memory,
        }
        self.requests: list[list[BaseMessage]] = []
        self.settings: list[dict[str, Any]] = []
        self.asked: dict[str, list[list[BaseMessage]]] = {"summary": [], "facts": [], "memory": []}

    def __call__(self, messages: list[BaseMessage]) -> AIMessage | str:
        """Answer a request."""
        kind = _kind(messages)
        if kind is not None:
            self.asked[kind].append(messages)
            return _given(self.side[kind], messages)
        self.requests.append(messages)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return _given(answer, messages)

    @property
    def model(self) -> ScriptedModel:
        """A model that follows this script."""
        return _RecordingModel(script=self)


class _RecordingModel(ScriptedModel):
    """Keeps what each request asked for apart from its messages, such as `max_tokens`."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        assert isinstance(self.script, Scripted)
        self.script.settings.append(kwargs)
        return super()._generate(messages, *args, **kwargs)


def _given(answer: Answer, messages: list[BaseMessage]) -> AIMessage | str:
    if isinstance(answer, Exception):
        raise answer
    if callable(answer):
        return answer(messages)
    return answer.model_copy() if isinstance(answer, AIMessage) else answer


def _remembered(messages: list[BaseMessage]) -> str:
    given = str(messages[-1].content).rpartition("</ledgers>")[0].rstrip()
    return "- A fact." if "- A fact" in given else f"- {given.rpartition(chr(10))[2].lstrip('- ')}"


def _kind(messages: list[BaseMessage]) -> str | None:
    first, last = str(messages[0].content), str(messages[-1].content)
    if "<previous_summary>" in last:
        return "summary"
    if first.startswith("You extract what is worth remembering"):
        return "facts"
    return "memory" if first.startswith("You maintain MEMORY.md") else None


def calls(*ids: str, name: str = "look", **arguments: Any) -> AIMessage:
    """Return an answer that calls a tool once for each id."""
    return AIMessage(
        "", tool_calls=[{"name": name, "args": {"at": i, **arguments}, "id": i} for i in ids]
    )


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def agent(
    script: Scripted, tmp_path: Path, tools: Sequence[Any] = (look,), **options: Any
) -> AgentGraph:
    """Make an agent with an in-memory checkpointer and a workspace of its own.

    Its memory work is done before a call returns, unless `memory` says otherwise.
    """
    options.setdefault("checkpointer", InMemorySaver())
    options.setdefault("memory", MemoryConfig(background=False))
    return create_agent_graph(script.model, tools, workspace=tmp_path / "workspace", **options)


def thread(name: str = "t") -> RunnableConfig:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": name}}


def say(text: str) -> dict[str, Any]:
    """Return the input of a call."""
    return {"messages": [("user", text)]}


def nodes_run(graph: AgentGraph, given: Any, config: RunnableConfig) -> list[str]:
    """Run a call and return the nodes that ran, in order."""
    return [name for chunk in graph.stream(given, config, stream_mode="updates") for name in chunk]


def contents(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the texts of messages."""
    return [str(m.content) for m in messages]


def overflow_error(limit: int = 4_000, requested: int = 5_000) -> openai.BadRequestError:
    """Return what an OpenAI client raises when a request does not fit."""
    return refusal(
        f"This model's maximum context length is {limit} tokens. However, your messages resulted "
        f"in {requested} tokens. Please reduce the length of the messages.",
        code="context_length_exceeded",
    )


def refusal(message: str, *, code: str | None = None, status: int = 400) -> openai.BadRequestError:
    """Return what an OpenAI client raises for an answer that refuses a request."""
    request = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")
    error = {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}
    response: Any = httpx.Response(status, json={"error": error}, request=request)
    return openai.BadRequestError("Error code: 400", response=response, body=error)
