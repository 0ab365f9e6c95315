"""Asking a checkpointer, in sync and in async code, whichever of the two it was made for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..effects import Effect

__all__ = ["delete_thread", "get_tuple", "list_all", "read_deltas", "unwrapped"]


def get_tuple(saver: BaseCheckpointSaver[Any], config: RunnableConfig) -> Effect:
    """An effect: read one checkpoint, the newest unless the config names one."""
    saver = unwrapped(saver)
    return _either(lambda: saver.get_tuple(config), lambda: saver.aget_tuple(config))


def read_deltas(
    saver: BaseCheckpointSaver[Any], config: RunnableConfig, channels: Sequence[str]
) -> Effect:
    """An effect: one walk along a checkpoint's ancestors, for what was written to channels."""
    saver = unwrapped(saver)
    return _either(
        lambda: saver.get_delta_channel_history(config=config, channels=channels),
        lambda: saver.aget_delta_channel_history(config=config, channels=channels),
    )


def list_all(saver: BaseCheckpointSaver[Any], config: RunnableConfig | None = None) -> Effect:
    """An effect: every checkpoint of a thread, or of all. Slow: for what knows no better way."""
    saver = unwrapped(saver)

    async def alist() -> list[CheckpointTuple]:
        return [stored async for stored in saver.alist(config)]

    return _either(lambda: list(saver.list(config)), alist)


def delete_thread(saver: BaseCheckpointSaver[Any], thread_id: str) -> Effect:
    """An effect: remove every checkpoint of a thread."""
    saver = unwrapped(saver)
    return _either(lambda: saver.delete_thread(thread_id), lambda: saver.adelete_thread(thread_id))


def unwrapped(saver: BaseCheckpointSaver[Any]) -> BaseCheckpointSaver[Any]:
    """Return the checkpointer itself where LangGraph Server has put a wrapper around one."""
    inner = getattr(saver, "_inner", None)
    return inner if isinstance(inner, BaseCheckpointSaver) else saver


def _either(run: Callable[[], Any], arun: Callable[[], Awaitable[Any]]) -> Effect:
    async def attempt() -> Any:
        try:
            return await arun()
        except NotImplementedError:
            return await asyncio.to_thread(run)  # a saver that is synchronous only

    return Effect(run, attempt)
