"""Agents, alone and inside a parent, on LangGraph Server: nothing that was finished is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langgraph_sdk import get_sync_client
from langgraph_server import running_server

TEAM = '''
from langchain_core.messages import AIMessage
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from longthread import StoreWorkspace, agent_node, create_agent_graph
from longthread.apps.http import create_app
from longthread.graphs.scripted import ScriptedModel


def ask(at: str) -> str:
    """Ask, when it is b."""
    return f"did {at}" if at == "a" else f"they said {interrupt('may I?')}"


def answer(messages):
    last = messages[-1]
    if last.type == "human" and last.content == "go":
        names = [{"name": "ask", "args": {"at": at}, "id": f"{at}-{last.id}"} for at in "ab"]
        return AIMessage("", tool_calls=names)
    return AIMessage(f"heard {last.content}")


agent = create_agent_graph(ScriptedModel(script=answer), [ask], memory=None, workspace="files")
builder = StateGraph(MessagesState)
builder.add_node("helper", agent_node(agent))
builder.add_edge(START, "helper")
team = builder.compile()


def big(at: str) -> str:
    """Look at something big."""
    return "zebrafish " * 20_000


def keep(messages):
    first, last = str(messages[0].content), messages[-1]
    if first.startswith("You extract"):
        return "- The port is 5051."
    if first.startswith("You maintain"):
        return "- The port is 5051."
    if last.content == "look":
        return AIMessage("", tool_calls=[{"name": "big", "args": {"at": "a"}, "id": last.id}])
    return "5051" if "5051" in first else "no idea"


keeper = create_agent_graph(
    ScriptedModel(script=keep),
    [big],
    name="keeper",
    workspace=StoreWorkspace(get_store, ("longthread",)),
)
app = create_app(keeper, graph_id="keeper")
'''


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a server that serves an agent and a parent with it inside."""
    folder = tmp_path_factory.mktemp("team")
    (folder / "team.py").write_text(TEAM, encoding="utf-8")
    graphs = {name: f"./team.py:{name}" for name in ("agent", "team", "keeper")}
    config = {"dependencies": ["."], "graphs": graphs, "http": {"app": "./team.py:app"}}
    with (
        running_server(folder, config) as url,
        get_sync_client(url=url) as client,
    ):
        yield client


def _say(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def _texts(messages: list[Any]) -> list[str]:
    return [m["content"] for m in messages]


def test_every_mode_shows_what_is_inside(client: Any) -> None:
    for mode in ("values", "updates", "messages-tuple", "custom", "tasks", "checkpoints"):
        thread = client.threads.create()["thread_id"]
        events = client.runs.stream(
            thread, "team", input=_say("hello"), stream_mode=mode, stream_subgraphs=True
        )
        names = [e.event for e in events]
        assert "error" not in names
        inside = [name for name in names if "|helper" in name]
        assert inside or mode == "custom", mode


def test_memory_and_big_results_are_in_the_servers_own_store(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    events = client.runs.stream(
        thread, "keeper", input=_say("look"), stream_mode=["custom", "updates"]
    )
    told = [e.data.get("type") for e in events if e.event == "custom"]
    assert told == ["eviction"]
    for _ in range(100):  # until what is done after the answer is done
        answer = client.runs.wait(None, "keeper", input=_say("Which port?"))["messages"][-1]
        if answer["content"] == "5051":
            break
    assert answer["content"] == "5051"
    kept = client.store.search_items(["longthread"], limit=100)["items"]
    assert any("large_tool_results" in item["namespace"] for item in kept)
    file = client.http.get("/agents/keeper/memory/MEMORY.md")
    assert "5051" in file["content"]


def test_what_had_finished_before_an_interrupt_survives_a_new_message(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "agent", input=_say("go"))
    result = client.runs.wait(thread, "agent", input=_say("never mind"))
    said = _texts(result["messages"])
    assert said[:2] == ["go", ""]
    assert "did a" in said
    assert said[-1].startswith("heard")


def test_it_survives_inside_a_parent_too(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "team", input=_say("go"))
    result = client.runs.wait(thread, "team", input=_say("never mind"))
    assert len(result["messages"]) == 3
    state = client.threads.get_state(thread, checkpoint={"checkpoint_ns": "helper"})
    said = _texts(state["values"]["messages"])
    assert said[:2] == ["go", ""]
    assert "did a" in said


def test_a_tool_inside_a_parent_asks_and_is_answered(client: Any) -> None:
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "team", input=_say("go"))
    events = client.runs.stream(
        thread, "team", command={"resume": "yes"}, stream_mode="updates", stream_subgraphs=True
    )
    nodes = [name for e in events if e.event.startswith("updates") for name in e.data]
    assert [name for name in nodes if name[0] != "_"][-3:] == ["tools", "reasoning", "helper"]
    for said in ("hello", "again"):
        result = client.runs.wait(thread, "team", input=_say(said))
    assert _texts(result["messages"])[1:] == [
        "heard they said yes", "hello", "heard hello", "again", "heard again",
    ]  # fmt: skip
