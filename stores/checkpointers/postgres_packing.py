"""Checkpoints as PostgreSQL holds them when they are compressed.

The server compresses single values of two kilobytes and more. A checkpoint is mostly smaller than
that: the versions of its channels, and which node has seen which. Those, and LangGraph's counters,
are packed into one string. What LangGraph's own statements look at stays as it was: the versions of
the channels whose values are in another table, and the metadata.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any, cast

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

from .compression import compressed, decompressed

__all__ = ["next_version", "packed", "unpacked"]

_PACKED = "packed_1"
_KNOWN = b"".join(
    b'{"branch:to:%b":"0.00000","%b":{"' % (node, node)
    for node in b"seal eviction overflow_retry consolidation compaction masking flush tools recall "
    b"reasoning".split()
) + (
    b'"sealed":[0,"rolling":[1,"evictions":[0,"arguments_truncated_through":"overflow":"closed":"'
    b'"boundary_positions":"masked_through":"fresh_results":"__pregel_tasks":"usage":"owner":"'
    b'"updated_channels":["usage","messages","compaction","memory"],'
    b'"versions_seen":{"__input__":{},"__start__":{"__start__":"0.0000001'
    b'"channel_versions":{"messages":"0.00000","counters_since_delta_snapshot":{"'
    b'{"ts":"2026-01-01T00:00:00.000000+00:00","'
)
"""What packed text mostly says, for zlib to refer to. It is part of the format: a better one needs
another name for what is packed with it."""
_COUNTERS = "counters_since_delta_snapshot"
_PLAIN = ("v", "id", "channel_values", "channel_versions")
_SINCE = 4
"""Of checkpoints of earlier formats LangGraph's saver still changes the versions when it reads."""
_SHORT = "0."
_DIGITS = 7
_RANDOM_BYTES = 5


def next_version(current: str | None) -> str:
    """Return a channel's next version, a third as long as LangGraph's.

    Versions are compared as text. LangGraph's begin with a number of 32 digits; these begin with
    `0.` and are smaller than all of them, so either may go on where the other has been: in a thread
    that has a version of LangGraph's, the next one is made as LangGraph makes it. Random digits
    tell the branches of a thread apart, which share a table of values.
    """
    chance = base64.b32encode(os.urandom(_RANDOM_BYTES)).decode().lower()
    before = str(current or _SHORT)
    if before.startswith(_SHORT):
        number = int(before[len(_SHORT) :][:_DIGITS] or "0", 16)
        return f"{_SHORT}{number + 1:0{_DIGITS}x}{chance}"
    return f"{int(before.partition('.')[0]) + 1:032}.{chance}"


def packed(
    checkpoint: Checkpoint, metadata: CheckpointMetadata
) -> tuple[Checkpoint, CheckpointMetadata]:
    """Return a checkpoint and its metadata as they are stored."""
    if checkpoint["v"] < _SINCE:
        return checkpoint, metadata
    values, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    elsewhere = {name: at for name, at in versions.items() if not _is_inline(values.get(name))}
    rest: dict[str, Any] = {name: value for name, value in checkpoint.items() if name not in _PLAIN}
    rest["channel_versions"] = {name: at for name, at in versions.items() if name not in elsewhere}
    if _COUNTERS in metadata:
        rest[_COUNTERS] = metadata[_COUNTERS]  # type: ignore[literal-required]
        # The name stays: by it LangGraph knows a thread that must not be pruned.
        metadata = cast("CheckpointMetadata", {**metadata, _COUNTERS: {}})
    text = json.dumps(rest, separators=(",", ":")).encode()
    stored = {
        "v": checkpoint["v"],
        "id": checkpoint["id"],
        "channel_values": values,
        "channel_versions": elsewhere,
        _PACKED: base64.b85encode(compressed(text, _KNOWN, 9)).decode(),
    }
    return cast("Checkpoint", stored), metadata


def unpacked(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table as LangGraph's saver has written it, whichever way it was."""
    stored = row["checkpoint"]
    if _PACKED not in stored:
        return dict(row)
    rest = json.loads(decompressed(base64.b85decode(stored[_PACKED]), _KNOWN))
    metadata = row["metadata"]
    if _COUNTERS in rest:
        metadata = {**metadata, _COUNTERS: rest.pop(_COUNTERS)}
    checkpoint = {
        **rest,
        "v": stored["v"],
        "id": stored["id"],
        "channel_values": stored["channel_values"],
        "channel_versions": {**rest["channel_versions"], **stored["channel_versions"]},
    }
    return {**row, "checkpoint": checkpoint, "metadata": metadata}


def _is_inline(value: Any) -> bool:
    """Whether LangGraph keeps a value, or its absence, in the checkpoint itself."""
    return value is None or isinstance(value, (str, int, float, bool))
