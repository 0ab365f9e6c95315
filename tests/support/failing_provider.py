"""A loopback endpoint that speaks OpenAI's protocol and fails in every way that was seen."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OK = "ok"
WORDS = ("The answer", " is", " forty-two.")

# What stands in the body of an answer, and as the only event of a stream; None: no event at all.
UNREADABLE: dict[str, bytes | None] = {
    "empty": None,
    "done_only": b"[DONE]",
    "no_choices": b'{"id": "1", "object": "x", "created": 0, "model": "m", "choices": []}',
    "null_choices": b'{"id": "1", "object": "x", "created": 0, "model": "m", "choices": null}',
    "null_choice": b'{"id": "1", "object": "x", "created": 0, "model": "m", "choices": [null]}',
    "null_message": b'{"id": "1", "object": "x", "created": 0, "model": "m", "choices": [{"index": '
    b'0, "finish_reason": null, "message": null, "delta": null}]}',
    "choices_are_text": b'{"id": "1", "choices": "none"}',
    "fields_missing": b"{}",
    "json_list": b"[1]",
    "json_text": b'"sorry"',
    "json_null": b"null",
    "page": b"<html>Sign in</html>",
}


class FailingProvider:
    """Answers each request as the next word of its plan says; the last one is repeated.

    Plans: `ok`, `hang`, `rate_limit`, `broken` (500), `unavailable` (503), `malformed` (half a JSON
    document), `cut` (a stream or body whose connection breaks), `cut_early` (before
    any content), `cut_quietly` (a stream that ends as if it were complete), `stream_error` (an
    error inside a stream), `unauthorized` (repeats the key), `bad_request`, `overflow`, and answers
    of 200 that are none: those of `UNREADABLE`.

    Attributes:
        requests: The bodies of the requests, in order.
        keys: The keys that were sent, in order.
    """

    def __init__(self, *plan: str, text: tuple[str, ...] = WORDS) -> None:
        self.plan = list(plan) or [OK]
        self.text = text
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address for `base_url`."""
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.requests.append(body)
        key = str(handler.headers["authorization"]).removeprefix("Bearer ")
        self.keys.append(key)
        step = self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]
        match step:
            case "hang":
                self.closing.wait(60)
                _hang_up(handler)
            case "rate_limit":
                headers = {"retry-after": "1", "retry-after-ms": "1"}
                _send(handler, _error("Rate limit reached", "rate_limit_exceeded"), 429, headers)
            case "broken":
                _send(handler, _error("The server had an error", "server_error"), 500)
            case "unavailable":
                _send(handler, _error("Overloaded", "service_unavailable"), 503)
            case "unauthorized":
                _send(handler, _error(f"Incorrect API key: {key}", "invalid_api_key"), 401)
            case "bad_request":
                _send(handler, _error("Unknown parameter: 'x'", "unknown_parameter"), 400)
            case "overflow":
                text = "This model's maximum context length is 4000 tokens. However, your messages"
                error = _error(f"{text} resulted in 5000 tokens.", "context_length_exceeded")
                _send(handler, error, 400)
            case "malformed":
                _send(handler, b'{"id": "1", "choices": [{"message": {"content": "hal')
            case "page":  # that of a gateway, whatever was asked for
                _send(handler, UNREADABLE["page"] or b"", kind="text/html")
            case _ if step in UNREADABLE and not body.get("stream"):
                _send(handler, UNREADABLE[step] or b"")
            case _ if step in UNREADABLE:
                event = UNREADABLE[step]
                events = b"" if event is None else b"data: %s\n\n" % event
                _send(handler, events, kind="text/event-stream")
            case _ if body.get("stream"):
                self._stream(handler, step)
            case _ if step.startswith("cut"):
                whole = self._whole()
                _head(handler, 200, {"content-length": str(len(whole))})
                handler.wfile.write(whole[: len(whole) // 2])
                _hang_up(handler)
            case _:
                _send(handler, self._whole())

    def _whole(self) -> bytes:
        message = {"role": "assistant", "content": "".join(self.text)}
        answer = {
            **_chunk({}),
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
        }
        return json.dumps(answer).encode()

    def _stream(self, handler: BaseHTTPRequestHandler, step: str) -> None:
        quietly = step == "cut_quietly"
        headers: dict[str, str] = {} if quietly else {"transfer-encoding": "chunked"}
        _head(handler, 200, headers, "text/event-stream")
        events: list[Any] = [_chunk({"role": "assistant", "content": ""})]
        if step != "cut_early":
            events += [_chunk({"content": word}) for word in self.text]
        if step == "stream_error":
            events = [events[0], json.loads(_error("The server is overloaded", "server_error"))]
        if step == OK:
            events.append(_chunk({}, "stop"))
        else:
            events = events[:2]
        for event in events:
            _write(handler, f"data: {json.dumps(event)}\n\n".encode(), chunked=not quietly)
        if step in (OK, "stream_error"):
            _write(handler, b"data: [DONE]\n\n", chunked=True)
            handler.wfile.write(b"0\r\n\r\n")
        else:
            _hang_up(handler)


def _error(message: str, code: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


def _head(
    handler: BaseHTTPRequestHandler,
    status: int,
    headers: dict[str, str],
    kind: str = "application/json",
) -> None:
    handler.send_response(status)
    # A client that outlives its event loop keeps no connection that way.
    for name, value in {"content-type": kind, "connection": "close", **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()


def _send(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    headers: dict[str, str] | None = None,
    kind: str = "application/json",
) -> None:
    _head(handler, status, {"content-length": str(len(body)), **(headers or {})}, kind)
    handler.wfile.write(body)


def _write(handler: BaseHTTPRequestHandler, data: bytes, *, chunked: bool) -> None:
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if chunked else data)
    handler.wfile.flush()


def _hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.flush()
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serving(*providers: FailingProvider) -> Iterator[None]:
    """Serve until the block ends."""
    for each in providers:
        threading.Thread(
            target=each.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
    try:
        yield
    finally:
        for each in providers:
            each.closing.set()
            each.server.shutdown()
            each.server.server_close()


def refused_url() -> str:
    """Return an address that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"
