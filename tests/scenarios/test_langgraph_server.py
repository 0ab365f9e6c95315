"""`langgraph dev` serves what `langgraph.json` names, without key and network.

The server watches for calls that block its event loop and fails a run that makes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk import get_sync_client


@pytest.fixture
def client(langgraph_server: str) -> Iterator[Any]:
    """A client of the server; untyped, since it is handed plain JSON."""
    with get_sync_client(url=langgraph_server) as client:
        yield client


def test_threads_runs_streams_state_and_history_work_on_the_server(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    asked = {"messages": [{"role": "user", "content": "what time is it?"}]}
    result = client.runs.wait(thread, "agent", input=asked)
    assert [m["type"] for m in result["messages"]] == ["human", "ai", "tool", "ai"]
    assert result["messages"][-1]["content"].startswith("It is 20")
    modes = ["updates", "messages-tuple", "custom"]
    events = list(client.runs.stream(thread, "agent", input=asked, stream_mode=modes))
    assert not [e for e in events if e.event == "error"]
    nodes = [name for e in events if e.event == "updates" for name in e.data]
    assert nodes == ["recall", "reasoning", "tools", "reasoning", "flush"]
    state = client.threads.get_state(thread)
    assert len(state["values"]["messages"]) == 8
    assert len(client.threads.get_history(thread, limit=100)) > 10
    drawn = client.assistants.get_graph("agent")
    assert {"recall", "reasoning", "compaction"} <= {node["id"] for node in drawn["nodes"]}
    labels = [edge.get("data") for edge in drawn["edges"] if edge.get("conditional")]
    assert labels
    assert all(labels)
    assistants = client.assistants.search(graph_id="agent")
    schemas = client.assistants.get_schemas(assistants[0]["assistant_id"])
    assert list(schemas["input_schema"]["properties"]) == ["messages"]


def test_a_fork_sees_its_own_past(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    for text in ("one", "two"):
        client.runs.wait(thread, "agent", input={"messages": [{"role": "user", "content": text}]})
    history = client.threads.get_history(thread, limit=100)
    first = next(s for s in history if len(s["values"].get("messages", [])) == 2 and not s["next"])
    result = client.runs.wait(
        thread,
        "agent",
        input={"messages": [{"role": "user", "content": "instead"}]},
        checkpoint=first["checkpoint"],
    )
    said = [m["content"] for m in result["messages"] if m["type"] == "human"]
    assert said == ["one", "instead"]


def test_the_maintenance_graph_can_be_run_and_scheduled(client: Any) -> None:
    done = client.runs.wait(None, "maintenance", input={"user_id": "nobody"})
    assert done == {"rewritten": [], "ledgers": [], "archived": [], "removed": []}
