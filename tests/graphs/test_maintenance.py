"""Maintaining memory on demand, and as a graph."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from memory_desk import Clock, quick_disk

from longthread import (
    FlushTrigger,
    LongthreadError,
    MemoryConfig,
    ThreadContext,
    ThreadState,
    ToolResultEvictionConfig,
    amaintain_memory,
    build_agent_graph,
    compact_thread,
    maintain_memory,
)
from longthread.graphs.maintenance import create_maintenance_graph

HOME = "workspace/users/_default/agents/agent"
LATER = MemoryConfig(background=False, consolidation_min_gap=timedelta(days=300))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    quick_disk(monkeypatch)
    return Clock(monkeypatch)


def memory_of(tmp_path: Path, home: str = HOME) -> str:
    path = tmp_path / home / "MEMORY.md"
    return path.read_text() if path.exists() else ""


async def maintained(way: str, graph: Any, *args: Any, **options: Any) -> Any:
    if way == "async":
        return await amaintain_memory(graph, *args, **options)
    return maintain_memory(graph, *args, **options)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_memory_is_maintained_now_whenever_it_was_done_last(
    way: str, tmp_path: Path, clock: Clock
) -> None:
    script = Scripted("ok", facts="- One.", memory="- One.")
    eviction = ToolResultEvictionConfig(retention_days=1)
    graph = agent(script, tmp_path, memory=LATER, eviction=eviction)
    graph.invoke(say("hi"), thread())
    old = tmp_path / HOME / "large_tool_results/t/old.txt"
    old.parent.mkdir(parents=True)
    old.write_text("long ago")
    script.side |= {"facts": "- Two.", "memory": "- One.\n- Two."}
    clock.moves(days=100)
    graph.invoke(say("more"), thread())
    assert "Two." not in memory_of(tmp_path)
    clock.moves(days=20_000)
    result = await maintained(way, graph)
    assert result.rewritten == ("MEMORY.md",)
    assert result.ledgers == ("memory/2026-06-10.md",)
    assert result.archived == ("memory/archive/2026-03-02.md", "memory/archive/2026-06-10.md")
    assert result.removed == ("large_tool_results/t/old.txt",)
    assert "Two." in memory_of(tmp_path)
    assert (await maintained(way, graph)).already_up_to_date
    assert len(script.asked["memory"]) == 2


def test_it_is_the_memory_of_the_threads_owner_or_of_whom_is_named(
    tmp_path: Path, clock: Clock
) -> None:
    script = Scripted("ok", facts="- A fact.")
    hooks = MemoryConfig(background=False, flush_trigger=FlushTrigger.always())
    graph = agent(script, tmp_path, memory=hooks)
    for user in ("ann", "ben", "cem"):
        graph.invoke(say("hi"), thread(user), context=ThreadContext(user_id=user))
        (tmp_path / f"workspace/users/{user}/agents/agent/MEMORY.md").unlink()
    assert maintain_memory(graph, thread("ann")).rewritten == ("MEMORY.md",)
    assert maintain_memory(graph, context={"user_id": "ben"}).rewritten == ("MEMORY.md",)
    assert maintain_memory(graph).already_up_to_date  # the default user has none
    have = [
        bool(memory_of(tmp_path, f"workspace/users/{u}/agents/agent"))
        for u in ("ann", "ben", "cem")
    ]
    assert have == [True, True, False]


def test_what_goes_wrong_on_demand_is_raised(tmp_path: Path, clock: Clock) -> None:
    script = Scripted("ok", facts="- A fact.", memory="")
    graph = agent(script, tmp_path)
    graph.invoke(say("hi"), thread())
    with pytest.raises(LongthreadError, match="blank") as caught:
        maintain_memory(graph)
    assert caught.value.code == "CONSOLIDATION_REFUSED"
    script.side["memory"] = RuntimeError("the provider's own")
    with pytest.raises(RuntimeError, match="the provider's own"):
        maintain_memory(graph)


@pytest.mark.parametrize("memory", [None, MemoryConfig(enabled=False)])
def test_without_memory_there_is_nothing_to_maintain(
    memory: MemoryConfig | None, tmp_path: Path
) -> None:
    with pytest.raises(LongthreadError, match="no long-term memory") as caught:
        maintain_memory(agent(Scripted("ok"), tmp_path, memory=memory))
    assert caught.value.code == "MEMORY_DISABLED"


def test_on_demand_is_on_demand_even_without_hooks(tmp_path: Path, clock: Clock) -> None:
    ledger = tmp_path / HOME / "memory/2026-03-01.md"
    ledger.parent.mkdir(parents=True)
    ledger.write_text("- By hand.\n")
    graph = agent(Scripted("ok"), tmp_path, memory=MemoryConfig(hooks=False))
    graph.invoke(say("hi"), thread())
    assert memory_of(tmp_path) == ""
    assert maintain_memory(graph).rewritten == ("MEMORY.md",)


def test_the_agent_may_be_part_of_another_graph(tmp_path: Path, clock: Clock) -> None:
    script = Scripted("ok", facts="- A fact.")
    inner = build_agent_graph(
        script.model, workspace=tmp_path / "workspace", memory=LATER
    ).compile()
    outer = StateGraph(ThreadState)
    outer.add_node("agent", inner)
    outer.add_edge(START, "agent")
    outer.add_edge("agent", END)
    graph: Any = outer.compile(checkpointer=InMemorySaver())
    graph.invoke(say("hi"), thread())
    (tmp_path / HOME / "MEMORY.md").unlink()
    config: Any = {"configurable": {"checkpoint_ns": "agent"}}
    assert maintain_memory(graph, config).rewritten == ("MEMORY.md",)
    with pytest.raises(LongthreadError, match="no agent graph"):
        maintain_memory(graph)


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_the_graph_maintains_the_memory_of_whom_it_is_given(
    way: str, tmp_path: Path, clock: Clock
) -> None:
    script = Scripted("ok", facts="- A fact.")
    graph = agent(script, tmp_path)
    for user in ("ann", "ben"):
        graph.invoke(say("hi"), thread(user), context={"user_id": user})
        (tmp_path / f"workspace/users/{user}/agents/agent/MEMORY.md").unlink()
    upkeep = create_maintenance_graph(graph)

    async def run(given: dict[str, Any], **options: Any) -> Any:
        if way == "async":
            return await upkeep.ainvoke(given, **options)
        return upkeep.invoke(given, **options)

    done = await run({"user_id": "ann"})
    assert done == {
        "rewritten": ["MEMORY.md"],
        "ledgers": ["memory/2026-03-02.md"],
        "archived": [],
        "removed": [],
    }
    assert (await run({}, context={"user_id": "ben"}))["rewritten"] == ["MEMORY.md"]
    assert (await run({"user_id": "ann", "agent": "agent"}))["rewritten"] == []
    assert upkeep.get_input_jsonschema()["properties"].keys() == {"user_id", "agent"}


def test_what_a_compaction_on_demand_extracts_belongs_to_the_threads_owner(
    tmp_path: Path, clock: Clock
) -> None:
    never = MemoryConfig(background=False, flush_trigger=FlushTrigger.never())
    script = Scripted("ok", facts="- A fact of Ann's.", summary="S")
    graph = agent(script, tmp_path, memory=never)
    for text in ("one " * 50, "two " * 50):
        graph.invoke(say(text), thread(), context={"user_id": "ann"})
    compact_thread(graph, thread())
    assert not (tmp_path / HOME / "memory").exists()
    [ledger] = (tmp_path / "workspace/users/ann/agents/agent/memory").glob("*.md")
    assert "Ann's" in ledger.read_text()
