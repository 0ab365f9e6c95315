"""Overflow as the real client of `ChatOpenAI` raises it, over a loopback server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from longthread.state.overflow import Overflow, classify_overflow

WINDOW: Final = "context_window"
OVERFLOWS = {
    "vllm": (
        "This model's maximum context length is 40960 tokens. However, your request has 50001 "
        "input tokens. Please reduce the length of the input messages.",
        Overflow(WINDOW, 40_960, 50_001, 50_001),
    ),
    "llama.cpp": (
        "request (9100 tokens) exceeds the available context size (8192 tokens)",
        Overflow(WINDOW, 8_192, 9_100, 9_100),
    ),
    "tgi, small prompt": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 60 "
        "`inputs` tokens and 2000 `max_new_tokens`",
        Overflow("completion_budget", 2_048, 2_060, 60),
    ),
    "titan": (
        "Malformed input request: expected maxLength: 50000, actual: 60001, please reformat",
        Overflow("payload_bytes", 50_000, 60_001),
    ),
}
LOOK_ALIKES = {
    "max_tokens": "max_tokens is too large: 9000. This model supports at most 4096 output tokens.",
    "rate limit": "Request too large on tokens per min (TPM): Limit 10000, Requested 20000.",
    "upload": "Maximum request body size 1000000 exceeded, actual body size 1000009",
}


def caught(raise_it: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as info:  # noqa: PT011
        raise_it()
    return info.value


class Loopback:
    """A server that gives one prepared answer to every request."""

    def __init__(self) -> None:
        self.answer = (200, "application/json", b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                status, content_type, data = outer.answer
                self.send_response(status)
                self.send_header("content-type", content_type)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args: object) -> None:
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def json(self, status: int, body: object) -> None:
        self.answer = (status, "application/json", json.dumps(body).encode())

    def events(self, *events: object) -> None:
        lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
        self.answer = (200, "text/event-stream", lines.encode())


@pytest.fixture(scope="module")
def loopback() -> Iterator[Loopback]:
    served = Loopback()
    thread = threading.Thread(target=served.server.serve_forever, daemon=True)
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def chat(loopback: Loopback) -> ChatOpenAI:
    return ChatOpenAI(
        model="test",
        api_key=SecretStr("none"),
        base_url=loopback.url,
        max_retries=0,
        use_responses_api=False,
    )


CHUNK = {
    "id": "1",
    "object": "chat.completion.chunk",
    "created": 0,
    "model": "test",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi"}}],
}


@pytest.mark.parametrize("status", [400, 422, 500])
@pytest.mark.parametrize("envelope", ["error", "flat"])
@pytest.mark.parametrize("name", OVERFLOWS)
def test_chat_model_error_carries_the_overflow(
    loopback: Loopback, chat: ChatOpenAI, name: str, envelope: str, status: int
) -> None:
    text, meant = OVERFLOWS[name]
    loopback.json(status, {"error": {"message": text}} if envelope == "error" else {"error": text})
    error = caught(lambda: chat.invoke("hello"))
    assert isinstance(error, openai.APIStatusError)
    assert classify_overflow(error) == meant


def test_chat_model_error_that_says_it_only_in_a_code_is_read(
    loopback: Loopback, chat: ChatOpenAI
) -> None:
    loopback.json(400, {"error": {"message": "no", "code": "context_length_exceeded"}})
    error = caught(lambda: chat.invoke("hello"))
    assert "context_length" not in str(error)
    assert classify_overflow(error) == Overflow(WINDOW)


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_chat_model_error_for_another_reason_is_none(
    loopback: Loopback, chat: ChatOpenAI, name: str
) -> None:
    for status in (400, 413, 429):
        loopback.json(status, {"error": {"message": LOOK_ALIKES[name]}})
        assert classify_overflow(caught(lambda: chat.invoke("hello"))) is None


def test_error_inside_a_stream_is_read(loopback: Loopback, chat: ChatOpenAI) -> None:
    loopback.events(CHUNK, {"error": {"message": "The context size was exceeded.", "code": 500}})
    error = caught(lambda: list(chat.stream("hello")))
    assert classify_overflow(error) == Overflow(WINDOW)


def test_failed_response_inside_a_stream_is_read(loopback: Loopback) -> None:
    chat = ChatOpenAI(
        model="test",
        api_key=SecretStr("none"),
        base_url=loopback.url,
        max_retries=0,
        use_responses_api=True,
    )
    failed = {
        "type": "response.failed",
        "sequence_number": 1,
        "response": {
            "id": "r",
            "object": "response",
            "created_at": 0,
            "model": "test",
            "status": "failed",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": {"code": "context_length_exceeded", "message": "The input is too big."},
        },
    }
    loopback.events(failed)
    error = caught(lambda: list(chat.stream("hello")))
    assert classify_overflow(error) == Overflow(WINDOW)


def test_answer_that_stopped_at_the_window_is_read(loopback: Loopback, chat: ChatOpenAI) -> None:
    for reason, expected in (
        ("model_context_window_exceeded", Overflow(WINDOW)),
        ("length", None),
    ):
        message = {"role": "assistant", "content": "half an"}
        choice = {"index": 0, "finish_reason": reason, "message": message}
        loopback.json(200, {**CHUNK, "object": "chat.completion", "choices": [choice]})
        assert classify_overflow(chat.invoke("hello")) == expected
