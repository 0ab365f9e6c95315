"""The words that providers have for "this does not fit", and words that only look like them.

The wordings are our own, in the style of each provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longthread.state.overflow import Overflow, classify_overflow, is_context_overflow

WINDOW: Final = "context_window"
BUDGET: Final = "completion_budget"
PAYLOAD: Final = "payload_bytes"


class ProviderError(Exception):
    """A client's error: whatever attributes a provider's client gives it."""

    def __init__(self, message: str = "request failed", **attributes: object) -> None:
        super().__init__(message)
        for name, value in attributes.items():
            setattr(self, name, value)


# What it says, and what was meant.
OVERFLOWS: dict[str, tuple[str, Overflow]] = {
    "openai parts": (
        "This model's maximum context length is 10000 tokens. However, you requested 10900 tokens "
        "(8900 in the messages, 2000 in the completion). Please reduce the length of the messages.",
        Overflow(WINDOW, 10_000, 10_900, 8_900),
    ),
    "openai tiny prompt": (
        "This model's maximum context length is 10000 tokens. However, you requested 12100 tokens "
        "(2100 in the messages, 10000 in the completion). Please reduce the length of messages.",
        Overflow(BUDGET, 10_000, 12_100, 2_100),
    ),
    "completions era": (
        "This model's maximum context length is 2049 tokens, however you requested 2500 tokens "
        "(1500 in your prompt; 1000 for the completion). Please reduce your prompt.",
        Overflow(WINDOW, 2_049, 2_500, 1_500),
    ),
    "anthropic": (
        "prompt is too long: 1250000 tokens > 1000000 maximum",
        Overflow(WINDOW, 1_000_000, 1_250_000, 1_250_000),
    ),
    "anthropic sum": (
        "input length and `max_tokens` exceed context limit: 150000 + 60000 > 205000, decrease "
        "input length or `max_tokens` and try again",
        Overflow(WINDOW, 205_000, 210_000, 150_000),
    ),
    "anthropic sum, small input": (
        "input length and `max_tokens` exceed context limit: 1500 + 204000 > 205000, decrease "
        "input length or `max_tokens` and try again",
        Overflow(BUDGET, 205_000, 205_500, 1_500),
    ),
    "vllm input": (
        "This model's maximum context length is 40960 tokens. However, your request has 50001 "
        "input tokens. Please reduce the length of the input messages.",
        Overflow(WINDOW, 40_960, 50_001, 50_001),
    ),
    "vllm remainder": (
        "'max_tokens' or 'max_completion_tokens' is too large: 3000. This model's maximum context "
        "length is 4096 tokens and your request has 2500 input tokens (3000 > 4096 - 2500).",
        Overflow(WINDOW, 4_096, 5_500, 2_500),
    ),
    "vllm remainder, small input": (
        "'max_tokens' or 'max_completion_tokens' is too large: 4090. This model's maximum context "
        "length is 4096 tokens and your request has 40 input tokens (4090 > 4096 - 40).",
        Overflow(BUDGET, 4_096, 4_130, 40),
    ),
    "vllm engine": (
        "The prompt (total length 9001) is too long to fit into the model (context length 8000). "
        "Make sure that `max_model_len` is no smaller than the number of text tokens.",
        Overflow(WINDOW, 8_000, 9_001, 9_001),
    ),
    "sglang": (
        "The input (70000 tokens) is longer than the model's context length (65536 tokens).",
        Overflow(WINDOW, 65_536, 70_000, 70_000),
    ),
    "llama.cpp": (
        "request (9100 tokens) exceeds the available context size (8192 tokens), try increasing it",
        Overflow(WINDOW, 8_192, 9_100, 9_100),
    ),
    "llama-cpp-python": (
        "Requested tokens (3300) exceed context window of 2048",
        Overflow(WINDOW, 2_048, 3_300),
    ),
    "ollama": (
        "prompt too long; exceeded max context length by 77 tokens",
        Overflow(WINDOW),
    ),
    "lm studio": (
        "The number of tokens to keep from the initial prompt is greater than the context length",
        Overflow(WINDOW),
    ),
    "tgi sum": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1900 "
        "`inputs` tokens and 500 `max_new_tokens`",
        Overflow(WINDOW, 2_048, 2_400, 1_900),
    ),
    "tgi inputs": (
        "Input validation error: `inputs` must have less than 2047 tokens. Given: 3000",
        Overflow(WINDOW, 2_047, 3_000),
    ),
    "tensorrt": (
        "Prompt length (9000) exceeds maximum input length (8192).",
        Overflow(WINDOW, 8_192, 9_000, 9_000),
    ),
    "siliconflow": (
        "length of prompt_tokens (40000) must be less than max_seq_len (32000).",
        Overflow(WINDOW, 32_000, 40_000, 40_000),
    ),
    "tabby": (
        "Prompt length 5000 is greater than max_seq_len 4096",
        Overflow(WINDOW, 4_096, 5_000, 5_000),
    ),
    "gemini": (
        "The input token count (1500000) exceeds the maximum number of tokens allowed (1000000).",
        Overflow(WINDOW, 1_000_000, 1_500_000, 1_500_000),
    ),
    "vertex": (
        "Unable to submit request because the input token count is 40000 but model only supports "
        "up to 32768. Reduce the input token count and try again.",
        Overflow(WINDOW, 32_768, 40_000, 40_000),
    ),
    "bedrock": (
        "An error occurred (ValidationException) when calling the Converse operation: Input is too "
        "long for requested model.",
        Overflow(WINDOW),
    ),
    "mistral": (
        "Prompt contains 50000 tokens and 0 draft tokens, too large for model with 40000 maximum "
        "context length",
        Overflow(WINDOW, 40_000, 50_000, 50_000),
    ),
    "cohere": (
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 4000 - "
        "received 4567.",
        Overflow(WINDOW, 4_000, 4_567),
    ),
    "groq": (
        "Please reduce the length of the messages.",
        Overflow(WINDOW),
    ),
    "xai": (
        "This model's maximum prompt length is 64000 but the request contains 70000 tokens.",
        Overflow(WINDOW, 64_000, 70_000, 70_000),
    ),
    "copilot": (
        "prompt token count of 70000 exceeds the limit of 64000",
        Overflow(WINDOW, 64_000, 70_000, 70_000),
    ),
    "openrouter": (
        "This endpoint's maximum context length is 30000 tokens. However, you requested about "
        "30200 tokens (30100 of text input, 100 in the output). Please reduce either one.",
        Overflow(WINDOW, 30_000, 30_200, 30_100),
    ),
    "kimi": (
        "Invalid request: Your request exceeded model token limit: 131072",
        Overflow(WINDOW, 131_072),
    ),
    "dashscope": (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
        Overflow(WINDOW, 30_720),
    ),
    "minimax": (
        "invalid params, context window exceeds limit (2013)",  # 2013 is the number of the error
        Overflow(WINDOW),
    ),
    "watsonx": (
        "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
        Overflow(WINDOW, 4_096, 5_000, 5_000),
    ),
    "thousands": (
        "Prompt has 300,000 tokens, but the configured context size is 131,072 tokens",
        Overflow(WINDOW, 131_072, 300_000, 300_000),
    ),
    "litellm": (
        'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":'
        '"invalid_request_error","message":"prompt is too long: 25000 tokens > 20000 maximum"}}\'',
        Overflow(WINDOW, 20_000, 25_000, 25_000),
    ),
    "python literal": (
        "Error code: 400 - {'error': {'message': \"This model's maximum context length is 9000 "
        "tokens. However, your messages resulted in 9500 tokens.\", 'code': 400}}",
        Overflow(WINDOW, 9_000, 9_500, 9_500),
    ),
    "gateway that quotes": (
        "Upstream streaming error for request 5f: \"This model's maximum context length is 9000 "
        'tokens. However, your messages resulted in 9500 tokens."',
        Overflow(WINDOW, 9_000, 9_500, 9_500),
    ),
    "tokens and bytes": (
        "request exceeds the context window of 8192 tokens: 9000 tokens, 40000 bytes",
        Overflow(WINDOW, 8_192, 9_000),
    ),
    "code as text": ("context_length_exceeded: too much.", Overflow(WINDOW)),
    "mid-stream": ("The context size was exceeded.", Overflow(WINDOW)),
    "chinese": ("Prompt 超长", Overflow(WINDOW)),
    "bytes": (
        "too many total text bytes: 30000000 > 25000000",
        Overflow(PAYLOAD, 25_000_000, 30_000_000),
    ),
    "titan": (
        "Malformed input request: expected maxLength: 50000, actual: 60001, please reformat",
        Overflow(PAYLOAD, 50_000, 60_001),
    ),
    "gemini payload": (
        "Request payload size exceeds the limit: 10485760 bytes.",
        Overflow(PAYLOAD, 10_485_760),
    ),
    "string too long": (
        "Invalid 'messages[7].content': string too long. Expected a string with maximum length "
        "500000, but got a string with length 700000 instead.",
        Overflow(PAYLOAD, 500_000, 700_000),
    ),
}

LOOK_ALIKES = {
    "requests per minute": "Rate limit reached on requests per min (RPM): Limit 3, Used 3.",
    "tokens per minute": (
        "Request too large for gpt-x in organization org-1 on tokens per min (TPM): Limit 10000, "
        "Requested 20000. The input or output tokens must be reduced in order to run successfully."
    ),
    "input tokens per minute": (
        "This request would exceed your organization's rate limit of 5,000 input tokens per "
        "minute. Please reduce the prompt length or the maximum tokens requested, or wait."
    ),
    "throttled": "Too many tokens for now, please wait a little.",
    "quota": "You exceeded your current quota of prompt tokens, check your plan.",
    "money": "Prompt tokens limit exceeded: 9000 > 4000. Create a key with a higher monthly limit",
    "credits": "This request requires more credits, or fewer max_tokens: 9000 > 4000 tokens.",
    "max_tokens too large": (
        "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, "
        "whereas you provided 9000."
    ),
    "max_tokens above maximum": (
        "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens"
    ),
    "max_tokens above limit": "Invalid request: max_tokens 9000 exceeds the limit of 8192 tokens",
    "max_tokens above the window": "max_tokens=9000 cannot be greater than max_model_len=8192",
    "requested maximum": "The maximum tokens you requested exceeds the model limit of 8192.",
    "cohere max_tokens": (
        "too many tokens: max tokens must be less than or equal to 2000, the maximum output length "
        "for this model - received 9000."
    ),
    "range of max_tokens": "Range of max_tokens should be [1, 8192]",
    "thinking budget": "thinking.budget_tokens (9000) must be less than max_tokens (8000)",
    "new tokens": "Input validation error: `max_new_tokens` must be <= 1024. Given: 5000",
    "upload": "Maximum request body size 1000000 exceeded, actual body size 1000009",
    "upload in bytes": "The request body exceeds the maximum of 10485760 bytes",
    "upload page": "<html><head><title>413 Request Entity Too Large</title></head></html>",
    "image": "messages.0.content.1.image: image exceeds 5 MB maximum: 7000000 bytes > 5242880",
    "short field": (
        "Invalid 'user': string too long. Expected a string with maximum length 64, but got a "
        "string with length 9000 instead."
    ),
    "id in a message": (
        "Invalid 'messages[4].tool_calls[0].id': string too long. Expected a string with maximum "
        "length 40, but got a string with length 53 instead."
    ),
    "tool name": "toolSpec/name: expected maxLength: 64, actual: 70, please reformat your input",
    "too many tools": "Invalid 'tools': array too long. Expected at most 128 items, got 300",
    "go deadline": "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
    "timeout": "Request timed out.",
    "auth": "Incorrect API key provided. The access token exceeds the maximum length.",
    "overloaded": "The model is overloaded. Please try again later.",
    "vocabulary": "logit_bias keys exceed vocabulary size: token 200000 > 128000",
    "bare": "request failed with status code 400",
    "merely mentions": "context window is nice",
    "states a limit": "maximum context length is 8192 tokens",
    "negated": "the context length was not exceeded",
    "denied": "the prompt does not exceed the context window",
    "conditional": "The oldest messages are dropped when context length is exceeded.",
    "hypothetical": "Raise this error if the prompt exceeds the context window",
    "advice": "set truncate=True to avoid exceeding the context window",
    "other thing": "Chunk size 5000 is larger than the context window",
    "name": "no such model: context-length-exceeded-7b",
    "quoted code": "unknown error code 'context_length_exceeded'",
    "quoted prompt": (
        "Invalid value for 'messages[1].content': \"prompt is too long: 9000 tokens > 8000 max\""
    ),
    "quoted JSON": (
        'Bad call, arguments=\'{"message": "prompt is too long: 9000 tokens > 8000 maximum"}\''
    ),
    "quoted without marks": (
        "Failed to parse input at pos 12: prompt is too long: 9000 tokens > 8000 maximum"
    ),
    "cut quotation": "Bad argument, input_value='prompt is too long: 9000 tokens > 8000 maxim",
    "small text": "Message content exceeds 2000 characters",
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_wording_is_recognised_with_its_sizes(name: str) -> None:
    text, meant = OVERFLOWS[name]
    assert classify_overflow(text) == meant


@pytest.mark.parametrize("name", OVERFLOWS)
@pytest.mark.parametrize(
    "presented",
    [
        pytest.param(lambda text: {"error": {"message": text}}, id="error object"),
        pytest.param(lambda text: {"object": "error", "message": text, "code": 400}, id="flat"),
        pytest.param(lambda text: {"error": text}, id="error text"),
        pytest.param(lambda text: {"Error": {"Code": "X", "Message": text}}, id="botocore"),
        pytest.param(
            lambda text: {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {"raw": json.dumps({"error": {"message": text}})},
                }
            },
            id="JSON in JSON",
        ),
        pytest.param(lambda text: json.dumps({"detail": [{"msg": text}]}), id="JSON text"),
        pytest.param(lambda text: json.dumps({"message": text}).encode(), id="bytes"),
        pytest.param(lambda text: ProviderError(text), id="exception"),
        pytest.param(lambda text: ProviderError(body={"message": text}), id="only in .body"),
        pytest.param(lambda text: ProviderError(message=text), id="only in .message"),
        pytest.param(
            lambda text: ProviderError(response={"Error": {"Message": text}}),
            id="only in .response",
        ),
        pytest.param(lambda text: ProviderError(f"Error code: 400 - {text}"), id="prefixed"),
    ],
)
def test_wording_is_recognised_wherever_it_stands(
    name: str, presented: Callable[[str], object]
) -> None:
    text, meant = OVERFLOWS[name]
    assert classify_overflow(presented(text)) == meant


@pytest.mark.parametrize("text", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
@pytest.mark.parametrize(
    "presented",
    [
        str,
        ValueError,
        ProviderError,
        lambda text: {"error": {"message": text, "type": "invalid_request_error"}},
        lambda text: ProviderError(body={"message": text, "code": 400}, status_code=400),
    ],
    ids=["text", "ValueError", "exception", "body", "only in .body"],
)
def test_look_alikes_are_not_overflows(text: str, presented: Callable[[str], object]) -> None:
    assert classify_overflow(presented(text)) is None
    assert not is_context_overflow(presented(text))


def test_lower_bound_is_marked_because_it_cannot_size_a_cut() -> None:
    found = classify_overflow(
        "This model's maximum context length is 6000 tokens. However, you requested 1000 output "
        "tokens and your prompt contains at least 5001 input tokens, for a total of at least 6001 "
        "tokens."
    )
    assert found == Overflow(WINDOW, 6_000, 6_001, 5_001, at_least=True)


@pytest.mark.parametrize(("prompt", "kind"), [(4_000, BUDGET), (4_001, WINDOW)])
def test_budget_is_at_fault_when_the_prompt_takes_at_most_half(prompt: int, kind: str) -> None:
    found = classify_overflow(
        f"input length and `max_tokens` exceed context limit: {prompt} + 7000 > 8000"
    )
    assert found is not None
    assert found.kind == kind


def test_sizes_that_contradict_the_error_are_not_believed() -> None:
    found = classify_overflow("prompt is too long: 12 tokens, the context window is 8192 tokens")
    assert found == Overflow(WINDOW, 8_192)


@given(st.sampled_from([text for text, _ in OVERFLOWS.values()]))
@settings(deadline=None)
def test_what_the_user_said_is_never_the_providers_word(said: str) -> None:
    for error in (
        f"Invalid value for messages[0].content: {json.dumps(said)}",
        f"Error in the argument: {json.dumps(said)}",
        f"Cannot validate the tool's argument text={said!r}",
        f"Unexpected field {{'role': 'user', 'content': {said!r}}}",
    ):
        assert not is_context_overflow(error)
        assert not is_context_overflow({"error": {"message": error}})
