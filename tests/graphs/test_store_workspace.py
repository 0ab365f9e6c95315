"""An agent whose memory and evicted texts are in a LangGraph store."""

from __future__ import annotations

from pathlib import Path

from agents import Scripted, calls, contents, say, thread
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore

from longthread import MemoryConfig, StoreWorkspace, create_agent_graph, drain
from longthread.graphs.compiled import AgentGraph
from longthread.stores import Owner, Workspace

HUGE = "\n".join(f"line {number}" for number in range(20_000))
AGENT = Owner(None, "agent")


def huge(at: str) -> str:
    """Look at something huge."""
    return HUGE


def agent_in(workspace: Workspace, script: Scripted, *, background: bool = False) -> AgentGraph:
    return create_agent_graph(
        script.model,
        [huge],
        workspace=workspace,
        checkpointer=InMemorySaver(),
        memory=MemoryConfig(background=background),
    )


def a_script() -> Scripted:
    return Scripted(
        calls("c1", name="huge"),
        "The deployment uses port 5051.",
        "5051",
        facts="- The deployment uses port 5051.",
        memory="- The deployment uses port 5051 (2026-11-30).",
    )


def test_what_was_said_in_one_thread_is_shown_in_the_next() -> None:
    store = InMemoryStore()
    script = a_script()
    graph = agent_in(StoreWorkspace(store, ("longthread",)), script)
    graph.invoke(say("Which port?"), thread("one"))
    # Another process: all that it shares is the store.
    graph = agent_in(StoreWorkspace(store, ("longthread",)), script)
    graph.invoke(say("And now?"), thread("two"))
    assert any("port 5051" in text for text in contents(script.requests[-1][:-1]))
    files = StoreWorkspace(store, ("longthread",)).scoped(AGENT)
    assert "5051" in (files.read_text("MEMORY.md") or "")
    [evicted] = files.list_files("large_tool_results")
    assert files.read_text(evicted) == HUGE
    assert any(
        "line 10000" not in text and evicted in text for text in contents(script.requests[1])
    )


async def test_an_asynchronous_store_serves_an_asynchronous_agent(tmp_path: Path) -> None:
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        await store.setup()
        script = a_script()
        graph = agent_in(StoreWorkspace(store, ("longthread",)), script)
        await graph.ainvoke(say("Which port?"), thread("one"))
        await graph.ainvoke(say("And now?"), thread("two"))
        assert any("port 5051" in text for text in contents(script.requests[-1][:-1]))


def test_the_store_that_the_graph_was_given_serves_its_background_work_too() -> None:
    store = InMemoryStore()
    script = a_script()
    graph = create_agent_graph(
        script.model,
        [huge],
        workspace=StoreWorkspace(get_store, ("longthread",)),
        checkpointer=InMemorySaver(),
        store=store,
    )
    graph.invoke(say("Which port?"), thread("one"))
    drain()
    files = StoreWorkspace(store, ("longthread",)).scoped(AGENT)
    assert any("5051" in (files.read_text(path) or "") for path in files.list_files("memory"))
