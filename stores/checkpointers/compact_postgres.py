"""LangGraph's PostgreSQL savers with less to store for each checkpoint.

Imported only where a database is opened: its packages are those of the extra `[postgres]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from .postgres_packing import next_version, packed, unpacked
from .serialiser import CompactSerialiser
from .threaded import AsyncInThreads

if TYPE_CHECKING:
    from psycopg.rows import DictRow
    from psycopg_pool import AsyncConnectionPool, ConnectionPool

__all__ = ["AsyncCompactPostgresSaver", "CompactPostgresSaver"]


class _ShortVersions:
    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return the next version of a channel."""
        return next_version(current)


class CompactPostgresSaver(_ShortVersions, AsyncInThreads, PostgresSaver):
    """Packs what it writes if its serialiser compresses; reads either.

    Args:
        pool: Connections to the database.
        serde: How values are written.
    """

    def __init__(self, pool: ConnectionPool[Any], *, serde: CompactSerialiser) -> None:
        super().__init__(pool, serde=serde)
        self._packs = serde.compress

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        if self._packs:
            checkpoint, metadata = packed(checkpoint, metadata)
        return super().put(config, checkpoint, metadata, new_versions)

    def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        return super()._load_checkpoint_tuple(unpacked(value))


class AsyncCompactPostgresSaver(_ShortVersions, AsyncPostgresSaver):
    """The asynchronous twin; arguments are the same."""

    def __init__(self, pool: AsyncConnectionPool[Any], *, serde: CompactSerialiser) -> None:
        super().__init__(pool, serde=serde)
        self._packs = serde.compress

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint."""
        if self._packs:
            checkpoint, metadata = packed(checkpoint, metadata)
        return await super().aput(config, checkpoint, metadata, new_versions)

    async def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        return await super()._load_checkpoint_tuple(unpacked(value))
