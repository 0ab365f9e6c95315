"""Regression: `astream` wraps LangGraph's generator and leaves closing it to the collector."""

import asyncio
from pathlib import Path

from agents import Scripted, agent, calls, say, thread
from langgraph.config import get_stream_writer


async def test_what_runs_is_cancelled_when_the_stream_is_closed(tmp_path: Path) -> None:
    cancelled: list[str] = []

    async def work(at: str) -> str:
        """Work for ever."""
        get_stream_writer()("started")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(at)
            raise
        return "never"

    graph = agent(Scripted(calls("a", name="work"), "done"), tmp_path, [work], memory=None)
    stream = graph.astream(say("go"), thread(), stream_mode="custom")
    async for chunk in stream:
        if chunk == "started":
            break
    await stream.aclose()  # type: ignore[attr-defined]
    assert cancelled == ["a"]  # as with LangGraph's own `astream`; use contextlib.aclosing
