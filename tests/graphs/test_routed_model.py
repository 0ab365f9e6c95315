"""A model that several providers serve, as a chat model like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from agents import Scripted, overflow_error
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import SecretStr

from longthread.graphs.models import can_call_tools, needs_cache_hints, output_reserve_of, window_of
from longthread.graphs.routed_model import RoutedModel
from longthread.state.errors import AnswerCutOff

DOWN = httpx.ConnectError("refused")


class Streaming(BaseChatModel):
    """Streams chunks, and raises what stands among them."""

    chunks: list[Any]

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        for each in self.chunks:
            if isinstance(each, Exception):
                raise each
            yield ChatGenerationChunk(message=each)

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk


def word(text: str, **metadata: Any) -> AIMessageChunk:
    return AIMessageChunk(content=text, response_metadata=metadata)


def routed(*models: BaseChatModel, **options: Any) -> RoutedModel:
    named = [(f"p{n}:m", model, isinstance(model, Streaming)) for n, model in enumerate(models)]
    return RoutedModel.of(named, **options)


def scripts(*answers: Any) -> tuple[list[Scripted], RoutedModel]:
    made = [Scripted(each) for each in answers]
    return made, routed(*(script.model for script in made))


def test_the_first_is_asked_and_the_next_only_after_an_outage() -> None:
    (first, second), model = scripts("one", "two")
    assert model.invoke("?").content == "one"
    assert second.requests == []
    first.answers = [DOWN]
    assert model.invoke([HumanMessage("?")]).content == "two"
    assert len(first.requests) == 2


async def test_the_asynchronous_twin_does_the_same() -> None:
    _, model = scripts(DOWN, "two")
    assert (await model.ainvoke("?")).content == "two"
    assert [chunk.content async for chunk in model.astream("?")] == ["two"]
    assert (await model.agenerate([[HumanMessage("?")]])).generations[0][0].text == "two"


@pytest.mark.parametrize("error", [overflow_error(), ValueError("own")])
def test_any_other_error_is_raised_as_it_is(error: Exception) -> None:
    (_, second), model = scripts(error, "two")
    with pytest.raises(type(error)) as caught:
        model.invoke("?")
    assert caught.value is error
    assert second.requests == []


def test_what_a_fallback_refuses_is_raised_with_a_note_of_what_failed_before() -> None:
    refusal = overflow_error()
    _, model = scripts(DOWN, refusal, "three")
    with pytest.raises(type(refusal)) as caught:
        model.invoke("?")
    assert caught.value is refusal
    assert refusal.__notes__ == ["longthread: asked before, p0:m: ConnectError"]


def test_a_batch_a_generation_and_bound_arguments_fall_back_too() -> None:
    (_, second), model = scripts(DOWN, "two")
    assert [answer.content for answer in model.batch(["a", "b"])] == ["two", "two"]
    assert model.generate([[HumanMessage("?")]]).generations[0][0].text == "two"
    assert model.bind(max_tokens=5).invoke("?", stop=["x"]).content == "two"
    assert second.settings[-1] == {"max_tokens": 5, "stop": ["x"]}
    assert model.with_config(tags=["t"]).invoke("?").content == "two"
    assert model.bind_tools([]).bind(max_tokens=7).invoke("?").content == "two"
    assert second.settings[-1]["max_tokens"] == 7


def test_who_keeps_callers_waiting_is_asked_last_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_000.0
    monkeypatch.setattr("longthread.graphs.attempts.monotonic", lambda: now)
    (slow, down), model = scripts(httpx.ReadTimeout("slow"), "two")
    bound = model.bind_tools([])
    assert model.invoke("?").content == "two"
    assert bound.invoke("?").content == "two"
    assert len(slow.requests) == 1
    down.answers = [DOWN]
    with pytest.raises(httpx.ReadTimeout):  # asked last, but asked
        model.invoke("?")
    assert len(slow.requests) == 2
    slow.answers, now = ["one"], now + 31
    assert bound.invoke("?").content == "one"


def test_a_stream_goes_on_elsewhere_until_its_first_word() -> None:
    early = routed(Streaming(chunks=[word(""), DOWN]), Streaming(chunks=[word("b", done=True)]))
    assert "".join(str(chunk.content) for chunk in early.stream("?")) == "b"
    late = routed(Streaming(chunks=[word("a"), DOWN]), Streaming(chunks=[word("b", done=True)]))
    chunks = late.stream("?")
    assert next(chunks).content == "a"
    with pytest.raises(httpx.ConnectError):
        next(chunks)


async def test_the_protocol_of_events_falls_back_too() -> None:
    model = routed(Streaming(chunks=[DOWN]), Streaming(chunks=[word("a"), word("b", done=True)]))
    assert "".join(chunk.text for chunk in model._stream([HumanMessage("?")])) == "ab"
    chunks = [chunk.text async for chunk in model._astream([HumanMessage("?")])]
    assert "".join(chunks) == "ab"
    late = routed(Streaming(chunks=[word("a"), DOWN]), Streaming(chunks=[word("b", done=True)]))
    with pytest.raises(httpx.ConnectError):
        list(late._stream([HumanMessage("?")]))


async def test_a_call_of_a_tool_counts_as_a_word() -> None:
    chunk = AIMessageChunk(
        content="", tool_call_chunks=[{"name": "look", "args": "{", "id": "1", "index": 0}]
    )
    model = routed(Streaming(chunks=[chunk, DOWN]), Streaming(chunks=[word("b", done=True)]))
    with pytest.raises(httpx.ConnectError):
        _ = [each async for each in model.astream("?")]


def test_a_stream_that_ends_without_a_word_was_cut() -> None:
    cut = Streaming(chunks=[word("a")])
    with pytest.raises(AnswerCutOff, match="p0:m"):
        list(routed(cut).stream("?"))
    nothing_shown = Streaming(chunks=[word("")])
    whole = Streaming(chunks=[word("b", finish_reason="stop")])
    chunks = list(routed(nothing_shown, whole).stream("?"))
    assert "".join(str(chunk.content) for chunk in chunks) == "b"


async def test_whoever_stops_listening_closes_the_stream() -> None:
    closed: list[str] = []

    class Endless(Streaming):
        def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
            try:
                while True:
                    yield ChatGenerationChunk(message=word("a"))
            finally:
                closed.append("sync")

        async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
            try:
                while True:
                    yield ChatGenerationChunk(message=word("a"))
            finally:
                closed.append("async")

    model = routed(Endless(chunks=[]))
    stream: Any = model.stream("?")
    next(stream)
    stream.close()
    astream: Any = model.astream("?")
    await anext(astream)
    await astream.aclose()
    assert closed == ["sync", "async"]


def test_traces_show_the_model_that_was_asked_and_no_run_of_ours() -> None:
    class Trace(BaseCallbackHandler):
        def __init__(self) -> None:
            self.started: list[str] = []

        def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
            self.started.append(kwargs["metadata"]["ls_model_type"])

    trace = Trace()
    _, model = scripts(DOWN, "two")
    model.invoke("?", {"callbacks": [trace]})
    assert trace.started == ["chat", "chat"]  # one for each candidate


def test_a_run_id_names_the_first_attempt_only() -> None:
    import uuid

    _, model = scripts(DOWN, "two")
    assert model.invoke("?", {"run_id": uuid.uuid4()}).content == "two"


def test_the_window_is_what_fits_every_candidate() -> None:
    small, large = Scripted().model, Scripted().model
    small.profile, large.profile = {"max_input_tokens": 8_000}, {"max_input_tokens": 200_000}
    model = routed(large, small, window=8_000, max_tokens=500)
    assert window_of(model) == 8_000
    assert output_reserve_of(model) == 500
    assert large.profile["max_input_tokens"] == 200_000


def test_what_is_known_of_the_candidates_holds_for_all() -> None:
    anthropic = Streaming(chunks=[])
    assert needs_cache_hints(routed(anthropic, anthropic))
    assert not needs_cache_hints(routed(anthropic, Scripted().model))
    assert can_call_tools(routed(Scripted().model))
    assert not can_call_tools(routed(Scripted().model, anthropic))


def test_nothing_shows_a_key() -> None:
    key = "a-very-secret-key"
    error = ValueError(f"you sent {key}", {"key": key, "list": [key]}, key.encode())
    error.__cause__ = RuntimeError(key)
    model = routed(Scripted(error).model, secrets=[SecretStr(key), SecretStr("you")])
    with pytest.raises(ValueError, match="you sent <hidden>") as caught:
        model.invoke("?")
    assert key not in repr(caught.value)
    assert key not in repr(caught.value.__cause__)
    assert key not in f"{model!r} {model!s} {model._identifying_params}"
    assert key not in repr(model.model_dump())


def test_an_answer_is_a_message() -> None:
    _, model = scripts(AIMessage("one", id="1"))
    assert model.invoke("?").id == "1"
