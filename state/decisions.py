"""What nodes record instead of editing messages, and how it is read back.

Each record is a plain dict of JSON types in a channel of its own. `Decisions` is the reading of
all of them against one journal: ids resolved to positions. An id that no longer resolves means
"start over from the beginning", never "hide everything".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from .journal import Journal
from .names import Names, with_names

__all__ = [
    "Compaction",
    "Decisions",
    "Eviction",
    "Memory",
    "OverflowState",
    "Rolling",
    "Sealed",
    "ThreadOwner",
    "Usage",
    "after",
    "learned",
    "newest_human",
]


class Eviction(TypedDict):
    """Where the full text of an evicted message went.

    Keys:
        path: Its path in the workspace.
        chars: Its length.
        preview: Characters shown of its head, and again of its tail.
    """

    path: str
    chars: int
    preview: int


class Compaction(TypedDict, total=False):
    """A summary and how far it reaches; always replaced whole.

    Keys:
        summary: What the model sees instead of the messages before the cut.
        names: Lines of names that stand in it, each after so many characters of the summary.
        size: Journal messages covered, system messages not counted.
        through: Id of the last message covered.
        human: Id of the newest human message then. If the cut has passed it, it is shown again.
        position: Where the cut was when it was made.
        generation: Grows by one with every commit.
        failures: Attempts in a row that came to nothing.
        failed_at: Conversation tokens at the last of them.
    """

    summary: str
    names: list[tuple[int, str]]
    size: int
    through: str
    human: str | None
    position: int
    generation: int
    failures: int
    failed_at: int


class Memory(TypedDict):
    """The reference material of this call, as it is shown.

    Keys:
        memory: Long-term memory, rendered.
        further: The application's further material, rendered.
        digest: Content hash of both.
        withheld: Memory is not shown, since the call is not the owner's.
    """

    memory: str
    further: str
    digest: str
    withheld: NotRequired[bool]


class Sealed(TypedDict):
    """Where the sealed part of a journal is.

    Keys:
        thread: Id of the thread in whose folder the newest segment is; each older one is there too,
            or in that of the thread that this one was copied from.
        head: Name of the newest segment; each names the one before it.
        count: Messages in all segments.
        kept: Ids of sealed messages that are live as well, because requests still show them.
    """

    thread: str
    head: str
    count: int
    kept: list[str]


class OverflowState(TypedDict, total=False):
    """An overflow met in this reasoning step, and what was learned from it for the thread.

    Keys:
        attempts: Overflows met since the last answer.
        kind: What did not fit, see `Overflow.kind`.
        prompt: Tokens of the refused prompt, as the provider counted or else as estimated.
        pending: Whether a forced compaction is due before the next request.
        limit: The window in tokens that the provider has named or shown.
        reserve: Tokens that the answer may take, once the provider has refused more.
        shed_through: Id of the last message whose attachments and results no longer fit in bytes.
        shed_position: The position after it when that was recorded.
    """

    attempts: int
    kind: str
    prompt: int
    pending: bool
    limit: int | None
    reserve: int
    shed_through: str
    shed_position: int


def learned(overflow: OverflowState) -> OverflowState:
    """Return what of the record stays good for the thread, without the overflow itself."""
    kept = OverflowState()
    if overflow.get("limit"):
        kept["limit"] = overflow["limit"]
    if "reserve" in overflow:
        kept["reserve"] = overflow["reserve"]
    if "shed_through" in overflow:
        kept["shed_through"] = overflow["shed_through"]
    if "shed_position" in overflow:
        kept["shed_position"] = overflow["shed_position"]
    return kept


class Rolling(TypedDict):
    """The settings of a thread, see `RollingCompactionConfig`."""

    enabled: bool
    compaction_count: int
    auto_threshold: int | None
    model: str
    custom_instructions: str | None


class ThreadOwner(TypedDict):
    """Whose thread it is, fixed in its first call: who may find it in the journal.

    Keys:
        user: The id of the user; None: there is only one.
        agent: The name of the agent.
    """

    user: str | None
    agent: str


class Usage(TypedDict, total=False):
    """What the provider counted for the last request.

    Keys:
        input_tokens: The provider's count of the whole request, cached tokens included.
        cached: Tokens that it has read from its cache, in the last request of which it said so.
        estimated: Our own estimate of the same request.
        covered: Id of the last journal message in it.
        position: The position after that message then.
        decisions: Fingerprint of the decisions that shaped it.
        evictions: Number of evictions recorded then.
        system_tokens: Estimated tokens of the system prompt that was sent.
    """

    input_tokens: int
    cached: int
    estimated: int
    covered: str | None
    position: int
    decisions: str
    evictions: int
    system_tokens: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """All recorded decisions, resolved against one journal.

    Attributes:
        cut: Position of the first message that is shown in its place; 0 without a compaction.
        masked: Tool results before this position may show the placeholder.
        shed: Attachments and results before this position are left out.
        arguments: Long arguments of calls before this position are cut short.
        summary: The summary as it was written, or "" without one.
        names: Lines of names to be shown in it, each after so many characters.
        size: Messages that the summary covers.
        generation: Number of compactions committed.
        again: Position of the human message that is shown again after the reference, or None.
        evictions: Message id to where its text went.
        memory: Long-term memory as it is shown in this call, or "".
        further: The application's further reference material, or "".
    """

    cut: int
    masked: int
    shed: int
    arguments: int
    summary: str
    names: Names
    size: int
    generation: int
    again: int | None
    evictions: Mapping[str, Eviction]
    memory: str
    further: str

    @classmethod
    def read(cls, state: Mapping[str, Any], journal: Journal) -> Decisions:
        """Resolve the decisions in `state` against its journal."""
        record = cast(Compaction, state.get("compaction") or {})
        cut = after(journal, record.get("through"), record.get("position"))
        positions: Mapping[str, int] = state.get("boundary_positions") or {}
        overflow: Mapping[str, Any] = state.get("overflow") or {}
        memory: Memory | None = state.get("memory") or None
        return cls(
            cut=cut,
            masked=after(journal, state.get("masked_through"), positions.get("masked_through")),
            shed=after(journal, overflow.get("shed_through"), overflow.get("shed_position")),
            arguments=after(
                journal,
                state.get("arguments_truncated_through"),
                positions.get("arguments_truncated_through"),
            ),
            summary=record.get("summary", "") if cut else "",
            names=tuple((at, line) for at, line in record.get("names", ())) if cut else (),
            size=record.get("size", 0) if cut else 0,
            generation=record.get("generation", 0),
            again=_shown_again(journal, cut, record.get("human")) if cut else None,
            evictions=state.get("evictions") or {},
            memory=memory["memory"] if memory else "",
            further=memory["further"] if memory else "",
        )

    @property
    def shown_summary(self) -> str:
        """The summary as the model sees it: with the names."""
        return with_names(self.summary, self.names)


def after(journal: Journal, message_id: str | None, recorded: int | None = None) -> int:
    """Return the position after a message that marks a boundary; 0 if it no longer does.

    Args:
        journal: The journal.
        message_id: The message.
        recorded: Where the boundary was when it was recorded. A message that stands later now was
            removed and said again: what has come in between was never behind the boundary.
    """
    at = journal.position(message_id)
    if at is None or (recorded is not None and at + 1 > recorded):
        return 0
    return at + 1


def newest_human(journal: Journal, before: int | None = None) -> int | None:
    """Return the position of the newest human message (before a position), or None."""
    for at in range((len(journal) if before is None else before) - 1, -1, -1):
        if journal[at].type == "human":
            return at
    return None


def _shown_again(journal: Journal, cut: int, recorded: str | None) -> int | None:
    """The human message to repeat after the reference, so that every request has the newest one.

    The recorded one stays, even when newer ones have arrived: dropping it would change the prefix.
    If it is gone from the journal, the newest that is left takes its place.
    """
    at = journal.position(recorded)
    if at is None:
        at = newest_human(journal)
    return at if at is not None and at < cut else None
