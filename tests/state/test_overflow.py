"""Reading from exceptions, error bodies, events and answers that a request did not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.exceptions import ContextOverflowError, OutputParserException
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.tools import ToolException
from pydantic import BaseModel, ValidationError, field_validator

from longthread.state.errors import ThreadBudgetError
from longthread.state.overflow import Overflow, classify_overflow, is_context_overflow

WINDOW: Final = "context_window"
BUDGET: Final = "completion_budget"
ANTHROPIC = "prompt is too long: 1250000 tokens > 1000000 maximum"
SGLANG = "The input (70000 tokens) is longer than the model's context length (65536 tokens)."
TOKENS_PER_MINUTE = "Request too large on tokens per min (TPM): Limit 10000, Requested 20000."


class ProviderError(Exception):
    """A client's error: whatever attributes a provider's client gives it."""

    def __init__(self, message: str = "request failed", **attributes: object) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


def caught(raise_it: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as info:  # noqa: PT011
        raise_it()
    return info.value


# --- Codes, fields, statuses ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        *("context_length_exceeded", "context_window_exceeded", "exceed_context_size_error"),
        *("prompt_too_long", "model_max_prompt_tokens_exceeded", "tokens_limit_reached"),
        "ContextWindowExceededError",
    ],
)
def test_code_counts_without_words(code: str) -> None:
    assert classify_overflow({"error": {"code": code, "message": "no"}}) == Overflow(WINDOW)
    assert classify_overflow({"error": {"type": code, "code": None}}) == Overflow(WINDOW)
    assert classify_overflow(ProviderError(code=code)) == Overflow(WINDOW)


def test_code_is_believed_over_a_status() -> None:
    body = {"error": {"code": "context_length_exceeded", "message": "no"}, "status": 429}
    assert is_context_overflow(body)


def test_code_of_a_window_can_still_mean_the_budget() -> None:
    found = classify_overflow(
        {
            "error": {
                "code": "context_length_exceeded",
                "message": "maximum context length is 8000 tokens. However, you requested 8100 "
                "tokens (100 in the messages, 8000 in the completion).",
            }
        }
    )
    assert found == Overflow(BUDGET, 8_000, 8_100, 100)


def test_sizes_in_fields_count_before_those_in_words() -> None:
    error = {
        "type": "exceed_context_size_error",
        "message": "request (1 tokens) exceeds the available context size (2 tokens)",
        "n_prompt_tokens": 9_000,
        "n_ctx": 8_192,
    }
    assert classify_overflow({"error": error}) == Overflow(WINDOW, 8_192, 9_000, 9_000)


@pytest.mark.parametrize("status", [401, 402, 403, 408, 429, 504, 529])
def test_status_of_another_cause_overrules_words(status: int) -> None:
    text = ANTHROPIC
    assert not is_context_overflow(ProviderError(text, status_code=status))
    assert not is_context_overflow({"error": {"message": text, "code": status}})
    assert not is_context_overflow({"error": {"message": text, "code": str(status)}})


@pytest.mark.parametrize(
    "code", ["rate_limit_error", "insufficient_quota", "ThrottlingException", "overloaded_error"]
)
def test_code_of_another_cause_overrules_words(code: str) -> None:
    assert not is_context_overflow({"error": {"message": ANTHROPIC, "type": code}})


def test_class_name_of_another_cause_overrules_words() -> None:
    class RateLimitError(ProviderError):
        pass

    assert not is_context_overflow(RateLimitError(ANTHROPIC))


def test_refused_upload_is_no_payload_to_shrink_but_tokens_still_count() -> None:
    too_big = "Request payload size exceeds the limit: 10485760 bytes."
    assert is_context_overflow(ProviderError(too_big, status_code=400))
    assert not is_context_overflow(ProviderError(too_big, status_code=413))
    tokens = "Request body too large for gpt-x model. Max size: 8000 tokens."
    body = {"error": {"code": "tokens_limit_reached", "message": tokens}}
    assert classify_overflow(ProviderError(body=body, status_code=413)) == Overflow(WINDOW, 8_000)


def test_field_that_echoes_the_request_is_not_read() -> None:
    said = ANTHROPIC
    bodies: list[Mapping[str, object]] = [
        {"detail": [{"loc": ["body"], "msg": "field required", "input": {"content": said}}]},
        {"error": {"message": "bad call", "code": "tool_use_failed", "failed_generation": said}},
        {"error": {"message": "no"}, "messages": [{"role": "user", "content": said}]},
        {"choices": [{"finish_reason": "length", "message": {"content": said}}]},
    ]
    for body in bodies:
        assert not is_context_overflow(body)
        assert not is_context_overflow(ProviderError(f"Error code: 400 - {body}"))
        assert not is_context_overflow(ProviderError(f"Error code: 400 - {json.dumps(body)}"))


# --- Exceptions ----------------------------------------------------------------------------------


def test_langchain_overflow_error_is_one_even_without_a_text() -> None:
    assert classify_overflow(ContextOverflowError()) == Overflow(WINDOW)
    found = classify_overflow(ContextOverflowError(ANTHROPIC))
    assert found == Overflow(WINDOW, 1_000_000, 1_250_000, 1_250_000)


def test_error_object_in_the_arguments_is_read() -> None:
    class Details:
        code = "server_error"
        message = "The input exceeds the context window of the model."

    assert is_context_overflow(ValueError(Details()))
    assert is_context_overflow(ValueError({"message": "prompt is too long"}))


@pytest.mark.parametrize("kind", [KeyError, TypeError, AttributeError, OSError, AssertionError])
def test_programming_error_is_never_a_providers(kind: type[Exception]) -> None:
    assert not is_context_overflow(kind(ANTHROPIC))


def test_errors_that_quote_what_they_were_given_are_not_read() -> None:
    class Model(BaseModel):
        text: str

        @field_validator("text")
        @classmethod
        def refuse(cls, text: str) -> str:
            raise ValueError(text)

    said = ANTHROPIC
    assert not is_context_overflow(OutputParserException(f"Could not read {said}"))
    assert not is_context_overflow(ToolException(said))
    error = caught(lambda: Model.model_validate({"text": said}))
    assert isinstance(error, ValidationError)
    assert not is_context_overflow(error)
    assert not is_context_overflow(ThreadBudgetError("the prompt exceeds the context window"))


def test_plain_error_about_bytes_is_not_a_providers() -> None:
    assert not is_context_overflow(ValueError("payload exceeds 100000 bytes"))
    assert is_context_overflow(ProviderError("payload exceeds 100000 bytes"))


def wrapped(error: Exception, *, how: str) -> Exception:
    def wrap() -> None:
        try:
            raise error
        except Exception as inner:
            if how == "cause":
                raise RuntimeError("the model call failed") from inner
            if how == "context":
                raise RuntimeError("the model call failed")  # noqa: B904
            if how == "group":
                raise ExceptionGroup("several", [KeyError("x"), RuntimeError("y"), error]) from None
            if how == "argument":
                raise RuntimeError("the model call failed", inner) from None
            try:
                raise LookupError("layer") from inner
            except LookupError as layer:
                raise RuntimeError("the model call failed") from layer

    return caught(wrap)


@pytest.mark.parametrize("how", ["cause", "context", "group", "argument", "deep"])
def test_wrapped_overflow_is_found(how: str) -> None:
    error = wrapped(ProviderError(body={"error": SGLANG}), how=how)
    assert classify_overflow(error) == Overflow(WINDOW, 65_536, 70_000, 70_000)


@pytest.mark.parametrize("how", ["cause", "context", "group", "argument", "deep"])
def test_wrapped_look_alike_is_none(how: str) -> None:
    error = wrapped(ProviderError(TOKENS_PER_MINUTE, status_code=429), how=how)
    assert classify_overflow(error) is None


def test_hidden_context_is_not_a_cause() -> None:
    def hide() -> None:
        try:
            raise ProviderError(ANTHROPIC)
        except ProviderError:
            raise RuntimeError("something else") from None

    assert not is_context_overflow(caught(hide))


def test_rate_limit_while_handling_an_overflow_is_a_rate_limit() -> None:
    def fall_back() -> None:
        try:
            raise ProviderError(ANTHROPIC)
        except ProviderError as error:
            raise ProviderError("slow down", status_code=429) from error

    assert not is_context_overflow(caught(fall_back))


def test_cyclic_causes_end() -> None:
    first, second = RuntimeError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert classify_overflow(first) is None
    second.__context__ = ProviderError(ANTHROPIC)
    second.__suppress_context__ = False
    assert is_context_overflow(first)


def test_nested_groups_are_searched() -> None:
    inner = ExceptionGroup("inner", [KeyError("x"), ProviderError(ANTHROPIC)])
    assert is_context_overflow(BaseExceptionGroup("outer", [SystemExit(1), inner]))


def test_attributes_that_raise_say_nothing() -> None:
    class Unread:
        status_code = 400

        @property
        def content(self) -> bytes:
            raise RuntimeError("the response was not read")

    class Hostile(Exception):
        @property
        def body(self) -> object:
            raise ValueError("no body")

        def __str__(self) -> str:
            raise ValueError("no text")

    assert classify_overflow(ProviderError(response=Unread())) is None
    assert classify_overflow(Hostile()) is None
    assert is_context_overflow(ProviderError(ANTHROPIC, response=Unread()))


def test_stream_that_was_not_read_is_not_read() -> None:
    class Streaming:
        """As in requests: `.content` would wait for the network."""

        status_code = 400
        _content = False

        waited = False

        @property
        def content(self) -> bytes:
            self.waited = True
            return b"{}"

    response = Streaming()
    assert classify_overflow(ProviderError(response=response)) is None
    assert not response.waited


# --- Events and silent forms ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        {
            "type": "response.failed",
            "response": {"error": {"code": "context_length_exceeded", "message": "no"}},
        },
        {"type": "error", "code": "context_length_exceeded", "message": "no", "param": None},
        {"type": "error", "error": {"type": "x", "message": "prompt is too long"}},
        {"type": "message_delta", "delta": {"stop_reason": "model_context_window_exceeded"}},
        {"messageStop": {"stopReason": "model_context_window_exceeded"}},
        {"validationException": {"message": "Input is too long for requested model."}},
        {"choices": [{"index": 0, "finish_reason": "model_length"}]},
    ],
)
def test_event_in_a_stream_is_read(event: Mapping[str, object]) -> None:
    assert classify_overflow(event) == Overflow(WINDOW)


@pytest.mark.parametrize("message", [AIMessage, AIMessageChunk])
@pytest.mark.parametrize(
    "metadata",
    [
        {"stop_reason": "model_context_window_exceeded"},
        {"finish_reason": "model_context_window_exceeded"},
        {"stopReason": "model_context_window_exceeded"},
        {"finish_reason": "model_length"},
        {"finish_reason": "ERROR_LIMIT"},
    ],
)
def test_answer_that_ran_into_the_window_is_an_overflow(
    message: type[AIMessage], metadata: dict[str, str]
) -> None:
    assert classify_overflow(message("half an", response_metadata=metadata)) == Overflow(WINDOW)


@pytest.mark.parametrize("reason", ["stop", "length", "max_tokens", "end_turn", "content_filter"])
def test_answer_that_ended_otherwise_is_none(reason: str) -> None:
    said = ANTHROPIC
    metadata = {"finish_reason": reason, "stop_reason": reason, "error": said}
    assert classify_overflow(AIMessage(said, response_metadata=metadata)) is None
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    assert classify_overflow({"type": "response.incomplete", "response": incomplete}) is None


# --- Any input -----------------------------------------------------------------------------------

VOCABULARY = """
prompt input tokens exceeds context window length maximum limit is too long of the 4096 8192 > + - (
) " ' ` \\ { } [ ] : , . message error rate max_tokens requested at least in completion
"""
WORDS = st.sampled_from(VOCABULARY.split())
TEXTS = st.text(max_size=300) | st.lists(WORDS, max_size=60).map(" ".join)
KEYS = st.sampled_from(
    ["error", "message", "code", "type", "detail", "raw", "response", "finish_reason", "n_ctx"]
)
BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary(max_size=50),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(), inner, max_size=5)
    ),
    max_leaves=20,
)


def sound(found: Overflow | None) -> bool:
    if found is None:
        return True
    if found.kind == BUDGET:
        return found.limit is not None and (found.prompt or 0) * 2 <= found.limit
    return found.limit is None or found.requested is None or found.requested >= found.limit


@given(TEXTS)
@settings(deadline=None)
def test_any_text_is_classified_without_an_error(text: str) -> None:
    assert sound(classify_overflow(text))
    assert sound(classify_overflow(ProviderError(text)))


@given(BODIES)
@settings(deadline=None)
def test_any_body_is_classified_without_an_error(body: Any) -> None:
    assert sound(classify_overflow(body))
    assert sound(classify_overflow(ProviderError(body=body, code=body, response=body)))
    assert sound(classify_overflow(ValueError(body)))


@pytest.mark.parametrize(
    "piece",
    [
        '"',
        "'",
        "\\",
        "{",
        "input tokens exceed ",
        "maximum context length ",
        "1 + 2 > ",
        "max a b ",
    ],
)
def test_huge_text_is_read_in_bounds(piece: str) -> None:
    filler = piece * 300_000
    statement = ANTHROPIC
    assert sound(classify_overflow(filler))
    assert sound(classify_overflow(ProviderError(filler, body={"error": {"message": filler}})))
    assert is_context_overflow(f"{statement}. {filler}")
    assert not is_context_overflow(f"{'word ' * 4_000}. {statement}")  # too far down to be read


def test_deeply_nested_bodies_are_read_in_bounds() -> None:
    body: dict[str, object] = {"error": "prompt is too long"}
    for _ in range(5_000):
        body = {"error": body}
    assert classify_overflow(body) is None
    assert classify_overflow("[" * 100_000) is None
    assert classify_overflow('{"error":' * 50_000) is None


@pytest.mark.parametrize("nothing", [None, 7, 1.5, object(), [], {}, "", b"", AIMessage("hello")])
def test_answer_without_an_error_is_none(nothing: object) -> None:
    assert classify_overflow(nothing) is None
