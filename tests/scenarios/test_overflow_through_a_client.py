"""A provider that refuses long requests, met through the real client: recovery from end to end."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openai
import pytest
from agents import say, thread
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from longthread import create_agent_graph

LIMIT = 3_000


class Provider:
    """Counts a token every four characters and refuses more than `LIMIT` of them."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, int]] = []
        self.in_stream = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["content-length"]))
                status, kind, data = outer.answer(json.loads(raw))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, request: dict[str, Any]) -> tuple[int, str, bytes]:
        size = len(json.dumps(request["messages"])) // 4
        fits = size <= LIMIT
        self.sizes.append((size, 200 if fits else 400))
        error = {
            "message": f"This model's maximum context length is {LIMIT} tokens. However, your "
            f"messages resulted in {size} tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
        if not fits and not (request.get("stream") and self.in_stream):
            return 400, "application/json", json.dumps({"error": error}).encode()
        if request.get("stream"):
            events: list[Any] = [{"error": error}]
            if fits:
                events = [
                    _chunk({"role": "assistant", "content": "fine"}),
                    _chunk({}, finish_reason="stop"),
                ]
            lines = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
            return 200, "text/event-stream", f"{lines}data: [DONE]\n\n".encode()
        body = {
            **_chunk({}),
            "object": "chat.completion",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "fine"},
                }
            ],
            "usage": {"prompt_tokens": size, "completion_tokens": 1, "total_tokens": size + 1},
        }
        return 200, "application/json", json.dumps(body).encode()


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


@pytest.fixture
def provider() -> Iterator[Provider]:
    served = Provider()
    running = threading.Thread(target=served.server.serve_forever, daemon=True)
    running.start()
    yield served
    served.server.shutdown()
    served.server.server_close()


def long_thread(provider: Provider, tmp_path: Path) -> Any:
    """Return an agent on a thread that is about to be too long for its provider."""
    model = ChatOpenAI(
        model="m", base_url=provider.url, api_key=SecretStr("none"), max_retries=0, temperature=0
    )
    graph = create_agent_graph(
        model, workspace=tmp_path, checkpointer=InMemorySaver(), memory=None, context_window=64_000
    )
    turns = [
        kind(f"{i} " + "so it was said " * 20, id=f"m{i}")
        for i in range(20)
        for kind in (HumanMessage, AIMessage)
    ]
    messages = [m.model_copy(update={"id": f"{m.type}-{m.id}"}) for m in turns]
    graph.update_state(thread(), {"messages": messages}, as_node="consolidation")
    return graph


def test_a_refused_request_is_compacted_retried_once_and_answered(
    provider: Provider, tmp_path: Path
) -> None:
    graph = long_thread(provider, tmp_path)
    result = graph.invoke(say("and now?"), thread())
    assert result["messages"][-1].content == "fine"
    assert len(result["messages"]) == 42
    statuses = [status for _, status in provider.sizes]
    assert statuses.count(400) == 1
    assert statuses[0] == 400
    assert graph.get_state(thread()).values["overflow"] == {"limit": LIMIT}
    graph.invoke(say("go on"), thread())
    assert [status for _, status in provider.sizes].count(400) == 1


@pytest.mark.parametrize("in_stream", [False, True])
def test_a_stream_that_is_refused_recovers_too(
    in_stream: bool, provider: Provider, tmp_path: Path
) -> None:
    provider.in_stream = in_stream
    graph = long_thread(provider, tmp_path)
    streamed = "".join(
        str(message.content)
        for message, _ in graph.stream(say("and now?"), thread(), stream_mode="messages")
        if message.type == "AIMessageChunk"
    )
    assert streamed == "fine"
    assert graph.get_state(thread()).values["messages"][-1].content == "fine"


async def test_the_asynchronous_client_recovers_too(provider: Provider, tmp_path: Path) -> None:
    graph = long_thread(provider, tmp_path)
    result = await graph.ainvoke(say("and now?"), thread())
    assert result["messages"][-1].content == "fine"


def test_a_question_too_long_alone_goes_to_a_file(provider: Provider, tmp_path: Path) -> None:
    graph = long_thread(provider, tmp_path)
    result = graph.invoke(say("word " * 4_000), thread())
    assert result["messages"][-1].content == "fine"
    assert result["messages"][-2].content == "word " * 4_000


def test_what_cannot_be_made_to_fit_is_the_providers_error(
    provider: Provider, tmp_path: Path
) -> None:
    model = ChatOpenAI(
        model="m", base_url=provider.url, api_key=SecretStr("none"), max_retries=0, temperature=0
    )
    graph = create_agent_graph(
        model, system_prompt="word " * 4_000, workspace=tmp_path, checkpointer=InMemorySaver()
    )
    with pytest.raises(openai.BadRequestError) as caught:
        graph.invoke(say("hi"), thread())
    assert "longthread: the request took about" in "".join(caught.value.__notes__)
    assert graph.get_state(thread()).next == ("reasoning",)
