"""The channels of a thread, with their reducers.

Savers write every plain channel into every checkpoint, so each one that holds text or grows is a
`DeltaChannel`: what is stored is what was written, not what has piled up.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.channels import DeltaChannel, EphemeralValue
from typing_extensions import TypedDict

from .decisions import (
    Compaction,
    Eviction,
    Memory,
    OverflowState,
    Rolling,
    Sealed,
    ThreadOwner,
    Usage,
)
from .journal import append_messages

__all__ = [
    "DELTA_CHANNELS",
    "Messages",
    "ThreadContext",
    "ThreadInput",
    "ThreadOutput",
    "ThreadState",
]

SNAPSHOT_FREQUENCY = 5_000
"""Writes between two full copies of a channel. At 50, a long thread is stored hundreds of times."""


def merge_records(
    state: Mapping[str, Any] | None, writes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Reducer: keys of later writes win. Never changes `state`."""
    merged = dict(state or {})
    for write in writes:
        merged.update(write)
    return merged


def first_record(state: Mapping[str, Any] | None, writes: Sequence[Any]) -> Any:
    """Reducer: the first write stays. Never changes `state`."""
    return state or (copy.copy(writes[0]) if writes else state)


def replace_record(state: Mapping[str, Any] | None, writes: Sequence[Any]) -> Any:
    """Reducer: the last write is the value. Never changes `state`."""
    return copy.copy(writes[-1]) if writes else state


Messages = Annotated[
    list[AnyMessage], DeltaChannel(append_messages, snapshot_frequency=SNAPSHOT_FREQUENCY)
]


class ThreadInput(TypedDict):
    """What a call takes: the new messages."""

    messages: Messages


class ThreadOutput(TypedDict, total=False):
    """What a call returns: the journal, and the structured response if one was asked for."""

    messages: Messages
    structured_response: Any


class ThreadState(TypedDict, total=False):
    """Everything recorded about a thread.

    Keys:
        messages: The journal, append-only.
        evictions: Message id to where its full text went.
        masked_through: Id of the last message that the mask covers.
        arguments_truncated_through: Id of the last message whose long arguments are cut short.
        boundary_positions: For each of these two, the position after its message when it was set.
        compaction: The summary and how far it reaches.
        sealed: Where the part of the journal is that was sealed, see `Sealed`.
        memory: The reference text of this call.
        rolling: The settings of rolling compaction, fixed when the thread was created.
        owner: Whose thread it is, fixed when it was created.
        overflow: An overflow met in this reasoning step, and the limit learned.
        usage: What the provider counted for the last request.
        fresh_results: Whether tool results came in with the last step; forgotten after one step.
        maintenance: Whether memory maintenance is due; forgotten after one step.
        closed: Whether the thread has ended, see `close_thread`.
        structured_response: The last answer in the shape that `response_format` asks for.
        structured_for: Id of the answer that was shaped.
    """

    messages: Messages
    evictions: Annotated[
        dict[str, Eviction], DeltaChannel(merge_records, snapshot_frequency=SNAPSHOT_FREQUENCY)
    ]
    masked_through: str | None
    arguments_truncated_through: str | None
    boundary_positions: dict[str, int]
    compaction: Annotated[
        Compaction, DeltaChannel(replace_record, snapshot_frequency=SNAPSHOT_FREQUENCY)
    ]
    sealed: Annotated[Sealed, DeltaChannel(replace_record, snapshot_frequency=SNAPSHOT_FREQUENCY)]
    memory: Annotated[Memory, DeltaChannel(replace_record, snapshot_frequency=SNAPSHOT_FREQUENCY)]
    rolling: Annotated[Rolling, DeltaChannel(first_record, snapshot_frequency=SNAPSHOT_FREQUENCY)]
    owner: ThreadOwner
    overflow: OverflowState
    usage: Usage
    fresh_results: Annotated[bool, EphemeralValue(bool, guard=False)]
    maintenance: Annotated[bool, EphemeralValue(bool)]
    closed: bool
    structured_response: Any
    structured_for: str


DELTA_CHANNELS = ("messages", "evictions", "compaction", "sealed", "memory", "rolling")
"""Channels of `ThreadState` that are stored as what was added to them."""


@dataclass(frozen=True, kw_only=True)
class ThreadContext:
    """Who a call is for.

    Attributes:
        user_id: Memory is kept apart by user; None: the default user. An identity that the server
            has authenticated takes its place.
        agent: Name under which the agent keeps its memory; None: the graph's own name.
        timezone: IANA name, `Europe/Berlin`, of the zone that dates in the ledger are given in;
            None: UTC.
    """

    user_id: str | None = None
    agent: str | None = None
    timezone: str | None = None
