"""The summariser of a replay: a deterministic one, and a watch on what summaries take."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.outputs import LLMResult

from ...graphs.scripted import ScriptedModel
from ...nodes.own_prompt import ASIDE
from ...state.counting import text_of
from ...state.extract import extract_summary
from ...state.prompts import asks_for_addition
from ...state.reference import REFERENCE_ID

__all__ = [
    "SummaryWatch",
    "extractive_answer",
    "extractive_summariser",
    "is_aside",
    "is_compaction",
]

_TAG = "longthread:compaction"
_BOUND = re.compile(r"[Aa]t most ([\d,]+) tokens")
_PREVIOUS = re.compile(r"<previous_summary>\n(.*?)\n</previous_summary>", re.DOTALL)
_MESSAGES = re.compile(r"<messages>\n(.*)\n</messages>", re.DOTALL)
_SHOWN_SUMMARY = re.compile(r"<conversation_summary>\n(.*)\n</conversation_summary>", re.DOTALL)
_ROLE = re.compile(r"^\[(user|assistant|system|tool(?: ([^\]\n]*))?)\]$", re.MULTILINE)
_CALL = re.compile(r"^\[calls (\S+) (.*)\]$", re.MULTILINE)


def extractive_summariser(*, window: int, max_tokens: int = 1_024) -> ScriptedModel:
    """Return a model that answers a compaction's prompt with an extract of what it was shown.

    The same prompt always gets the same answer, so that a replay's figures can be compared. It
    keeps requests, the course of the work and the identifiers met.

    Args:
        window: The window that it claims to have, in tokens; a longer prefix comes in chunks.
        max_tokens: Bound on the answer, where the prompt names none.
    """

    answer = extractive_answer(max_tokens)
    return ScriptedModel(script=answer, profile={"max_input_tokens": window})


def extractive_answer(max_tokens: int) -> Callable[[list[BaseMessage]], str]:
    """Return the function from a compaction's request to an extract of what it shows."""

    def answer(request: list[BaseMessage]) -> str:
        prompt = text_of(request[-1].content)
        bound = _BOUND.search(prompt)
        limit = int(bound[1].replace(",", "")) if bound else max_tokens
        previous = _PREVIOUS.search(prompt)
        summary = previous[1] if previous and previous[1] != "(none)" else ""
        adds = asks_for_addition(prompt)
        # What follows the previous summary: that may speak of messages itself.
        shown = _MESSAGES.search(prompt, previous.end() if previous else 0)
        if is_aside(request):
            # The agent's own prompt, and what of it is hidden: in its place, as if it were shown.
            summary, before = _opened(request[:-1])
            hidden = _messages(shown[1]) if shown else []
            return extract_summary("" if adds else summary, [*hidden[1:], *before], limit)
        messages = _messages(shown[1] if shown else prompt)
        return extract_summary("" if adds else summary, messages, limit)

    return answer


def is_aside(request: Sequence[BaseMessage]) -> bool:
    """Whether a request is a compaction's at the end of the agent's own prompt."""
    return text_of(request[-1].content).startswith(ASIDE)


def is_compaction(request: Sequence[BaseMessage]) -> bool:
    """Whether a request is a compaction's."""
    return is_aside(request) or _PREVIOUS.search(text_of(request[-1].content)) is not None


def _opened(request: Sequence[BaseMessage]) -> tuple[str, list[AnyMessage]]:
    """Tell the summary so far from the conversation, in the agent's own prompt."""
    summary, messages = "", list[Any]()
    for message in request:
        if isinstance(message, SystemMessage):
            continue
        found = _SHOWN_SUMMARY.search(text_of(message.content))
        if message.id == REFERENCE_ID and found:
            summary = found[1]
        elif message.id != REFERENCE_ID:
            messages.append(message)
    return summary, messages


def _messages(transcript: str) -> list[AnyMessage]:
    """Read the messages of a transcript back: roles and calls, as `state.transcript` writes them.

    A chunk may begin inside a message; that part has no role and counts as material.
    """
    marks = list(_ROLE.finditer(transcript))
    first = transcript[: marks[0].start() if marks else None].strip()
    found: list[AnyMessage] = [ToolMessage(first, tool_call_id="")] if first else []
    ends = [mark.start() for mark in marks[1:]]
    for mark, end in zip(marks, [*ends, None], strict=False):
        text = transcript[mark.end() : end].strip()
        if mark[1] == "user":
            found.append(HumanMessage(text))
        elif mark[1] == "assistant":
            calls = [
                ToolCall(name=call[1], args=_arguments(call[2]), id=None, type="tool_call")
                for call in _CALL.finditer(text)
            ]
            found.append(AIMessage(_CALL.sub("", text).strip(), tool_calls=calls))
        elif mark[1] == "system":
            found.append(SystemMessage(text))
        else:
            found.append(ToolMessage(text, tool_call_id="", name=mark[2]))
    return found


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"input": text}


class SummaryWatch(BaseCallbackHandler):
    """Sees every call of the summariser, whichever model that is.

    Attributes:
        calls: Request and answer of each call since `taken` was last called.
        error: The error that the last failed call raised.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[list[BaseMessage], AIMessage]] = []
        self.error: BaseException | None = None
        self._open: dict[UUID, list[BaseMessage]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Remember the request of a summary."""
        if _TAG in (tags or ()):
            self._open[run_id] = messages[0]

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Put its answer beside it."""
        request = self._open.pop(run_id, None)
        if request is not None:
            answer = getattr(response.generations[0][0], "message", None)
            assert isinstance(answer, AIMessage)
            self.calls.append((request, answer))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Remember why there is none."""
        if self._open.pop(run_id, None) is not None:
            self.error = error

    def taken(self) -> list[tuple[list[BaseMessage], AIMessage]]:
        """Return the calls since the last time."""
        calls, self.calls = self.calls, []
        return calls
