"""What depends on the server in front of the routes: uvicorn alone, and `langgraph dev`."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from agents import Scripted, agent
from langgraph_sdk import get_sync_client

from longthread.apps.http import create_app


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the routes under uvicorn."""
    app = create_app(agent(Scripted(), tmp_path_factory.mktemp("alone")))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(params=["alone", "langgraph_server"])
def url(request: pytest.FixtureRequest) -> str:
    """The address of the routes."""
    found: str = request.getfixturevalue(request.param)
    return found


def raw(url: str, request: bytes) -> tuple[int, Any]:
    """Send bytes as they are; return status and body."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=30) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def test_every_memory_route_works(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for path in ("/memory/MEMORY.md", "/agents/a b/memory/MEMORY.md"):
            put = client.put(path, json={"content": "é"})
            assert put.status_code == 201
            assert client.get(path).json() == {**put.json(), "content": "é"}
        assert client.get("/agents/a b/memory").json()["files"][0]["agent"] == "a b"
        assert client.get("/memory").json()["files"][0]["file"] == "MEMORY.md"
        for method, path, status in (
            ("GET", "/memory/secret.txt", 400),
            ("GET", "/memory/archive-2000-01.md", 404),
            ("PUT", "/sessions/x/compact", 405),
            ("POST", "/sessions/x/compact", 404),
            ("GET", "/agents/x/y/z", 404),
        ):
            answer = client.request(method, path)
            assert answer.status_code == status
            assert answer.json().keys() == {"code", "message"}


def test_fifty_megabytes_are_refused_before_they_are_held(url: str) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(50):
            yield b"x" * 1_000_000

    with httpx.Client(base_url=url, timeout=60) as client:
        for body in (b"x" * 50_000_000, pieces()):  # announced, and chunked
            answer = client.put("/memory/memory/huge.md", content=body)
            assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
        assert client.get("/memory/memory/huge.md").status_code == 404


def test_a_client_that_reads_only_after_it_has_sent_everything_is_told_why(url: str) -> None:
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=60)
    with contextlib.closing(connection):
        for _ in range(2):  # on the same connection
            connection.request("PUT", "/memory/memory/huge.md", body=b"x" * 50_000_000)
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_a_client_that_asks_first_sends_nothing_that_is_too_large(url: str) -> None:
    head = b"PUT /memory/memory/huge.md HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n"
    status, body = raw(url, head + b"Expect: 100-continue\r\n\r\n")
    assert (status, body["code"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    "path",
    [
        b"/memory/../../../../etc/passwd",
        b"/memory/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        b"/memory/..%2f..%2f..%2fetc%2fpasswd",
        b"/memory//etc/passwd",
        b"/memory/..%c0%af..%c0%afetc/passwd",
        b"/memory/MEMORY.md%00",
        b"/agents/../memory/MEMORY.md",
        b"/agents/%2e%2e/memory/MEMORY.md",
        b"/agents/..%2f..%2fx/memory/MEMORY.md",
    ],
)
def test_no_path_leaves_the_memory(url: str, path: bytes) -> None:
    headers = b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\nevil"
    for method in (b"GET ", b"PUT "):
        status, body = raw(url, method + path + headers)
        assert status in (400, 404)
        assert body.keys() == {"code", "message"}


def test_a_body_that_is_cut_off_changes_nothing(url: str) -> None:
    parts = urlsplit(url)
    assert parts.hostname is not None
    head = b"PUT /memory/memory/cut.md HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf"
    with socket.create_connection((parts.hostname, parts.port or 80), timeout=30) as connection:
        connection.sendall(head)
    with httpx.Client(base_url=url) as client:
        assert client.get("/memory/memory/cut.md").status_code == 404


def test_our_own_server_compacts_without_key_and_without_users(langgraph_server: str) -> None:
    with get_sync_client(url=langgraph_server) as client, httpx.Client() as http:
        thread = client.threads.create()["thread_id"]
        said = [("user", "one " * 100), ("assistant", "1"), ("user", "two " * 100)]
        given: Any = {"messages": [{"role": role, "content": text} for role, text in said]}
        client.runs.wait(thread, "agent", input=given)
        answer = http.post(f"{langgraph_server}/sessions/{thread}/compact")
        assert answer.status_code == 200
        assert answer.json()["session"]["compactSummary"].startswith("## Facts")
        found: Any = client.threads.get(thread)
        assert found["metadata"]["graph_id"] == "agent"
