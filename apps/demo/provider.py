"""The scripted provider: it counts what it is sent, knows its own limit and answers by a script.

Its limit is smaller than the window that the graph was told, as with a gateway that serves a model
with less room than its documentation says.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage

from ...state.counting import count_message
from ..replay.pricing import Priced, PromptMeter
from . import agent_script, side_script
from .side_script import Purpose

__all__ = ["Asked", "ScriptedProvider"]

Asked = Callable[[Purpose, AIMessage | None, Priced], None]
"""Told of every request: its purpose, the answer (None: refused) and what it took."""


class ScriptedProvider:
    """A `Script` for `ScriptedModel`.

    Args:
        limit: Tokens that a request may take.
        asked: Told of every request.
        meter: Counts and prices the agent's own requests. Its `tools` have to be set to the tokens
            of the tool schemas, which a script is not shown.
    """

    def __init__(self, *, limit: int, asked: Asked, meter: PromptMeter) -> None:
        self.limit = limit
        self.asked = asked
        self.meter = meter

    def __call__(self, request: list[BaseMessage]) -> AIMessage:
        """Answer one request.

        Raises:
            openai.BadRequestError: It takes more tokens than the limit.
        """
        messages = cast("list[AnyMessage]", request)
        purpose = side_script.purpose_of(request)
        tokens = sum(count_message(message) for message in messages) + (
            self.meter.tools if purpose == "agent" else 0
        )
        if tokens > self.limit:
            self.asked(purpose, None, Priced(tokens, cached=0, output=0, cost=0.0))
            raise _too_long(self.limit, tokens)
        if purpose == "agent":
            answer = agent_script.next_step(request)
            priced = self.meter.measure(messages, answer)
        else:
            answer = AIMessage(side_script.side_answer(purpose, request))
            priced = self.meter.measure_apart(messages, answer)
        answer.usage_metadata = {
            "input_tokens": priced.tokens,
            "output_tokens": priced.output,
            "total_tokens": priced.tokens + priced.output,
            "input_token_details": {"cache_read": priced.cached},
        }
        self.asked(purpose, answer, priced)
        return answer


def _too_long(limit: int, tokens: int) -> Exception:
    """Return what the OpenAI client raises when a request is too long."""
    # Loaded only now, and by name: both come with langchain-openai, and nothing else needs them.
    openai: Any = import_module("openai")
    httpx: Any = import_module("httpx")
    error = {
        "message": (
            f"This model's maximum context length is {limit} tokens. However, your messages "
            f"resulted in {tokens} tokens. Please reduce the length of the messages."
        ),
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
    url = "https://gateway.example/v1/chat/completions"
    response = httpx.Response(400, request=httpx.Request("POST", url), json={"error": error})
    refused: Exception = openai.BadRequestError(
        f"Error code: 400 - {{'error': {error}}}", response=response, body=error
    )
    return refused
