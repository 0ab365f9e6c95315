"""Which thread is meant: its id, and the namespace of the graph whose state outlives a call."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.runnables import RunnableConfig

__all__ = ["ThreadKey", "is_lasting", "moment_of"]

_GREGORIAN = datetime(1582, 10, 15, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class ThreadKey:
    """One journal in a checkpointer.

    Attributes:
        thread_id: The id of the thread.
        checkpoint_ns: The namespace of the graph in it: "" for the graph that was called, the path
            of node names for one inside it that keeps its own state (`checkpointer=True`).
    """

    thread_id: str
    checkpoint_ns: str = ""

    @classmethod
    def of_run(cls, config: Mapping[str, Any]) -> ThreadKey | None:
        """Return where the state is kept that a node sees, or None without a thread.

        Args:
            config: The node's own configuration, whose namespace ends in the node and its task.
        """
        configurable = config.get("configurable") or {}
        if configurable.get("thread_id") is None:
            return None
        lasting: list[str] = []
        for part in str(configurable.get("checkpoint_ns") or "").split("|"):
            if ":" in part:
                break  # a graph of one task: what it keeps is gone with the call
            lasting.append(part)
        return cls(str(configurable["thread_id"]), "|".join(lasting))

    def config(self, checkpoint_id: str | None = None) -> RunnableConfig:
        """Return how a checkpointer is asked for the newest checkpoint, or for this one."""
        configurable = {"thread_id": self.thread_id, "checkpoint_ns": self.checkpoint_ns}
        if checkpoint_id is not None:
            configurable["checkpoint_id"] = checkpoint_id
        return {"configurable": configurable}

    @property
    def spoken(self) -> str:
        """How a model is told of it: the id, and the place after a bar where there is one."""
        return f"{self.thread_id}|{self.checkpoint_ns}" if self.checkpoint_ns else self.thread_id

    @classmethod
    def of_spoken(cls, spoken: str) -> ThreadKey:
        """Return the thread that a model speaks of."""
        thread_id, _, checkpoint_ns = spoken.partition("|")
        return cls(thread_id, checkpoint_ns)

    def __str__(self) -> str:
        return self.spoken


def is_lasting(checkpoint_ns: str) -> bool:
    """Whether a namespace belongs to a graph whose state outlives a call."""
    return ":" not in checkpoint_ns


def moment_of(checkpoint_id: str) -> datetime | None:
    """Return when a checkpoint was made, which its id (a UUID of version 6) tells, or None."""
    try:
        number = uuid.UUID(checkpoint_id)
    except ValueError:
        return None
    if number.version != 6:
        return None
    ticks = ((number.int >> 80) << 12) | ((number.int >> 64) & 0x0FFF)
    return _GREGORIAN + timedelta(microseconds=ticks // 10)
