"""A chat model that several providers serve: when one fails, the next is asked.

It adds no run of its own. Whoever traces or streams sees the model that was really asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field, SecretStr

from .attempts import Attempts, Candidate, Rests, aask, ask, astream_from, stream_from

__all__ = ["RoutedModel"]


class _Routed(Runnable[Any, Any]):
    """Candidates that are not plain models: tools are bound to them, or a schema is asked for."""

    def __init__(
        self, candidates: Sequence[Candidate], secrets: Sequence[SecretStr], rests: Rests
    ) -> None:
        self.candidates = tuple(candidates)
        self.secrets = tuple(secrets)
        self.rests = rests

    def _attempts(self) -> Attempts:
        return Attempts(self.candidates, self.secrets, self.rests)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Ask the candidates in order."""
        return ask(self._attempts(), input, config, kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Ask the candidates in order, asynchronously."""
        return await aask(self._attempts(), input, config, kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        """Stream from the first candidate that answers."""
        return stream_from(self._attempts(), input, config, kwargs)

    def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        """Stream from the first candidate that answers, asynchronously."""
        return astream_from(self._attempts(), input, config, kwargs)


class RoutedModel(BaseChatModel):
    """A chat model that is asked from its candidates in order.

    The next candidate is asked after an outage (see `is_outage`), and only if nothing of the answer
    has been streamed to anybody. The last error is raised as it is; notes say what failed before.

    Args:
        candidates: The models, the preferred one first.
        secrets: Keys that may not appear in an error.
        max_tokens: Bound on an answer, for the reserve in the window.
        kind: `_llm_type` of the candidates, if it is the same.
        rests: Which of them are asked last for a while.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    candidates: tuple[Candidate, ...] = Field(repr=False)
    secrets: tuple[SecretStr, ...] = Field(default=(), repr=False)
    max_tokens: int | None = None
    kind: str = "routed"
    rests: Rests = Field(default_factory=Rests, repr=False, exclude=True)

    @classmethod
    def of(
        cls,
        models: Sequence[tuple[str, BaseChatModel, bool]],
        *,
        secrets: Sequence[SecretStr] = (),
        window: int | None = None,
        max_tokens: int | None = None,
    ) -> RoutedModel:
        """Return one model for several.

        Args:
            models: Name, model, and whether a complete answer of it says so.
            secrets: Keys that may not appear in an error.
            window: The window that a request to any of them has to fit, in tokens.
            max_tokens: Bound on an answer in tokens.
        """
        profile = {**(models[0][1].profile or {})}
        if window is not None:
            profile["max_input_tokens"] = window
        kinds = {model._llm_type for _, model, _ in models}
        return cls(
            candidates=tuple(Candidate(*each) for each in models),
            secrets=tuple(secrets),
            max_tokens=max_tokens,
            kind=kinds.pop() if len(kinds) == 1 else "routed",
            profile=cast(ModelProfile, profile) if profile else None,
        )

    @property
    def models(self) -> tuple[BaseChatModel, ...]:
        """The models, in order."""
        return tuple(cast(BaseChatModel, each.runnable) for each in self.candidates)

    @property
    def _llm_type(self) -> str:
        return self.kind

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"candidates": [each.name for each in self.candidates]}

    def __repr_args__(self) -> Any:
        return [("candidates", [each.name for each in self.candidates])]

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools to every candidate, each as its provider wants them."""
        options = kwargs if tool_choice is None else {**kwargs, "tool_choice": tool_choice}
        return self._each(lambda model: model.bind_tools(tools, **options), keep_check=True)

    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Ask every candidate for the schema, each as its provider can."""
        return self._each(
            lambda model: model.with_structured_output(schema, include_raw=include_raw, **kwargs)
        )

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Ask the candidates in order."""
        answer = ask(self._attempts(), input, config, _with_stop(kwargs, stop))
        return cast(AIMessage, answer)

    async def ainvoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Ask the candidates in order, asynchronously."""
        answer = await aask(self._attempts(), input, config, _with_stop(kwargs, stop))
        return cast(AIMessage, answer)

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Iterator[AIMessageChunk]:
        """Stream from the first candidate that answers."""
        return stream_from(self._attempts(), input, config, _with_stop(kwargs, stop))

    def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[AIMessageChunk]:
        """Stream from the first candidate that answers, asynchronously."""
        return astream_from(self._attempts(), input, config, _with_stop(kwargs, stop))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        attempts = self._attempts()
        for candidate in attempts:
            model = cast(BaseChatModel, candidate.runnable)
            with attempts:
                return model._generate(messages, stop, run_manager, **kwargs)
        raise AssertionError("there is a candidate")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        attempts = self._attempts()
        for candidate in attempts:
            model = cast(BaseChatModel, candidate.runnable)
            with attempts:
                return await model._agenerate(messages, stop, run_manager, **kwargs)
        raise AssertionError("there is a candidate")

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        attempts = self._attempts()
        for candidate in attempts:
            model = cast(BaseChatModel, candidate.runnable)
            with attempts:
                ended = False
                for chunk in model._stream(messages, stop, run_manager, **kwargs):
                    ended = ended or attempts.ended(chunk.message) or attempts.ended(chunk)
                    attempts.passed_on(chunk.message)
                    yield chunk
                attempts.check_end(ended)
                return

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        attempts = self._attempts()
        for candidate in attempts:
            model = cast(BaseChatModel, candidate.runnable)
            with attempts:
                ended = False
                async for chunk in model._astream(messages, stop, run_manager, **kwargs):
                    ended = ended or attempts.ended(chunk.message) or attempts.ended(chunk)
                    attempts.passed_on(chunk.message)
                    yield chunk
                attempts.check_end(ended)
                return

    def _attempts(self) -> Attempts:
        return Attempts(self.candidates, self.secrets, self.rests)

    def _each(
        self, change: Callable[[BaseChatModel], Runnable[Any, Any]], *, keep_check: bool = False
    ) -> _Routed:
        changed = [
            Candidate(each.name, change(model), keep_check and each.says_when_done)
            for each, model in zip(self.candidates, self.models, strict=True)
        ]
        return _Routed(changed, self.secrets, self.rests)


def _with_stop(kwargs: dict[str, Any], stop: list[str] | None) -> dict[str, Any]:
    return kwargs if stop is None else {**kwargs, "stop": stop}
