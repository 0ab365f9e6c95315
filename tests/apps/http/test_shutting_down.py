"""A server that is told to stop finishes what calls have left to the background."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import AIMessage, BaseMessage

from longthread import MemoryConfig, drain
from longthread.apps.http import application, create_app


class Slow:
    """An extraction that takes until it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        assert self.go.wait(30)
        return AIMessage("- A fact.")


async def test_shutting_down_waits_for_memory_work(tmp_path: Path) -> None:
    facts = Slow()
    graph = agent(Scripted("ok", facts=facts), tmp_path, memory=MemoryConfig())
    async with create_app(graph).router.lifespan_context(None):
        await graph.ainvoke(say("hi"), thread())
        threading.Timer(0.05, facts.go.set).start()
    (ledger,) = (tmp_path / "workspace").rglob("memory/*.md")
    assert "A fact." in ledger.read_text(encoding="utf-8")


async def test_shutting_down_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(application, "EXIT_TIMEOUT", 0.05)
    facts = Slow()
    graph = agent(Scripted("ok", facts=facts), tmp_path, memory=MemoryConfig())
    with caplog.at_level(logging.WARNING, logger="longthread"):
        async with create_app(graph).router.lifespan_context(None):
            await graph.ainvoke(say("hi"), thread())
    assert "memory work is not done" in caplog.text
    facts.go.set()
    assert drain()
