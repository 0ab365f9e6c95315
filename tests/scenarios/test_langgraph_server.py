"""`langgraph dev` serves what `langgraph.json` names, without key and network.

The server watches for calls that block its event loop and fails a run that makes one.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_sync_client

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server."""
    folder = tmp_path_factory.mktemp("server")
    shutil.copy(ROOT / "langgraph.json", folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "langgraph_cli", "dev", "--no-browser", "--no-reload"]
    log = folder / "log.txt"
    environment = {
        **os.environ,
        "LONGTHREAD_WORKSPACE": str(folder / "workspace"),
        "LANGSMITH_TRACING": "false",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        for _ in range(600):
            if process.poll() is not None:
                pytest.fail(f"the server ended: {log.read_text(errors='replace')[-3_000:]}")
            try:
                if httpx.get(f"{url}/ok").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.2)
        else:
            pytest.fail(f"the server did not start: {log.read_text(errors='replace')[-3_000:]}")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def client(server: str) -> Iterator[Any]:
    """A client of the server; untyped, since it is handed plain JSON."""
    with get_sync_client(url=server) as client:
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
    assistants = client.assistants.search()
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
