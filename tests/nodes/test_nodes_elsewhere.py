"""Every node works alone, in a graph that somebody else has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, look
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, StateGraph

from longthread import CompactionConfig, LocalWorkspace, MaskingConfig, MemoryConfig, ThreadState
from longthread.nodes.compaction import CompactionNode
from longthread.nodes.consolidation import ConsolidationNode
from longthread.nodes.eviction import EvictionNode
from longthread.nodes.flush import FlushNode
from longthread.nodes.masking import MaskingNode
from longthread.nodes.node import Node
from longthread.nodes.overflow_retry import OverflowRetryNode
from longthread.nodes.reasoning import ReasoningNode
from longthread.nodes.recall import RecallNode
from longthread.nodes.summariser import Summariser
from longthread.nodes.tool_calls import ToolsNode
from longthread.state.config import ToolResultEvictionConfig
from longthread.state.policy import ContextPolicy
from longthread.stores.workspace import Owner

POLICY = ContextPolicy(
    window=4_000,
    eviction=ToolResultEvictionConfig(),
    masking=MaskingConfig(turns=1, batch=1),
    compaction=CompactionConfig(),
    memory=MemoryConfig(background=False),
)


def work(count: int, size: int = 50) -> list[Any]:
    messages: list[Any] = [HumanMessage("go", id="h")]
    for i in range(count):
        call = {"name": "look", "args": {"at": str(i)}, "id": f"c{i}"}
        messages.append(AIMessage("", tool_calls=[call], id=f"a{i}"))
        messages.append(
            ToolMessage("word " * size + str(i), tool_call_id=f"c{i}", name="look", id=f"t{i}")
        )
    return messages


def alone(node: Node) -> Any:
    graph = StateGraph(ThreadState)
    graph.add_node("it", node)
    graph.add_edge(START, "it")
    graph.add_edge("it", END)
    return graph.compile()


async def both(node: Node, state: dict[str, Any]) -> dict[str, Any]:
    """Run a node alone, sync and async; the updates must be alike."""
    graph = alone(node)
    sync: dict[str, Any] = graph.invoke(state)
    twin = await graph.ainvoke(state)
    assert sync.keys() == twin.keys()
    for key in sync.keys() - {"messages"}:
        assert sync[key] == twin[key]
    assert [m.type for m in sync["messages"]] == [m.type for m in twin["messages"]]
    return sync


async def test_recall_alone(tmp_path: Path) -> None:
    files = LocalWorkspace(tmp_path)
    files.scoped(Owner(None, "me")).write_text("MEMORY.md", "- Kim likes tea.\n")
    node = RecallNode(POLICY, files, agent="me", reference=["Rule one."])
    state = {"messages": [AIMessage("", tool_calls=[_call("x")], id="a"), HumanMessage("new")]}
    result = await both(node, state)
    assert "Kim likes tea." in result["memory"]["memory"]
    assert "Rule one." in result["memory"]["further"]
    assert [m.type for m in result["messages"]] == ["ai", "human", "tool"]


async def test_eviction_alone(tmp_path: Path) -> None:
    state = {"messages": [HumanMessage("go"), *work(1, size=30_000)[1:]]}
    result = await both(EvictionNode(POLICY, LocalWorkspace(tmp_path)), state)
    assert list(result["evictions"]) == ["t0"]
    assert (tmp_path / "users/_default/agents/agent" / result["evictions"]["t0"]["path"]).exists()


async def test_masking_alone() -> None:
    result = await both(MaskingNode(POLICY), {"messages": work(3)})
    assert result["masked_through"] == "t1"


async def test_compaction_alone() -> None:
    script = Scripted(summary="## Intent\nGo.")
    state = {"messages": work(40, size=60)}
    result = await both(CompactionNode(POLICY, Summariser(script.model, 4_000)), state)
    assert result["compaction"]["summary"] == "## Intent\nGo."
    assert 0 < result["compaction"]["size"] < 81


async def test_reasoning_alone() -> None:
    script = Scripted("hello")
    result = await both(ReasoningNode(POLICY, script.model), {"messages": [HumanMessage("hi")]})
    assert result["messages"][-1].content == "hello"
    assert result["usage"]["covered"] == result["messages"][0].id


async def test_tools_alone() -> None:
    answer = calls("a", "b")
    result = await both(ToolsNode(POLICY, [look]), {"messages": [HumanMessage("go"), answer]})
    assert [m.content for m in result["messages"][2:]] == ["saw a", "saw b"]


async def test_overflow_retry_alone() -> None:
    state = {"messages": work(1), "overflow": {"attempts": 1, "limit": 3_000}}
    result = await both(OverflowRetryNode(POLICY), state)
    assert result["overflow"] == {"attempts": 1, "limit": 3_000, "pending": True}


async def test_flush_alone(tmp_path: Path) -> None:
    script = Scripted(facts="- Kim likes tea.")
    state = {"messages": [HumanMessage("I am Kim"), AIMessage("Hello Kim")]}
    await both(FlushNode(POLICY, LocalWorkspace(tmp_path), script.model), state)
    [ledger] = tmp_path.rglob("memory/*.md")
    # The second run had the same messages: they are not extracted from twice.
    assert ledger.read_text().count("- Kim likes tea.") == 1


async def test_consolidation_alone(tmp_path: Path) -> None:
    files = LocalWorkspace(tmp_path)
    files.scoped(Owner(None, "agent")).write_text("memory/2026-03-02.md", "- Kim likes tea.\n")
    script = Scripted(memory="- Kim likes tea.")
    await both(ConsolidationNode(POLICY, files, script.model), {"messages": work(1)})
    [memory] = tmp_path.rglob("MEMORY.md")
    assert memory.read_text() == "- Kim likes tea. <!-- 2026-03-02 -->\n"
    assert len(script.asked["memory"]) == 1  # the second run found nothing new


@pytest.mark.parametrize("count", [0, 1])
def test_nodes_run_outside_any_graph(count: int) -> None:
    update = MaskingNode(POLICY).invoke({"messages": work(count)})
    assert update == {}


def _call(call_id: str) -> dict[str, Any]:
    return {"name": "look", "args": {}, "id": call_id}
