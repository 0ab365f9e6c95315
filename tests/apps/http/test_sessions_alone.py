"""`POST /sessions/{id}/compact` of an agent that keeps its threads itself."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from routes import client_of, raw_answer

from longthread import (
    FlushTrigger,
    LongthreadError,
    MemoryConfig,
    RollingCompactionConfig,
    ThreadContext,
)
from longthread.apps.http import create_app
from longthread.graphs.compaction import create_compaction_graph
from longthread.graphs.compiled import AgentGraph
from longthread.nodes.node import drive
from longthread.stores.checkpointers.leases import is_leased, lease_on


def with_history(graph: AgentGraph, name: str = "t") -> AgentGraph:
    """Give an agent a thread with a hundred messages."""
    kinds = (HumanMessage, AIMessage)
    messages: list[BaseMessage] = [kinds[i % 2](f"message {i:04d}", id=f"m{i}") for i in range(100)]
    graph.update_state(thread(name), {"messages": messages}, as_node="consolidation")
    return graph


async def compacted(graph: AgentGraph, name: str = "t", **options: Any) -> httpx.Response:
    """Ask for a compaction."""
    async with client_of(graph) as client:
        return await client.post(f"/sessions/{name}/compact", **options)


async def test_the_answer_has_the_references_fields(tmp_path: Path) -> None:
    graph = with_history(agent(Scripted("ok", summary="SUM"), tmp_path))
    answer = await compacted(graph)
    assert answer.status_code == 200
    body = answer.json()
    session = body.pop("session")
    assert body == {
        "sessionId": "t",
        "compactedCount": 50,
        "newSize": 50,
        "alreadyUpToDate": False,
    }
    assert session.pop("contextSize") > 0
    assert session == {
        "id": "t",
        "agent": "agent",
        "status": "idle",
        "messageCount": 100,
        "compactSummary": "SUM",
        "compactSize": 50,
        "contextSizeLimit": 64_000,
    }
    assert graph.get_state(thread()).values["compaction"]["summary"] == "SUM"


async def test_a_session_that_is_up_to_date_says_so(tmp_path: Path) -> None:
    script = Scripted("an answer", summary="S")
    graph = agent(script, tmp_path)
    graph.invoke(say("a question that is long enough " * 20), thread())
    first = (await compacted(graph)).json()
    second = (await compacted(graph)).json()
    while not second["alreadyUpToDate"]:
        first, second = second, (await compacted(graph)).json()
    assert second["compactedCount"] == 0
    assert second["newSize"] == first["newSize"]
    assert second["session"]["compactSummary"] == "S"


async def test_instructions_are_passed_on_and_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = with_history(agent(script, tmp_path))
    dry = await compacted(graph, json={"dryRun": True})
    assert (dry.json()["compactedCount"], dry.json()["session"]["compactSummary"]) == (50, None)
    assert not script.asked["summary"]
    await compacted(graph, json={"instructions": "Keep the task list."})
    assert "Keep the task list." in str(script.asked["summary"][0][-1].content)


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"json": {"instruction": "x"}}, 400, "INVALID_FIELD"),
        ({"json": {"dryRun": "yes"}}, 400, "INVALID_FIELD"),
        ({"json": {"instructions": 7}}, 400, "INVALID_FIELD"),
        ({"json": {"instructions": "x" * 20_001}}, 400, "INVALID_FIELD"),
        ({"json": ["instructions"]}, 400, "INVALID_FIELD"),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "MALFORMED_JSON"),
        ({"content": b"[" * 90_000}, 400, "MALFORMED_JSON"),
        ({"content": b'{"instructions": "\\ud800"}'}, 400, "MALFORMED_JSON"),
        ({"content": b'{"instructions": "\xff"}'}, 400, "MALFORMED_JSON"),
        ({"content": b"x" * 200_000}, 413, "PAYLOAD_TOO_LARGE"),
        ({"data": {"dryRun": "1"}}, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (
            {"content": b"{}", "headers": {"Content-Encoding": "gzip"}},
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
    ],
)
async def test_a_body_that_cannot_be_used_is_refused(
    options: Any, status: int, code: str, tmp_path: Path
) -> None:
    script = Scripted("ok")
    answer = await compacted(with_history(agent(script, tmp_path)), **options)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json().keys() == {"code", "message"}
    assert not script.asked["summary"]


async def test_an_unknown_session_is_not_found(tmp_path: Path) -> None:
    answer = await compacted(agent(Scripted("ok"), tmp_path), "nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "SESSION_NOT_FOUND")


async def test_compaction_that_is_turned_off_is_a_bad_request(tmp_path: Path) -> None:
    off = RollingCompactionConfig(enabled=False)
    answer = await compacted(with_history(agent(Scripted("ok"), tmp_path, rolling=off)))
    assert (answer.status_code, answer.json()["code"]) == (400, "COMPACTION_DISABLED")


async def test_a_session_that_waits_for_an_approval_is_busy(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a"), "done"), tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    for dry in (False, True):
        answer = await compacted(graph, json={"dryRun": dry})
        assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
    assert graph.get_state(thread()).next == ("tools",)


async def test_a_call_that_has_stored_nothing_yet_makes_a_session_busy_too(tmp_path: Path) -> None:
    started, goes_on = threading.Event(), threading.Event()

    def slowly(_: list[BaseMessage]) -> str:
        started.set()
        assert goes_on.wait(30)
        return "well"

    script = Scripted(ValueError("ill"), slowly)
    graph = with_history(agent(script, tmp_path))
    with pytest.raises(ValueError, match="ill"):
        graph.invoke(say("go"), thread())
    # It repeats the model call that failed: until that is over, the thread looks as it did.
    running = asyncio.create_task(graph.ainvoke(None, thread()))
    assert await asyncio.to_thread(started.wait, 30)
    answers = [await compacted(graph, json={"dryRun": dry}) for dry in (False, True)]
    goes_on.set()
    assert (await running)["messages"][-1].content == "well"
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
    assert not script.asked["summary"]


async def test_a_call_in_another_process_makes_a_session_busy_and_its_end_makes_it_free(
    tmp_path: Path,
) -> None:
    with (
        SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as here,
        SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as elsewhere,
    ):
        graph = with_history(agent(Scripted("ok"), tmp_path, checkpointer=here))
        lease = drive(lease_on(elsewhere, "t"))
        for dry in (False, True):
            answer = await compacted(graph, json={"dryRun": dry})
            assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
        lease()
        answer = await compacted(graph)
        assert (answer.status_code, answer.json()["session"]["status"]) == (200, "idle")


def test_a_session_in_which_the_next_call_has_begun_is_told_to_be_busy(tmp_path: Path) -> None:
    streams: list[Any] = []

    class Eager(InMemorySaver):
        compacted = False

        def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
            self.compacted = "summary" in str(checkpoint["channel_values"].get("compaction"))
            return super().put(config, checkpoint, metadata, versions)

        def get_tuple(self, config: Any) -> Any:
            if self.compacted and not streams and not is_leased(self, "t"):
                streams.append(graph.stream(say("already"), thread()))
                next(streams[0])
            return super().get_tuple(config)

    graph = with_history(agent(Scripted("ok"), tmp_path, checkpointer=Eager()))
    done = create_compaction_graph(graph).invoke({"thread_id": "t"})
    assert (done["session"]["size"], done["session"]["status"]) == (50, "busy")
    for _ in streams[0]:
        pass
    done = create_compaction_graph(graph).invoke({"thread_id": "t"})
    assert done["session"]["status"] == "idle"


@pytest.mark.parametrize("name", ["a/b", "a//b/", "x/compact", "/", "../y", "a b?#%", "%2F"])
async def test_a_thread_may_be_called_anything(name: str, tmp_path: Path) -> None:
    graph = with_history(agent(Scripted("ok"), tmp_path), name)
    with_history(graph, "b")
    app = create_app(graph)
    for wanted in ("compact", "close"):
        status, body = await raw_answer(app, "POST", f"/sessions/{quote(name, '')}/{wanted}", b"")
        assert status == 200, body
        assert json.loads(body)["sessionId"] == name
    status, body = await raw_answer(app, "POST", "/sessions/a/c/compact", b"")
    assert (status, json.loads(body)["code"]) == (404, "SESSION_NOT_FOUND")


@pytest.mark.parametrize("name", ["", "%00", "a%00b"])
async def test_what_can_be_no_thread_is_not_found(name: str, tmp_path: Path) -> None:
    app = create_app(with_history(agent(Scripted("ok"), tmp_path)))
    for wanted in ("compact", "close"):
        status, body = await raw_answer(app, "POST", f"/sessions/{name}/{wanted}", b"")
        assert (status, json.loads(body)["code"]) == (404, "SESSION_NOT_FOUND")


async def test_a_thread_is_its_owners_though_their_id_is_a_url(tmp_path: Path) -> None:
    ann, bob = "https://issuer.example/users/1", "https://issuer.example/users/2"
    graph = agent(Scripted("an answer", facts="- A fact."), tmp_path)
    for _ in range(3):
        graph.invoke(say("a question " * 40), thread(), context=ThreadContext(user_id=ann))
    for user, status in ((bob, 404), (ann, 200)):
        async with client_of(graph, user=user) as client:
            assert (await client.post("/sessions/t/compact")).status_code == status
    assert len(list((tmp_path / "workspace" / "users").iterdir())) == 1


async def test_a_session_in_the_middle_of_a_call_is_busy_and_the_call_goes_on(
    tmp_path: Path,
) -> None:
    started, goes_on = threading.Event(), threading.Event()

    def slowly(_: list[BaseMessage]) -> str:
        started.set()
        assert goes_on.wait(30)
        return "at last"

    graph = with_history(agent(Scripted(slowly), tmp_path))
    running = asyncio.create_task(graph.ainvoke(say("go"), thread()))
    assert await asyncio.to_thread(started.wait, 30)
    answers = [await compacted(graph, json={"dryRun": dry}) for dry in (False, True)]
    goes_on.set()
    assert (await running)["messages"][-1].content == "at last"
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (409, "SESSION_BUSY")
    state = graph.get_state(thread()).values
    assert len(state["messages"]) == 102
    assert not state.get("compaction", {}).get("summary")


async def test_a_summariser_that_fails_changes_nothing_and_tells_no_secret(tmp_path: Path) -> None:
    script = Scripted("ok", summary=ValueError("the key sk-123 is wrong"))
    graph = with_history(agent(script, tmp_path))
    before = graph.get_state(thread()).config
    failed = await compacted(graph)
    assert (failed.status_code, failed.json()["code"]) == (502, "SUMMARY_FAILED")
    assert "sk-123" not in failed.text
    script.side["summary"] = "  "
    refused = await compacted(graph)
    assert (refused.status_code, refused.json()["code"]) == (502, "SUMMARY_REFUSED")
    assert graph.get_state(thread()).config == before


async def test_a_failed_call_is_told_of_and_may_be_compacted(tmp_path: Path) -> None:
    graph = with_history(agent(Scripted(ValueError("ill"), "well", summary="S"), tmp_path))
    with pytest.raises(ValueError, match="ill"):
        graph.invoke(say("go"), thread())
    answer = await compacted(graph)
    assert answer.json()["compactedCount"] == 51  # the question counts too
    assert answer.json()["session"]["status"] == "interrupted"
    assert (await compacted(graph)).json()["newSize"] > 51
    assert graph.invoke(None, thread())["messages"][-1].content == "well"


async def test_savers_of_either_kind_will_do(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "a.db")) as saver:
        graph = with_history(agent(Scripted("ok"), tmp_path, checkpointer=saver))
        assert (await compacted(graph)).json()["newSize"] == 50
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "a.db")) as other:
        graph = agent(Scripted("ok"), tmp_path, checkpointer=other)
        assert (await compacted(graph)).json()["newSize"] > 50


async def test_a_thread_is_found_by_its_owner_alone_whose_memory_takes_the_facts(
    tmp_path: Path,
) -> None:
    script = Scripted("an answer", facts="- A fact.")
    off = MemoryConfig(flush_trigger=FlushTrigger.never())
    graph = agent(script, tmp_path, memory=off)
    for _ in range(3):
        long = "a question that is long enough " * 20
        graph.invoke(say(long), thread(), context=ThreadContext(user_id="ann"))
    for stranger in ("bob", None):
        async with client_of(graph, user=stranger) as client:
            answer = await client.post("/sessions/t/compact")
            assert (answer.status_code, answer.json()["code"]) == (404, "SESSION_NOT_FOUND")
    async with client_of(graph, user="ann") as client:
        assert (await client.post("/sessions/t/compact")).status_code == 200
    folder = tmp_path / "workspace" / "users" / "ann" / "agents" / "agent" / "memory"
    assert "- A fact." in next(folder.glob("*.md")).read_text()
    assert not (tmp_path / "workspace" / "users" / "_default").exists()


async def test_a_thread_that_does_not_say_whose_it_is_is_no_users(tmp_path: Path) -> None:
    graph = with_history(agent(Scripted("ok"), tmp_path))
    async with client_of(graph, user="ann") as client:
        assert (await client.post("/sessions/t/compact")).status_code == 404
    assert (await compacted(graph)).status_code == 200


async def test_a_closed_session_can_be_read_and_nothing_else(tmp_path: Path) -> None:
    graph = agent(Scripted("an answer"), tmp_path)
    graph.invoke(say("a question"), thread())
    async with client_of(graph) as client:
        closed = await client.post("/sessions/t/close")
        assert closed.status_code == 200
        assert closed.json()["sessionId"] == "t"
        assert not closed.json()["alreadyClosed"]
        assert closed.json()["session"]["status"] == "closed"
        assert closed.json()["session"]["messageCount"] == 2
        again = await client.post("/sessions/t/close", json={})
        assert again.json() == {**closed.json(), "alreadyClosed": True}
        answer = await client.post("/sessions/t/compact")
        assert (answer.status_code, answer.json()["code"]) == (400, "SESSION_CLOSED")
        answer = await client.post("/sessions/nobody/close")
        assert (answer.status_code, answer.json()["code"]) == (404, "SESSION_NOT_FOUND")
        answer = await client.post("/sessions/t/close", json={"reason": "x"})
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_FIELD")
    with pytest.raises(LongthreadError, match="closed"):
        graph.invoke(say("more"), thread())


async def test_nobody_closes_another_users_session(tmp_path: Path) -> None:
    graph = agent(Scripted("an answer"), tmp_path)
    graph.invoke(say("a question"), thread(), context=ThreadContext(user_id="ann"))
    async with client_of(graph, user="bob") as client:
        assert (await client.post("/sessions/t/close")).status_code == 404
    async with client_of(graph, user="ann") as client:
        assert (await client.post("/sessions/t/close")).status_code == 200
