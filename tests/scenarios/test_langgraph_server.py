"""`langgraph dev` serves what `langgraph.json` names, without key and network.

The server watches for calls that block its event loop and fails a run that makes one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client
from langgraph_server import ROOT

GRAPHS = list(json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"])


@pytest.fixture
def client(langgraph_server: str) -> Iterator[Any]:
    """A client of the server; untyped, since it is handed plain JSON."""
    with get_sync_client(url=langgraph_server) as client:
        yield client


def _say(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def _said(result: Any) -> list[str]:
    return [m["content"] for m in result["messages"] if m["type"] == "human"]


def test_threads_runs_state_and_history_work_on_the_server(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    for _ in range(2):
        result = client.runs.wait(thread, "agent", input=_say("what time is it?"))
    assert [m["type"] for m in result["messages"]] == ["human", "ai", "tool", "ai"] * 2
    assert result["messages"][-1]["content"].startswith("It is 20")
    state = client.threads.get_state(thread)
    assert (len(state["values"]["messages"]), state["next"]) == (8, [])
    history = client.threads.get_history(thread, limit=100)
    assert len(history) > 10
    assert history[0]["checkpoint"] == state["checkpoint"]
    assert [s["next"] for s in history[1:6]] == [
        ["flush"], ["reasoning"], ["tools"], ["reasoning"], ["recall"],
    ]  # fmt: skip
    assert client.threads.get(thread)["status"] == "idle"
    found = client.threads.search(metadata={"graph_id": "agent"}, limit=100)
    assert thread in [t["thread_id"] for t in found]


def test_every_mode_of_streaming_works_on_the_server(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    modes = ["values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"]
    events = list(
        client.runs.stream(
            thread, "agent", input=_say("what time is it?"), stream_mode=[*modes, "debug", "events"]
        )
    )
    assert not [e for e in events if e.event == "error"]
    by_mode: dict[str, list[Any]] = {}
    for event in events:
        by_mode.setdefault(event.event, []).append(event.data)
    assert by_mode["metadata"][0]["run_id"]
    nodes = [name for update in by_mode["updates"] for name in update]
    assert nodes == ["recall", "reasoning", "tools", "reasoning", "flush"]
    assert len(by_mode["values"][-1]["messages"]) == 4
    assert "tool" in {message["type"] for message, _ in by_mode["messages"]}
    where = {details["langgraph_node"] for _, details in by_mode["messages"]}
    assert where == {"reasoning", "tools"}
    assert {"tasks", "checkpoints", "debug", "events"} <= by_mode.keys()
    gathered = client.runs.stream(thread, "agent", input=_say("hello"), stream_mode="messages")
    assert [e.data for e in gathered if e.event in ("messages/partial", "messages/complete")]
    # Values alone are what the output schema shows: no key of ours reaches a client's own.
    values = client.runs.stream(thread, "agent", input=_say("hello"), stream_mode="values")
    assert {key for e in values if e.event == "values" for key in e.data} == {"messages"}


def test_a_run_can_be_joined_listed_and_run_without_a_thread(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    run = client.runs.create(thread, "agent", input=_say("hello"))
    joined = client.runs.join(thread, run["run_id"])
    assert len(joined["messages"]) == 2
    assert [r["status"] for r in client.runs.list(thread)] == ["success"]
    alone = client.runs.wait(None, "agent", input=_say("hello"))
    assert len(alone["messages"]) == 2


def test_a_fork_sees_its_own_past(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    for text in ("one", "two"):
        client.runs.wait(thread, "agent", input=_say(text))
    history = client.threads.get_history(thread, limit=100)
    first = next(s for s in history if len(s["values"].get("messages", [])) == 2 and not s["next"])
    result = client.runs.wait(
        thread, "agent", input=_say("instead"), checkpoint=first["checkpoint"]
    )
    assert _said(result) == ["one", "instead"]
    # A copy of the thread goes its own way.
    copied = client.threads.copy(thread)
    other = (copied or client.threads.search(limit=1)[0])["thread_id"]
    assert _said(client.runs.wait(other, "agent", input=_say("mine"))) == ["one", "instead", "mine"]
    assert _said(client.threads.get_state(thread)["values"]) == ["one", "instead"]


def test_a_state_that_is_edited_is_gone_on_with(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "agent", input=_say("hello"))
    (question, _) = client.threads.get_state(thread)["values"]["messages"]
    edited = {**question, "content": "what time is it?"}
    client.threads.update_state(thread, {"messages": [edited]}, as_node="recall")
    assert client.threads.get_state(thread)["next"] == ["reasoning"]
    result = client.runs.wait(thread, "agent", input=None)
    assert _said(result) == ["what time is it?"]
    assert len(result["messages"]) >= 3


def test_a_run_stops_before_a_node_and_goes_on_when_it_is_told_to(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "agent", input=_say("what time is it?"), interrupt_before=["tools"])
    state = client.threads.get_state(thread)
    assert state["next"] == ["tools"]
    assert client.threads.get(thread)["status"] == "interrupted"
    asked = state["values"]["messages"][-1]
    assert asked["tool_calls"][0]["name"] == "clock"
    result = client.runs.wait(thread, "agent", input=None)
    assert result["messages"][-1]["content"].startswith("It is 20")


def test_the_servers_store_takes_and_finds_items(client: Any) -> None:
    client.store.put_item(["notes", "ann"], "tea", {"text": "two sugars"})
    assert client.store.get_item(["notes", "ann"], "tea")["value"] == {"text": "two sugars"}
    found = client.store.search_items(["notes"], limit=10)["items"]
    assert [(item["namespace"], item["key"]) for item in found] == [(["notes", "ann"], "tea")]
    client.store.delete_item(["notes", "ann"], "tea")
    assert client.store.search_items(["notes"], limit=10)["items"] == []


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_has_schemas_and_a_drawing_that_read_well(graph: str, client: Any) -> None:
    (assistant,) = client.assistants.search(graph_id=graph)
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    for part in ("input_schema", "output_schema", "state_schema"):
        assert schemas[part]["properties"], part
    drawn = client.assistants.get_graph(graph)
    names = {node["id"] for node in drawn["nodes"]}
    assert {"__start__", "__end__"} < names
    assert all(edge.get("data") for edge in drawn["edges"] if edge.get("conditional"))
    if graph == "agent":
        assert {"recall", "seal", "reasoning", "tools", "flush", "compaction"} <= names
        assert list(schemas["input_schema"]["properties"]) == ["messages"]
        assert set(schemas["context_schema"]["properties"]) >= {"user_id", "agent", "timezone"}
        xray = client.assistants.get_graph(graph, xray=True)
        assert {node["id"] for node in xray["nodes"]} == names


def test_the_other_graphs_can_be_run_and_scheduled(client: Any) -> None:
    done = client.runs.wait(None, "maintenance", input={"user_id": "nobody"})
    assert done == {"rewritten": [], "ledgers": [], "archived": [], "removed": []}
    thread = client.threads.create()["thread_id"]
    for text in ("one " * 50, "two " * 50, "three " * 50):
        client.runs.wait(thread, "agent", input=_say(text))
    done = client.runs.wait(thread, "compaction", input={"instructions": "Be short."})
    assert done["compacted_count"] > 0
    state = client.threads.get_state(thread)["values"]
    assert (len(state["messages"]), bool(state["compaction"]["summary"])) == (6, True)


def test_our_routes_stand_beside_the_servers_own(client: Any, langgraph_server: str) -> None:
    thread = client.threads.create()["thread_id"]
    for text in ("one " * 50, "two " * 50, "three " * 50):
        client.runs.wait(thread, "agent", input=_say(text))
    with httpx.Client(base_url=langgraph_server) as http:
        file = "/agents/studio/memory/MEMORY.md"
        assert http.put(file, json={"content": "- The code is 4711.\n"}).is_success
        assert http.get(file).json()["content"] == "- The code is 4711.\n"
        assert http.get("/agents/studio/memory").is_success
        assert http.get("/memory").is_success
        compacted = http.post(f"/sessions/{thread}/compact").json()
        assert compacted["compactedCount"] > 0
        assert compacted["session"]["messageCount"] == 6
        assert http.post(f"/sessions/{thread}/close").json()["session"]["status"] == "closed"
        assert http.get("/ok").json()["ok"]
    with pytest.raises(Exception, match="LongthreadError"):
        client.runs.wait(thread, "agent", input=_say("more"))
