"""The memory routes of an agent that stands alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from routes import User, client_of, raw_answer
from starlette.authentication import SimpleUser, UnauthenticatedUser

from longthread import LocalWorkspace
from longthread.apps.http import create_app
from longthread.stores.memory.scopes import Scope
from longthread.stores.memory.undo import undo_consolidation
from longthread.stores.workspace import Owner

FILES = [
    "/memory/MEMORY.md",
    "/memory/memory/2026-03-02.md",
    "/memory/archive-2026-03.md",
    "/agents/agent/memory/MEMORY.md",
    "/agents/another%20one/memory/memory/archive/2026-01-01.md",
]


@pytest.mark.parametrize("url", FILES)
async def test_what_was_put_is_what_is_got_to_the_letter(url: str, tmp_path: Path) -> None:
    text = "\ufeff# Grüße 👩‍👩‍👧\r\n\x0b<!-- 2026-03-02 -->\nno newline at the end"
    async with client_of(agent(Scripted(), tmp_path)) as client:
        assert (await client.get(url)).json()["code"] == "MEMORY_NOT_FOUND"
        put = await client.put(url, json={"content": text})
        assert put.status_code == 201
        got = await client.get(url)
        assert got.json() == {**put.json(), "content": text}
        assert got.json()["size"] == len(text.encode())
        assert got.headers["ETag"] == put.headers["ETag"]
        raw = await client.get(url, headers={"Accept": "text/markdown"})
        assert raw.content == text.encode()
        assert raw.headers["Content-Type"] == "text/markdown; charset=utf-8"
        body, markdown = b"changed", {"Content-Type": "text/markdown; charset=UTF-8"}
        assert (await client.put(url, content=body, headers=markdown)).status_code == 200
        assert (await client.get(url)).json()["content"] == "changed"
        assert (await client.head(url)).status_code == 200
        assert (await client.put(url, content=b"")).status_code == 200
        assert (await client.get(url)).json()["content"] == ""


async def test_the_scopes_are_the_files_that_the_agent_reads(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path)
    async with client_of(graph) as client:
        await client.put("/memory/MEMORY.md", json={"content": "- The port is 5051."})
        await client.put("/agents/agent/memory/MEMORY.md", json={"content": "- I am tidy."})
        await client.put("/agents/other/memory/MEMORY.md", json={"content": "- Not mine."})
        listed = (await client.get("/memory")).json()["files"]
        others = (await client.get("/agents/other/memory")).json()["files"]
    graph.invoke(say("hello"), thread())
    sent = str(script.requests[0])
    assert "The port is 5051." in sent
    assert "I am tidy." in sent
    assert "Not mine." not in sent
    assert [(f["scope"], f.get("agent"), f["file"], f["size"]) for f in listed] == [
        ("global", None, "MEMORY.md", 19),
        ("agent", "agent", "MEMORY.md", 12),
    ]
    assert [f["agent"] for f in others] == ["other"]


@pytest.mark.parametrize(
    "url",
    [
        "/memory/../agents/agent/MEMORY.md",
        "/memory/%2e%2e/agents/agent/MEMORY.md",
        "/memory/..%2f..%2f..%2fsecret.md",
        "/memory/%2e%2e%2f%2e%2e%2f%2e%2e%2fsecret.md",
        "/memory/%252e%252e%252fsecret.md",
        "/memory/..%5c..%5csecret.md",
        "/memory//etc/passwd",
        "/memory/%2fetc%2fpasswd",
        "/memory/C:%5cwindows",
        "/memory/memory/../../../../secret.md",
        "/memory/memory/%00.md",
        "/memory/MEMORY.md%00.txt",
        "/memory/MEMORY.md/",
        "/memory/MEMORY.md%20",
        "/memory/memory.md",
        "/memory/.longthread/cursors.json",
        "/memory/memory/.longthread/x.md",
        "/memory/large_tool_results/t/x.txt",
        "/memory/global/MEMORY.md",
        "/memory/memory/nul.md",
        "/memory/memory/" + "x" * 300 + ".md",
        "/memory/" + "memory/" * 500 + "x.md",
        "/memory/",
        "/agents/agent/memory/global/MEMORY.md",
        "/agents/../memory/MEMORY.md",
        "/agents/%2e%2e/memory/MEMORY.md",
        "/agents/./memory/MEMORY.md",
        "/agents/a%5cb/memory/MEMORY.md",
        "/agents/a%00b/memory/MEMORY.md",
        "/agents/" + "x" * 300 + "/memory/MEMORY.md",
        "/agents/agent/memory/../../other/MEMORY.md",
    ],
)
async def test_no_path_leaves_the_memory(url: str, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    graph = agent(Scripted(), tmp_path)
    async with client_of(graph) as client:
        await client.put("/memory/MEMORY.md", json={"content": "shared"})
        await client.put("/agents/agent/memory/MEMORY.md", json={"content": "own"})
        before = sorted(tmp_path.rglob("*"))
    for method in ("GET", "PUT"):
        status, body = await raw_answer(create_app(graph), method, url)
        assert status in (400, 404), (method, body)
        answer = json.loads(body)
        assert answer.keys() == {"code", "message"}
        assert str(tmp_path) not in answer["message"]
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "secret.md").read_text() == "secret"


async def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    async with client_of(agent(Scripted(), tmp_path)) as client:
        await client.put("/memory/archive-2026-01.md", json={"content": ""})
        shared = next(tmp_path.rglob("archive-2026-01.md")).parent
        (shared / "MEMORY.md").symlink_to(tmp_path / "secret.md")
        for answer in (
            await client.get("/memory/MEMORY.md"),
            await client.put("/memory/MEMORY.md", json={"content": "evil"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (500, "WORKSPACE_ERROR")
            assert str(tmp_path) not in answer.text
    assert (tmp_path / "secret.md").read_text() == "secret"


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"json": {}}, 400, "INVALID_FIELD"),
        ({"json": {"content": None}}, 400, "INVALID_FIELD"),
        ({"json": {"content": "x", "mode": "append"}}, 400, "INVALID_FIELD"),
        ({"json": "x"}, 400, "INVALID_FIELD"),
        (
            {"content": b"{'content'", "headers": {"Content-Type": "application/json"}},
            400,
            "MALFORMED_JSON",
        ),
        (
            {"content": b'{"content": "\\ud800"}', "headers": {"Content-Type": "application/json"}},
            400,
            "MALFORMED_JSON",
        ),
        ({"content": b"\xff\xfe"}, 400, "NOT_UTF_8"),
        ({"content": b"x" * 1_000_001}, 413, "PAYLOAD_TOO_LARGE"),
        ({"json": {"content": "x" * 1_000_000}}, 413, "PAYLOAD_TOO_LARGE"),
        ({"data": {"content": "x"}}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        ({"files": {"content": b"x"}}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (
            {"content": b"x", "headers": {"Content-Type": "text/plain; charset=utf-16"}},
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        (
            {"content": b"x", "headers": {"Content-Encoding": "gzip"}},
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
    ],
)
async def test_what_cannot_be_a_memory_file_is_refused_and_the_old_one_stays(
    options: Any, status: int, code: str, tmp_path: Path
) -> None:
    async with client_of(agent(Scripted(), tmp_path)) as client:
        await client.put("/memory/MEMORY.md", json={"content": "old"})
        answer = await client.put("/memory/MEMORY.md", **options)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json().keys() == {"code", "message"}
        assert (await client.get("/memory/MEMORY.md")).json()["content"] == "old"


@pytest.mark.parametrize(
    "file",
    [
        "memory/2026-02-30.md",
        "memory/0000-00-00.md",
        "memory/2025-02-29.md",
        "memory/2026-13-01.md",
        "memory/2026-3-2.md",
        "memory/archive/2026-04-31.md",
        "archive-2026-13.md",
        "archive-2026-00.md",
        "archive-0000-01.md",
    ],
)
async def test_no_file_is_put_for_a_day_that_never_is(file: str, tmp_path: Path) -> None:
    async with client_of(agent(Scripted(), tmp_path)) as client:
        for folder in ("/memory", "/agents/agent/memory"):
            answer = await client.put(f"{folder}/{file}", content=b"- A fact.")
            assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_PATH")
            assert "of the calendar" in answer.json()["message"]
            assert (await client.get(f"{folder}/{file}")).status_code == 404
        assert (await client.get("/memory")).json()["files"] == []


async def test_the_days_that_are_can_be_put(tmp_path: Path) -> None:
    names = ["memory/2024-02-29.md", "memory/a note.md", "archive-2026-12.md"]
    async with client_of(agent(Scripted(), tmp_path)) as client:
        for name in names:
            assert (await client.put(f"/memory/{name}", content=b"x")).status_code == 201


async def test_a_body_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    taken = 0

    async def pieces() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"x" * 1_000_000

    async with client_of(agent(Scripted(), tmp_path)) as client:
        answer = await client.put("/memory/MEMORY.md", content=pieces())
    assert (answer.status_code, answer.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.headers["Connection"] == "close"
    assert taken < 110


async def test_a_file_may_be_exactly_as_large_as_allowed(tmp_path: Path) -> None:
    async with client_of(agent(Scripted(), tmp_path), max_memory_bytes=100) as client:
        assert (await client.put("/memory/MEMORY.md", content=b"x" * 100)).status_code == 201
        assert (await client.put("/memory/MEMORY.md", content=b"x" * 101)).status_code == 413


@pytest.mark.parametrize(
    ("method", "url", "status", "code"),
    [
        ("GET", "/", 404, "NOT_FOUND"),
        ("GET", "/nothing", 404, "NOT_FOUND"),
        ("POST", "/sessions", 404, "NOT_FOUND"),
        ("POST", "/sessions/t/other", 404, "NOT_FOUND"),
        ("GET", "/agents", 404, "NOT_FOUND"),
        ("GET", "/agents/a/b/memory/MEMORY.md", 404, "NOT_FOUND"),
        ("GET", "/sessions/t/compact", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/memory/MEMORY.md", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/memory", 405, "METHOD_NOT_ALLOWED"),
        ("BREW", "/memory", 405, "METHOD_NOT_ALLOWED"),
    ],
)
async def test_what_is_not_there_is_told_in_json_too(
    method: str, url: str, status: int, code: str, tmp_path: Path
) -> None:
    async with client_of(agent(Scripted(), tmp_path)) as client:
        answer = await client.request(method, url)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json().keys() == {"code", "message"}
    assert ("Allow" in answer.headers) == (status == 405)


async def test_two_editors_of_one_file_do_not_overwrite_each_other(tmp_path: Path) -> None:
    async with client_of(agent(Scripted(), tmp_path)) as client:
        url = "/memory/MEMORY.md"
        first = await client.put(url, content=b"one", headers={"If-None-Match": "*"})
        assert first.status_code == 201
        again = await client.put(url, content=b"two", headers={"If-None-Match": "*"})
        assert (again.status_code, again.json()["code"]) == (412, "PRECONDITION_FAILED")
        known = first.headers["ETag"]
        edits = [
            client.put(url, content=f"edit {i}".encode(), headers={"If-Match": f'"x", {known}'})
            for i in range(10)
        ]
        statuses = [answer.status_code for answer in await asyncio.gather(*edits)]
        assert sorted(statuses) == [200] + [412] * 9
        won = f"edit {statuses.index(200)}"
        got = await client.get(url, headers={"If-None-Match": known})
        assert (got.status_code, got.json()["content"]) == (200, won)
        same = await client.get(url, headers={"If-None-Match": got.headers["ETag"]})
        assert (same.status_code, same.content) == (304, b"")
        for known_to in ("W/{}", '"a,b", W/"c" ,W/{}', "*", '"x",{}'):
            header = {"If-None-Match": known_to.format(got.headers["ETag"])}
            assert (await client.get(url, headers=header)).status_code == 304
            assert (await client.put(url, content=b"x", headers=header)).status_code == 412
        header = {"If-None-Match": '"x,*,y", W/"z"'}
        assert (await client.get(url, headers=header)).status_code == 200
        weak = {"If-Match": "W/" + got.headers["ETag"]}
        assert (await client.put(url, content=b"x", headers=weak)).status_code == 412
        there = {"If-Match": "*"}
        assert (await client.put(url, content=b"x", headers=there)).status_code == 200
        missing = await client.put("/memory/archive-2026-01.md", content=b"x", headers=there)
        assert missing.status_code == 412


async def test_what_a_put_has_overwritten_can_be_put_back(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path)
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))
    scopes: list[tuple[str, Scope]] = [("/memory", "global"), ("/agents/agent/memory", "agent")]
    for url, scope in scopes:
        async with client_of(graph) as client:
            for text in ("- one", "- two", "- two", "- three"):
                await client.put(f"{url}/MEMORY.md", json={"content": text})
        undone = []
        while result := undo_consolidation(files, datetime.now(UTC), scope):
            undone.append(result.text)
        assert undone == ["- two", "- one", None]
        async with client_of(graph) as client:
            assert (await client.get(f"{url}/MEMORY.md")).status_code == 404


async def test_concurrent_puts_leave_one_of_the_texts_whole(tmp_path: Path) -> None:
    texts = [str(i) * 50_000 for i in range(10)]
    async with client_of(agent(Scripted(), tmp_path)) as client:
        puts = [client.put("/memory/MEMORY.md", content=text.encode()) for text in texts]
        reads = [client.get("/memory/MEMORY.md") for _ in range(20)]
        answers = await asyncio.gather(*puts, *reads)
        assert {a.status_code for a in answers[:10]} == {200, 201}
        assert sum(a.status_code == 201 for a in answers[:10]) == 1
        seen = [a.json()["content"] for a in answers[10:] if a.status_code == 200]
        assert set(seen) <= set(texts)
        assert (await client.get("/memory/MEMORY.md")).json()["content"] in texts


async def test_each_authenticated_user_has_a_memory_of_their_own(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path)
    subjects = ["https://issuer.example/users/42", "..", "../ann", "a\\b", "CON", "x" * 5_000]
    users: list[Any] = ["ann", "Bob@example.com", SimpleUser("cy"), None, *subjects]
    for number, user in enumerate(users):
        async with client_of(graph, user=user) as client:
            assert (await client.get("/memory/MEMORY.md")).status_code == 404
            put = await client.put("/memory/MEMORY.md", content=str(number).encode())
            assert put.status_code == 201
    for number, user in enumerate(users):
        async with client_of(graph, user=user) as client:
            assert (await client.get("/memory/MEMORY.md")).json()["content"] == str(number)
    async with client_of(graph, user=UnauthenticatedUser()) as client:
        assert (await client.get("/memory/MEMORY.md")).json()["content"] == "3"
    for identity, code in (("", "NO_IDENTITY"), ("a\nb", "INVALID_IDENTITY")):
        async with client_of(graph, user=User(identity)) as client:
            for answer in (
                await client.get("/memory"),
                await client.put("/agents/a/memory/MEMORY.md", content=b"x"),
                await client.post("/sessions/t/compact"),
            ):
                assert (answer.status_code, answer.json()["code"]) == (403, code)
