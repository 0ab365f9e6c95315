"""Which files evicted texts are in, and when they go."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from agents import Scripted, agent, calls, say, thread

from longthread import (
    MemoryConfig,
    ToolResultEvictionConfig,
    amaintain_memory,
    fork_thread,
    maintain_memory,
)

TEXT = "the same " * 200
FOLDER = "workspace/users/_default/agents/agent/large_tool_results"


def same(at: str) -> str:
    """Return the same text whatever it is asked for."""
    return TEXT


def paths(graph: object, name: str = "t") -> list[str]:
    evictions = graph.get_state(thread(name)).values["evictions"]  # type: ignore[attr-defined]
    return [eviction["path"] for eviction in evictions.values()]


def files(tmp_path: Path) -> list[str]:
    return sorted(str(p.relative_to(tmp_path / FOLDER)) for p in tmp_path.rglob("*.txt"))


def test_equal_texts_of_a_thread_are_in_one_file_whichever_call_gave_them(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b", name="same"), calls("c", name="same"), "done")
    small = ToolResultEvictionConfig(max_chars=500)
    graph = agent(script, tmp_path, [same], memory=None, eviction=small)
    graph.invoke(say("go"), thread())
    (file,) = files(tmp_path)
    assert file.startswith("t/a-")
    assert paths(graph) == [f"large_tool_results/{file}"] * 3
    shown = [str(m.content) for m in script.requests[-1] if m.type == "tool"]
    assert all(f"full text at large_tool_results/{file}" in text for text in shown)
    # A fork has files of its own, and writes none of the other thread's.
    fork_thread(graph, thread(), "u")
    agent(
        Scripted(calls("d", name="same"), "done"),
        tmp_path,
        [same],
        memory=None,
        eviction=small,
        checkpointer=graph.checkpointer,
    ).invoke(say("again"), thread("u"))
    assert files(tmp_path) == [file, f"u{file[1:]}"]
    assert paths(graph, "u") == [f"large_tool_results/u{file[1:]}"] * 4


def test_a_file_whose_text_comes_again_is_as_young_as_the_last_time(tmp_path: Path) -> None:
    script = Scripted(calls("a", name="same"), "done", calls("b", name="same"), "done")
    kept = ToolResultEvictionConfig(max_chars=500, retention_days=1)
    graph = agent(script, tmp_path, [same], memory=None, eviction=kept)
    graph.invoke(say("go"), thread())
    path = tmp_path / FOLDER / files(tmp_path)[0]
    _age(path)
    graph.invoke(say("again"), thread())
    assert maintain_memory(graph).already_up_to_date
    assert path.read_text() == TEXT


@pytest.mark.parametrize("memory", [None, MemoryConfig(enabled=False)])
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_without_memory_maintenance_still_removes_old_files(
    way: str, memory: MemoryConfig | None, tmp_path: Path
) -> None:
    kept = ToolResultEvictionConfig(retention_days=1)
    graph = agent(Scripted("ok"), tmp_path, memory=memory, eviction=kept)
    old, young = (tmp_path / FOLDER / "t" / name for name in ("old.txt", "young.txt"))
    old.parent.mkdir(parents=True)
    for path in (old, young):
        path.write_text("text")
    _age(old)
    result = await amaintain_memory(graph) if way == "async" else maintain_memory(graph)
    assert result.removed == ("large_tool_results/t/old.txt",)
    assert young.exists()
    assert not old.exists()


def test_old_files_go_though_the_model_that_consolidates_is_down(tmp_path: Path) -> None:
    script = Scripted("ok", facts="- A fact.", memory=RuntimeError("down"))
    kept = ToolResultEvictionConfig(retention_days=1)
    graph = agent(
        script, tmp_path, memory=MemoryConfig(background=False, tools=False), eviction=kept
    )
    old = tmp_path / FOLDER / "t/old.txt"
    old.parent.mkdir(parents=True)
    old.write_text("text")
    _age(old)
    graph.invoke(say("hi"), thread())
    assert not old.exists()


def _age(path: Path) -> None:
    then = time.time() - 2 * 86_400
    os.utime(path, (then, then))
