"""A call of somebody else than the thread's owner: no memory is shown, and none learns from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from longthread import (
    CompactionConfig,
    FlushTrigger,
    MemoryConfig,
    ThreadContext,
    ToolResultEvictionConfig,
    drain,
)
from longthread.graphs.middleware import ContextMiddleware


def animals(messages: list[BaseMessage]) -> AIMessage:
    """Extract every animal."""
    said = str(messages[-1].content).partition("<conversation>")[2]
    words = [word for word in ("zebra", "quokka", "otter") if word in said]
    return AIMessage("\n".join(f"- Likes the {word}." for word in words) or "NO_REPLY")


def secrets(tmp_path: Path) -> Path:
    """Let two users have memory; returns the folder of users."""
    users = tmp_path / "workspace/users"
    for user in ("ann", "ben"):
        (users / user / "agents/agent").mkdir(parents=True)
        (users / user / "agents/agent/MEMORY.md").write_text(f"- A secret of {user}.\n")
    return users


def remembered(users: Path) -> dict[str, list[int]]:
    """Return how often each animal stands in the ledgers of each user."""
    ledgers = {
        user: "".join(p.read_text() for p in (users / user).rglob("memory/*.md"))
        for user in ("ann", "ben")
    }
    return {u: [t.count(w) for w in ("zebra", "quokka", "otter")] for u, t in ledgers.items()}


@pytest.mark.parametrize("refresh", ["call", "session"])
@pytest.mark.parametrize("background", [True, False])
def test_in_a_thread_of_another_user_nobodys_memory_is_shown_or_written(
    background: bool, refresh: Literal["call", "session"], tmp_path: Path
) -> None:
    script = Scripted("ok", facts=animals)
    memory = MemoryConfig(background=background, refresh=refresh)
    graph = agent(script, tmp_path, memory=memory)
    users = secrets(tmp_path)
    for user, text in (("ann", "a zebra"), ("ben", "a quokka"), ("ann", "an otter")):
        graph.invoke(say(text), thread(), context={"user_id": user})
        assert drain()
    shown = [[user for user in ("ann", "ben") if f"of {user}" in str(r)] for r in script.requests]
    assert shown == [["ann"], [], ["ann"]]
    assert remembered(users) == {"ann": [1, 0, 1], "ben": [0, 0, 0]}


def test_in_the_loop_of_create_agent_too(tmp_path: Path) -> None:
    script = Scripted("ok", facts=animals)
    users = secrets(tmp_path)
    middleware = ContextMiddleware(
        script.model, workspace=tmp_path / "workspace", memory=MemoryConfig(background=False)
    )
    graph = create_agent(
        script.model,
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        context_schema=ThreadContext,
    )
    for user, text in (("ann", "a zebra"), ("ben", "a quokka"), ("ann", "an otter")):
        graph.invoke(say(text), thread(), context=ThreadContext(user_id=user))  # type: ignore[call-overload]
    shown = [[user for user in ("ann", "ben") if f"of {user}" in str(r)] for r in script.requests]
    assert shown == [["ann"], [], ["ann"]]
    assert remembered(users) == {"ann": [1, 0, 1], "ben": [0, 0, 0]}


def test_all_that_a_guest_brings_along_is_the_guests(tmp_path: Path) -> None:
    script = Scripted("ok", facts=animals)
    graph = agent(script, tmp_path)
    users = secrets(tmp_path)
    brought = {"messages": [("user", "a quokka"), ("assistant", "I see."), ("user", "hello")]}
    graph.invoke(say("a zebra"), thread(), context={"user_id": "ann"})
    graph.invoke(brought, thread(), context={"user_id": "ben"})
    graph.invoke(say("an otter"), thread(), context={"user_id": "ann"})
    assert remembered(users) == {"ann": [1, 0, 1], "ben": [0, 0, 0]}


def test_what_a_guests_call_is_about_to_hide_is_read_first_if_the_owner_has_said_it(
    tmp_path: Path,
) -> None:
    script = Scripted("ok", facts="- A fact.")
    memory = MemoryConfig(background=False, flush_trigger=FlushTrigger.never())
    compaction = CompactionConfig(trigger_messages=6, keep_tokens=0, keep_messages=2)
    graph = agent(script, tmp_path, memory=memory, compaction=compaction)
    for user, text in (("ann", "zebra "), ("ben", "quokka "), ("ann", "otter ")):
        graph.invoke(say(text * 50), thread(), context={"user_id": user})
    assert script.asked["facts"] == []
    graph.invoke(say("heron " * 50), thread(), context={"user_id": "ben"})
    asked = "".join(str(request[-1].content) for request in script.asked["facts"])
    assert [word in asked for word in ("zebra", "quokka", "otter", "heron")] == [
        *(True, False),
        *(True, False),
    ]
    assert {p.parts[-5] for p in tmp_path.rglob("memory/*.md")} == {"ann"}


def page() -> str:
    """Return a page."""
    return "a long page " * 400


def test_what_was_evicted_in_a_guests_call_is_read_by_both(tmp_path: Path) -> None:
    def read(messages: list[BaseMessage]) -> AIMessage:
        preview = next(str(m.content) for m in messages if isinstance(m, ToolMessage))
        path = next(word for word in preview.split() if "large_tool_results/" in word)
        return calls("read", name="read_file").model_copy(
            update={
                "tool_calls": [
                    {
                        "name": "read_file",
                        "args": {"path": path.strip("[](),.:;'`")},
                        "id": f"r{len(messages)}",
                    }
                ]
            }
        )

    asked: Any = [read, "read"]
    script = Scripted(
        "hello",
        AIMessage("", tool_calls=[{"name": "page", "args": {}, "id": "c"}]),
        "done",
        *asked,
        *asked,
    )
    eviction = ToolResultEvictionConfig(max_chars=1_000, preview_chars=100)
    graph = agent(script, tmp_path, [page], eviction=eviction, memory=None)
    for user in ("ann", "ben", "ben", "ann"):
        result = graph.invoke(say("go on"), thread(), context={"user_id": user})
    results = [text for text in contents(result["messages"]) if text.startswith("a long page")]
    assert results == [page()] * 3


def test_a_guest_reads_no_other_file_of_the_owner(tmp_path: Path) -> None:
    (tmp_path / "workspace/users/ann/agents/agent").mkdir(parents=True)
    (tmp_path / "workspace/users/ann/agents/agent/MEMORY.md").write_text("- A secret.\n")
    paths = ("MEMORY.md", "large_tool_results/../MEMORY.md", "large_tool_results/x.txt")
    read = [
        {"name": "read_file", "args": {"path": path}, "id": f"r{n}"} for n, path in enumerate(paths)
    ]
    script = Scripted("hello", AIMessage("", tool_calls=read), "done")
    graph = agent(script, tmp_path)
    graph.invoke(say("hi"), thread(), context={"user_id": "ann"})
    result = graph.invoke(say("go on"), thread(), context={"user_id": "ben"})
    answers = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert [m.status for m in answers] == ["error"] * 3
    assert "secret" not in str(answers)
