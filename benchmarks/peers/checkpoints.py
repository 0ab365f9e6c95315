"""A checkpointer in memory that keeps the last checkpoint alone, and writes nothing down.

A session of thousands of steps would otherwise be held thousands of times over.
"""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.memory import InMemorySaver

from longthread.apps.replay.held import HeldAsItIs

__all__ = ["LastCheckpoint"]


class LastCheckpoint(InMemorySaver):
    """Keeps one checkpoint; for graphs that write their channels whole (no `DeltaChannel`)."""

    def __init__(self) -> None:
        super().__init__(serde=HeldAsItIs())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint and forget what only older ones need."""
        saved = super().put(config, checkpoint, metadata, new_versions)
        thread: str = config["configurable"]["thread_id"]
        namespace: str = config["configurable"]["checkpoint_ns"]
        current: dict[str, Any] = checkpoint["channel_versions"]
        for key in [key for key in self.blobs if key[:2] == (thread, namespace)]:
            if current.get(key[2]) != key[3]:
                del self.blobs[key]
        kept = self.storage[thread][namespace]
        for old in [identity for identity in kept if identity != checkpoint["id"]]:
            del kept[old]
            self.writes.pop((thread, namespace, old), None)
        return saved
