"""A story over several threads and days: what is said once is known from then on."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import BaseMessage
from memory_desk import Clock, between, quick_disk

from longthread import LocalWorkspace, MemoryConfig, drain
from longthread.stores.workspace import Owner

FACT = re.compile(r"^(?:Please note|Correction): (.+)$", re.MULTILINE)


def extracts(messages: list[BaseMessage]) -> str:
    """Note what the user asks to be noted, unless it is known."""
    prompt = str(messages[-1].content)
    known, new = between(prompt, "known"), between(prompt, "conversation")
    facts = [fact for fact in FACT.findall(new) if fact not in known]
    return "\n".join(f"- {fact}" for fact in facts) or "NO_REPLY"


def consolidates(messages: list[BaseMessage]) -> str:
    """Keep one fact for each subject (what stands before "is"): the one that comes last."""
    prompt = str(messages[-1].content)
    facts: dict[str, str] = {}
    for text in (between(prompt, "memory"), between(prompt, "ledgers")):
        for line in text.split("\n"):
            if line.startswith("- "):
                subject = line.partition(" is ")[0]
                facts.pop(subject, None)
                facts[subject] = line
    return "\n".join(facts.values())


def answers(messages: list[BaseMessage]) -> str:
    """Answer a question from what stands before it in the request."""
    question = re.match(r"What is (.+)\?", str(messages[-1].content))
    if question is None:
        return "Noted."
    before = "\n".join(str(message.content) for message in messages[:-1])
    found = re.findall(rf"{re.escape(question[1])} is ([^.]+)\.", before)
    return found[-1] if found else "I do not know."


@pytest.mark.parametrize("background", [True, False], ids=["background", "inline"])
def test_a_week_with_an_agent_that_remembers(
    background: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_disk(monkeypatch)
    clock = Clock(monkeypatch)
    script = Scripted(answers, facts=extracts, memory=consolidates)
    memory = MemoryConfig(
        background=background,
        consolidation_min_gap=timedelta(hours=1),
        daily_file_retention_days=2,
    )
    graph = agent(script, tmp_path, memory=memory)
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))

    def ask(name: str, text: str) -> Any:
        answer = graph.invoke(say(text), thread(name))["messages"][-1].content
        assert drain()
        clock.moves(minutes=1)
        return answer

    # Monday, the first thread.
    assert ask("one", "What is the staging port?") == "I do not know."
    ask("one", "Please note: the staging port is 5051.")
    clock.moves(hours=2)
    ask("one", "Please note: the release day is 2026-03-06.")
    ledger = files.read_text("memory/2026-03-02.md") or ""
    assert [ledger.count(word) for word in ("5051", "2026-03-06")] == [1, 1]
    assert "5051. <!-- 2026-03-02 -->" in (files.read_text("MEMORY.md") or "")

    # Tuesday, another thread: it knows, and is put right.
    clock.moves(days=1)
    assert ask("two", "What is the staging port?") == "5051"
    ask("two", "Correction: the staging port is 6061.")
    clock.moves(hours=2)
    ask("two", "Good.")

    # Wednesday, a third thread: what was said in the first, as corrected in the second.
    clock.moves(days=1)
    assert ask("three", "What is the staging port?") == "6061"
    assert ask("three", "What is the release day?") == "2026-03-06"
    now = files.read_text("MEMORY.md") or ""
    assert "5051" not in now
    assert "6061. <!-- 2026-03-03 -->" in now
    assert files.list_files("memory/archive") == []

    # A quiet week: calls without news ask for no consolidation, and what is old is put away.
    asked = len(script.asked["memory"])
    for _ in range(5):
        clock.moves(days=1)
        ask("three", "Anything new?")
    assert len(script.asked["memory"]) == asked
    assert files.list_files("memory") == [
        "memory/archive/2026-03-02.md",
        "memory/archive/2026-03-03.md",
    ]
    assert files.read_text("memory/archive/2026-03-02.md") == ledger
    assert files.read_text("MEMORY.md") == now

    # Memory that somebody deletes comes back from what was put away.
    files.delete("MEMORY.md")
    clock.moves(days=1)
    ask("four", "Hello.")
    assert ask("five", "What is the staging port?") == "6061"
