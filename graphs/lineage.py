"""Which checkpoint of an agent belongs to a branch of its parent.

When a parent goes on from an older checkpoint, the agent inside has to go on from where it was then
and not from where another branch has left it. Every checkpoint of the agent names the one of the
parent in which the call was made (LangGraph's `parents`); those of the present branch are found by
walking back.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..nodes.node import Effect, Steps
from ..stores.journal import ThreadKey
from ..stores.journal.saver_calls import get_tuple

__all__ = ["Checkpoints", "bound_of_branch", "was_rewritten_since"]

_BATCH = 20
_A_MOMENT = Effect(run=lambda: time.sleep(0.005), arun=lambda: asyncio.sleep(0.005))
NOTHING = "0"
"""A bound that is smaller than the id of any checkpoint."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The checkpoints of one thread, as effects."""

    saver: BaseCheckpointSaver[Any]
    thread_id: str

    def get(self, namespace: str, checkpoint: str | None = None) -> Effect:
        """An effect: the checkpoint with this id, or the newest one, or None."""
        return get_tuple(self.saver, self._place(namespace, checkpoint))

    def before(self, namespace: str, checkpoint: str) -> Effect:
        """An effect: some checkpoints older than this one, the newest first."""
        saver, place = self.saver, self._place(namespace)
        bound: RunnableConfig = {"configurable": {"checkpoint_id": checkpoint}}

        async def alist() -> list[CheckpointTuple]:
            return [one async for one in saver.alist(place, before=bound, limit=_BATCH)]

        return Effect(run=lambda: list(saver.list(place, before=bound, limit=_BATCH)), arun=alist)

    def _place(self, namespace: str, checkpoint: str | None = None) -> RunnableConfig:
        return ThreadKey(self.thread_id, namespace).config(checkpoint)


def bound_of_branch(
    stored: Checkpoints, namespace: str, outer: str, now: str, *, patience: int
) -> Steps[str]:
    """Return an id: the newest checkpoint before it is where the branch has left the agent.

    Args:
        stored: The thread's checkpoints.
        namespace: The agent's namespace.
        outer: The parent's.
        now: The parent's present checkpoint.
        patience: How often to look again for a step of the parent that is still being written, 5 ms
            apart. Where none is written before the end (0), the branch is not known, and the agent
            begins anew with what the parent hands in.
    """
    branch = _Branch(stored, outer, now, patience)
    newest: CheckpointTuple | None = yield stored.get(namespace)
    candidates = [newest] if newest is not None else []
    while candidates:
        for candidate in candidates:
            made_in = (candidate.metadata.get("parents") or {}).get(outer)
            if made_in is not None and (yield from branch.holds(made_in)):
                return f"{candidate.checkpoint['id']}0"  # just after it
        candidates = yield stored.before(namespace, candidates[-1].checkpoint["id"])
    return NOTHING


def was_rewritten_since(stored: Checkpoints, outer: str, began: str, now: str) -> Steps[bool]:
    """Whether nothing but writes of the application lie between two checkpoints of the parent."""
    at: str | None = now
    while at is not None and at != began:
        parent: CheckpointTuple | None = yield stored.get(outer, at)
        if parent is None or parent.metadata.get("source") not in ("update", "fork"):
            return False
        at = _before(parent)
    return at is not None


class _Branch:
    """The checkpoints on the way to the parent's present one, looked up as far as is needed."""

    def __init__(self, stored: Checkpoints, outer: str, now: str, patience: int) -> None:
        self.stored = stored
        self.outer = outer
        self.patience = patience
        self.known = {now}
        self.oldest: str | None = now
        self.begun = False

    def holds(self, checkpoint: str) -> Steps[bool]:
        """Whether what was done in a checkpoint was done in this branch. Ids grow with time."""
        while self.oldest is not None and self.oldest > checkpoint:
            yield from self._look_back()
        return checkpoint in self.known

    def _look_back(self) -> Steps[None]:
        at: CheckpointTuple | None = yield self.stored.get(self.outer, self.oldest)
        while at is None and self.patience > 0:
            # With LangGraph's own durability a step is written while the next one runs.
            self.patience -= 1
            yield _A_MOMENT
            at = yield self.stored.get(self.outer, self.oldest)
        self.oldest = _before(at) if at is not None else None
        source = at.metadata.get("source") if at is not None else None
        # A fork does the tasks of the checkpoint before it anew; and where the branch begins with
        # new input, what was done in the checkpoint before was done in another branch.
        anew = source == "fork" or (source == "input" and not self.begun)
        self.begun = self.begun or source in ("input", "fork")
        if self.oldest is not None and not anew:
            self.known.add(self.oldest)


def _before(stored: CheckpointTuple) -> str | None:
    return ((stored.parent_config or {}).get("configurable") or {}).get("checkpoint_id")
