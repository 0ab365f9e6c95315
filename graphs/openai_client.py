"""OpenAI's protocol as other endpoints speak it: what is no answer is an outage, not a TypeError.

A gateway's sign-in page, an empty body or `"choices": null` come with HTTP 200. The client then
trips over them wherever it happens to look, differently in a stream and in a whole answer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from json import JSONDecodeError
from types import TracebackType
from typing import Any

import langchain_openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr, ValidationError

from ..state.errors import UnreadableAnswer
from ..state.overflow import is_context_overflow
from ..state.text import clip_end

__all__ = ["ChatOpenAI"]

# What reading raises that finds something else than it has expected.
_STUMBLES = (TypeError, AttributeError, LookupError, ValueError)

_BEFORE_SENDING = re.compile("keyword argument|not JSON serializable")
_QUOTED = 200  # characters of what it says


class ChatOpenAI(langchain_openai.ChatOpenAI):
    """LangChain's class, by the same name in traces, with one error for what is no answer."""

    _asked: str = PrivateAttr("")

    @classmethod
    def of(cls, name: str, model: str, **options: Any) -> ChatOpenAI:
        """Return the client for a model.

        Args:
            name: `"provider:model"`, for messages.
            model: The model's name, as it is sent.
            options: Arguments of LangChain's class.
        """
        found = cls(model=model, **options)
        found._asked = name
        return found

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            result = super()._generate(messages, stop, run_manager, **kwargs)
        except _STUMBLES as error:
            self._judge(error, messages, stop, kwargs)
            raise
        return self._with_an_answer(result)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        try:
            result = await super()._agenerate(messages, stop, run_manager, **kwargs)
        except _STUMBLES as error:
            self._judge(error, messages, stop, kwargs)
            raise
        return self._with_an_answer(result)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        found = False
        try:
            for chunk in super()._stream(messages, stop, run_manager, **kwargs):
                found = True
                yield chunk
        except _STUMBLES as error:
            self._judge(error, messages, stop, kwargs)
            raise
        if not found:
            raise self._unreadable("nothing is in it")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        found = False
        try:
            async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
                found = True
                yield chunk
        except _STUMBLES as error:
            self._judge(error, messages, stop, kwargs)
            raise
        if not found:
            raise self._unreadable("nothing is in it")

    def _with_an_answer(self, result: ChatResult) -> ChatResult:
        if not result.generations:
            raise self._unreadable("nothing is in it")
        return result

    def _judge(
        self,
        error: Exception,
        messages: list[BaseMessage],
        stop: Sequence[str] | None,
        kwargs: dict[str, Any],
    ) -> None:
        """Raise `UnreadableAnswer` if it was the answer that the client stumbled over."""
        if isinstance(error, UnreadableAnswer | ValidationError) or _is_the_providers(error):
            return  # a `ValidationError`: the model's words do not fit the schema
        if _BEFORE_SENDING.search(str(error)) or _from_a_callback(error.__traceback__):
            return
        try:  # a message or tool that cannot be sent
            self._get_request_payload(messages, stop=list(stop) if stop else None, **kwargs)
        except Exception:
            return
        why = "it is not in OpenAI's protocol"
        if isinstance(error, ValueError) and not isinstance(error, JSONDecodeError):
            why += f" ({clip_end(' '.join(str(error).split()), _QUOTED)})"
        raise self._unreadable(why) from error

    def _unreadable(self, why: str) -> UnreadableAnswer:
        return UnreadableAnswer(
            f"{self._asked or self.model_name}: the answer cannot be read: {why}; if it stays so, "
            "look at the base_url: is it the endpoint, and does it end as the provider says?"
        )


def _is_the_providers(error: Exception) -> bool:
    """Whether an error tells what the provider has said in place of an answer."""
    return is_context_overflow(error) or any(isinstance(each, dict) for each in error.args)


def _from_a_callback(place: TracebackType | None) -> bool:
    while place is not None:
        if str(place.tb_frame.f_globals.get("__name__")).startswith("langchain_core.callbacks"):
            return True
        place = place.tb_next
    return False
