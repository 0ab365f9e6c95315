"""The routes inside a LangGraph Server that authenticates its users.

The server watches for calls that block its event loop and fails a request that makes one.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_server import running_server

SERVED = Path(__file__).parents[2] / "support" / "served.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server runs."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of a running server."""
    shutil.copy(SERVED, folder)
    config = {
        "python_version": "3.11",
        "dependencies": ["."],
        "graphs": {"agent": "served:agent", "compaction": "served:compaction"},
        "auth": {"path": "./served.py:auth", "disable_studio_auth": True},
        "http": {"app": "served:app", "enable_custom_route_auth": True},
    }
    environment = {"WORKSPACE": str(folder / "workspace"), "GATES": str(folder)}
    with running_server(folder, config, PYTHONPATH=str(folder), **environment) as url:
        yield url


class Client:
    """Somebody who uses both the routes and the server's own interface."""

    def __init__(self, url: str, name: str) -> None:
        headers = {"Authorization": f"Bearer {name}"}
        self.routes = httpx.AsyncClient(base_url=url, headers=headers, timeout=60)
        self.sdk: Any = get_client(url=url, headers=headers)

    async def thread(self, *texts: str) -> str:
        """Return a thread in which this has been said, by turns."""
        thread: str = (await self.sdk.threads.create(graph_id="agent"))["thread_id"]
        if texts:
            kinds = ("human", "ai")
            said = [{"type": kinds[i % 2], "content": text} for i, text in enumerate(texts)]
            values = {"messages": said}
            await self.sdk.threads.update_state(thread, values, as_node="consolidation")
        return thread

    async def say(self, thread: str, text: str, **options: Any) -> str:
        """Return the answer to a text."""
        given = {"messages": [{"role": "user", "content": text}]}
        result = await self.sdk.runs.wait(thread, "agent", input=given, **options)
        return str(result["messages"][-1]["content"])

    async def compact(self, thread: str, **options: Any) -> tuple[int, Any]:
        """Ask for a compaction; return status and body."""
        return await self.post(f"/sessions/{thread}/compact", **options)

    async def post(self, url: str, **options: Any) -> tuple[int, Any]:
        """Post to a route; return status and body."""
        answer = await self.routes.post(url, **options)
        return answer.status_code, answer.json()


@pytest.fixture
async def ann(server: str) -> AsyncIterator[Client]:
    """A user."""
    client = Client(server, "ann")
    async with client.routes, client.sdk:
        yield client


@pytest.fixture
async def bob(server: str) -> AsyncIterator[Client]:
    """Another user, whose identity provider names its subjects by URLs."""
    client = Client(server, "https://issuer.example/users/bob")
    async with client.routes, client.sdk:
        yield client


async def until(path: Path) -> None:
    """Return when there is such a file."""
    for _ in range(3_000):
        if path.exists():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{path} did not appear")


LONG = "something long enough to be summarised " * 10
SAID = [f"{number} {LONG}" for number in ("one", "two", "three", "four")]


async def test_a_session_is_compacted_and_goes_on(ann: Client, folder: Path) -> None:
    thread = await ann.thread(*SAID)
    status, body = await ann.compact(thread, json={"instructions": "Keep names."})
    assert status == 200
    assert body["sessionId"] == body["session"]["id"] == thread
    assert body["compactedCount"] == body["newSize"] == body["session"]["compactSize"] >= 2
    assert body["session"]["compactSummary"] == "SUM"
    assert body["session"]["messageCount"] == 4
    assert body["session"]["status"] == "idle"
    state = await ann.sdk.threads.get_state(thread)
    assert state["values"]["compaction"]["summary"] == "SUM"
    assert len(state["values"]["messages"]) == 4
    found = await ann.sdk.threads.get(thread)
    assert (found["status"], found["metadata"]["graph_id"]) == ("idle", "agent")
    assert "SUM" in await ann.say(thread, "five")
    # What was summarised was remembered, for whom it belongs to.
    ledgers = list(folder.glob("workspace/users/*/agents/agent/memory/*.md"))
    assert [ledger.parents[3].name for ledger in ledgers] == ["ann"]


async def test_a_session_in_the_middle_of_a_call_is_busy(ann: Client, folder: Path) -> None:
    thread = await ann.thread(*SAID)
    running = asyncio.create_task(ann.say(thread, "wait for gate-a"))
    await until(folder / "gate-a-reached")
    for dry in (False, True):
        status, body = await ann.compact(thread, json={"dryRun": dry})
        assert (status, body["code"]) == (409, "SESSION_BUSY")
    (folder / "gate-a").touch()
    assert "messages" in await running
    state = await ann.sdk.threads.get_state(thread)
    assert len(state["values"]["messages"]) == 6
    assert not state["values"].get("compaction")


async def test_a_call_that_comes_during_a_compaction_waits_and_a_second_compaction_is_refused(
    ann: Client, folder: Path
) -> None:
    thread = await ann.thread(*SAID)
    asked = {"instructions": "wait for gate-b"}
    running = asyncio.create_task(ann.compact(thread, json=asked))
    await until(folder / "gate-b-reached")
    status, body = await ann.compact(thread)
    assert (status, body["code"]) == (409, "SESSION_BUSY")
    saying = asyncio.create_task(ann.say(thread, "five"))
    await asyncio.sleep(0.1)
    (folder / "gate-b").touch()
    status, body = await running
    assert (status, body["session"]["compactSummary"]) == (200, "SUM")
    assert "SUM" in await saying
    state = await ann.sdk.threads.get_state(thread)
    assert len(state["values"]["messages"]) == 6
    assert state["values"]["compaction"]["summary"] == "SUM"


async def test_a_compaction_outlives_the_client_that_asked_for_it(
    ann: Client, folder: Path
) -> None:
    thread = await ann.thread(*SAID)
    asking = asyncio.create_task(ann.compact(thread, json={"instructions": "wait for gate-c"}))
    await until(folder / "gate-c-reached")
    asking.cancel()  # closes the connection
    (folder / "gate-c").touch()
    await ann.sdk.runs.join(thread, (await ann.sdk.runs.list(thread))[0]["run_id"])
    state = await ann.sdk.threads.get_state(thread)
    assert state["values"]["compaction"]["summary"] == "SUM"


async def test_a_compaction_that_is_cancelled_for_a_call_writes_nothing(
    ann: Client, folder: Path
) -> None:
    thread = await ann.thread(*SAID)
    asking = asyncio.create_task(ann.compact(thread, json={"instructions": "wait for gate-d"}))
    await until(folder / "gate-d-reached")
    said = await ann.say(thread, "five", multitask_strategy="interrupt")
    (folder / "gate-d").touch()
    status, body = await asking
    assert (status, body["code"]) == (409, "SESSION_BUSY")
    assert "SUM" not in said
    values = (await ann.sdk.threads.get_state(thread))["values"]
    assert len(values["messages"]) == 6
    assert not values.get("compaction")


async def test_a_session_that_waits_for_the_user_is_busy_and_still_waits(ann: Client) -> None:
    thread, other = await ann.thread(*SAID), await ann.thread(*SAID)
    await asyncio.gather(ann.say(thread, "ask me"), ann.say(other, "ask me"))
    dry = ann.compact(other, json={"dryRun": True})
    for status, body in await asyncio.gather(ann.compact(thread), dry):
        assert (status, body["code"]) == (409, "SESSION_BUSY")
    found = await ann.sdk.threads.get(thread)
    assert (found["status"], found["metadata"]["graph_id"]) == ("interrupted", "agent")
    result = await ann.sdk.runs.wait(thread, "agent", command={"resume": "blue"})
    assert result["messages"][-2]["content"] == "blue"


async def test_a_summariser_that_fails_leaves_the_session_as_it_was(ann: Client) -> None:
    thread = await ann.thread(*SAID)
    before = await ann.sdk.threads.get_state(thread)
    status, body = await ann.compact(thread, json={"instructions": "break down"})
    assert (status, body["code"]) == (502, "SUMMARY_FAILED")
    assert "sk-123" not in str(body)
    assert (await ann.sdk.threads.get(thread))["status"] == "idle"
    assert (await ann.sdk.threads.get_state(thread))["checkpoint"] == before["checkpoint"]


async def test_sessions_that_cannot_be_compacted_are_refused(ann: Client) -> None:
    for unknown in ("nobody", "01a22b52-fb5a-726f-93d0-89e3979b72a8", "a%3Fb"):
        status, body = await ann.compact(unknown)
        assert (status, body["code"]) == (404, "SESSION_NOT_FOUND")
    disabled = (await ann.sdk.threads.create(graph_id="agent"))["thread_id"]
    off = {"enabled": False, "compaction_count": 50, "auto_threshold": None, "model": "default"}
    values = {"rolling": {**off, "custom_instructions": None}}
    await ann.sdk.threads.update_state(disabled, values, as_node="consolidation")
    empty = await ann.thread()
    _, (status, body) = await asyncio.gather(ann.say(disabled, LONG), ann.compact(empty))
    assert (status, body["code"]) == (404, "SESSION_NOT_FOUND")
    status, body = await ann.compact(disabled)
    assert (status, body["code"]) == (400, "COMPACTION_DISABLED")
    status, body = await ann.compact(disabled, content=b"{")
    assert (status, body["code"]) == (400, "MALFORMED_JSON")


async def test_a_closed_session_can_be_read_and_nothing_else(ann: Client, folder: Path) -> None:
    thread = await ann.thread(*SAID)
    running = asyncio.create_task(ann.say(thread, "wait for gate-e"))
    await until(folder / "gate-e-reached")
    status, body = await ann.post(f"/sessions/{thread}/close")
    assert (status, body["code"]) == (409, "SESSION_BUSY")
    (folder / "gate-e").touch()
    await running
    status, body = await ann.post(f"/sessions/{thread}/close")
    assert (status, body["alreadyClosed"], body["session"]["status"]) == (200, False, "closed")
    assert body["session"]["messageCount"] == 6
    status, again = await ann.post(f"/sessions/{thread}/close")
    assert (status, again) == (200, {**body, "alreadyClosed": True})
    status, body = await ann.compact(thread)
    assert (status, body["code"]) == (400, "SESSION_CLOSED")
    with pytest.raises(Exception, match="LongthreadError"):
        await ann.say(thread, "more")
    for unknown in ("nobody", await ann.thread()):
        status, body = await ann.post(f"/sessions/{unknown}/close")
        assert (status, body["code"]) == (404, "SESSION_NOT_FOUND")


async def test_nobody_reaches_what_is_another_users(ann: Client, bob: Client) -> None:
    thread = await ann.thread(*SAID)
    for what in ("compact", "close"):
        status, body = await bob.post(f"/sessions/{thread}/{what}")
        assert (status, body["code"]) == (404, "SESSION_NOT_FOUND")
    own = await bob.thread("hello")
    run = await bob.sdk.runs.wait(own, "compaction", input={"thread_id": thread})
    assert run["error"]["code"] == "SESSION_NOT_FOUND"
    assert not (await ann.sdk.threads.get_state(thread))["values"].get("compaction")
    for url in ("/memory/MEMORY.md", "/agents/agent/memory/MEMORY.md"):
        assert (await ann.routes.put(url, json={"content": "Ann's."})).is_success
        assert (await bob.routes.get(url)).json()["code"] == "MEMORY_NOT_FOUND"
        assert (await ann.routes.get(url)).json()["content"] == "Ann's."
    assert (await bob.routes.put("/memory/MEMORY.md", json={"content": "Bob's."})).is_success
    another = await ann.thread()
    answers = await asyncio.gather(ann.say(another, "hello"), bob.say(own, "hello"))
    heard = [("Ann's." in answer, "Bob's." in answer) for answer in answers]
    assert heard == [(True, False), (False, True)]


async def test_the_servers_own_authentication_guards_the_routes(server: str) -> None:
    async with httpx.AsyncClient(base_url=server) as stranger:
        assert (await stranger.get("/memory")).status_code == 401
        assert (await stranger.put("/memory/MEMORY.md", content=b"x")).status_code == 401
        assert (await stranger.post("/sessions/t/compact")).status_code == 401
        assert (await stranger.post("/sessions/t/close")).status_code == 401


async def test_the_servers_own_errors_stay_as_its_clients_know_them(ann: Client) -> None:
    for url, status in (("/threads/nobody", 422), ("/nothing", 404)):
        answer = await ann.routes.get(url)
        assert answer.status_code == status
        assert "code" not in answer.json()
    answer = await ann.routes.get("/sessions/nothing")
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    answer = await ann.routes.delete("/memory")
    assert (answer.status_code, answer.json()["code"]) == (405, "METHOD_NOT_ALLOWED")
    paths = (await ann.routes.get("/openapi.json")).json()["paths"]
    assert paths["/memory/{file}"]["put"]["summary"] == "Overwrite a memory file"
    assert "409" in paths["/sessions/{id}/compact"]["post"]["responses"]


async def test_the_agent_looks_into_past_threads_of_its_own_user_and_of_nobody_else(
    ann: Client, bob: Client
) -> None:
    first, second, his = await ann.thread(), await ann.thread(), await bob.thread()
    told = await ann.say(first, "the lighthouse is in Oslo")
    await ann.say(second, "nothing of the kind")
    assert await bob.say(his, "my lighthouse is in Rome")

    found = await ann.say(second, "find LIGHTHOUSE is")
    assert f"\n[{first} #0 user] the lighthouse is in Oslo" in found
    assert "Rome" not in found
    assert "lighthouse is in Oslo" in (shown := await ann.say(second, f"read {first}"))
    assert told.partition("\n")[0] in shown

    found = await bob.say(his, "find lighthouse")
    assert f"[{his} #0 user] my lighthouse is in Rome" in found
    assert "Oslo" not in found
    assert "Oslo" not in (refused := await bob.say(his, f"read {first}"))
    assert "no thread" in refused

    # What has been said meanwhile is found too, and what the server deletes no more.
    await ann.say(first, "the lighthouse has moved to Bergen")
    assert "Bergen" in await ann.say(second, "find lighthouse has")
    await ann.sdk.threads.delete(first)
    found = await ann.say(second, "find the lighthouse")
    assert f"\n[{second} #" in found  # which quotes it
    assert f"\n[{first} #" not in found
