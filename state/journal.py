"""The thread's journal: an append-only list of messages that is cheap to extend.

LangGraph's own message reducers do work in proportion to the whole thread on every write. A
`Journal` is copied when something is appended (streamed values and pending checkpoints hold the
old copy), but the copies share one index from message id to position, so a step costs what is new.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from .errors import ConfigurationError
from .written import as_messages, storable

log = logging.getLogger("longthread")

__all__ = ["Journal", "append_messages", "as_journal", "has_made_id"]


class Journal(list[AnyMessage]):
    """Messages of one thread, oldest first, with positions by id and a place for a memo.

    Never changed in place once it is in a channel: `append_messages` returns a new one.

    Attributes:
        memo: What a projection of this journal (or of the one it was copied from) has already
            worked out. It only saves work; what it holds can always be computed again from the
            messages.
        calls: Ids of the tool calls that projections have met: an id in it is not free.
        edited: Ids of messages that were replaced in their place.
        counts: Token estimates by message id, each good only for the very message object beside it.
        plain: Messages by id that are shown as they are where no decision hides anything.
        lent: The last message of which `lent` has made a copy, and the copies so far.
    """

    __slots__ = (
        "_copied",
        "_extended",
        "_last",
        "_own",
        "_positions",
        "calls",
        "counts",
        "edited",
        "lent",
        "memo",
        "plain",
    )

    def __init__(self, messages: Iterable[AnyMessage] = ()) -> None:
        super().__init__(messages)
        self._positions: dict[str, int] = {m.id: at for at, m in enumerate(self) if m.id}
        self.calls: set[str] = set()
        self.edited: set[str] = set()
        self.counts: dict[str, tuple[BaseMessage, int]] = {}
        self.plain: dict[str, AnyMessage] = {}
        self.memo: Any = None
        self.lent: tuple[AnyMessage | None, list[AnyMessage]] = (None, [])
        self._mark_end()
        self._copied = False
        self._extended: list[tuple[int, list[tuple[AnyMessage, str | None]], Journal]] = []

    def __copy__(self) -> Journal:
        copy = Journal.__new__(Journal)
        list.__init__(copy, self)
        copy._positions = self._positions
        copy.calls = self.calls
        copy.edited = self.edited
        copy.counts = self.counts
        copy.plain = self.plain
        copy.memo = self.memo
        copy.lent = self.lent
        copy._last, copy._own = self._last, self._own
        copy._copied = True
        copy._extended = self._extended
        return copy

    def __reduce__(self) -> tuple[type[Journal], tuple[list[AnyMessage]]]:
        return (Journal, (list(self),))

    def position(self, message_id: str | None) -> int | None:
        """Return where the message with this id stands, or None if it is not in this journal."""
        at = self._positions.get(message_id) if message_id else None
        # The index is shared with later copies, which may know messages that this one does not
        # have.
        if at is None or at >= len(self) or self[at].id != message_id:
            return None
        return at

    def _take_extended(self, new: Sequence[AnyMessage]) -> Journal | None:
        """Return, once, what the same messages made of this journal a moment ago.

        An edge that follows a node reads the state as it will be, and then it becomes that: both
        are one append, and what a projection of the first has worked out serves the second. It is
        given away only once, so that an old journal that somebody holds does not hold all others.
        """
        try:
            length, given, result = self._extended.pop()
        except IndexError:  # also when another task has just taken it
            return None
        if length != len(self) or len(given) != len(new):
            return None
        same = all(a is b and a.id == i for (a, i), b in zip(given, new, strict=True))
        return result if same else None

    def _push(self, message: AnyMessage) -> None:
        at = len(self)
        if message.id:
            known = self._positions.setdefault(message.id, at)
            if known != at:
                # Another branch of the thread put this id elsewhere: the branches part company
                # here.
                self._positions = {m.id: i for i, m in enumerate(self) if m.id}
                self._positions[message.id] = at
        self.append(message)
        self._mark_end()

    def _mark_end(self) -> None:
        """Remember where the journal ends: what comes after that, somebody else has put there."""
        self._last: tuple[int, AnyMessage | None] = (len(self), self[-1] if self else None)
        self._own: Journal | None = None

    @property
    def is_touched(self) -> bool:
        """Whether its end is not what the reducer has made it."""
        length, last = self._last
        return len(self) != length or bool(length and self[-1] is not last)

    def _without_others(self) -> Journal:
        """Return the journal without what somebody has put at its end past the reducer.

        Raises:
            ConfigurationError: Something else was done to its end in place.
        """
        if not self.is_touched:
            return self
        length, last = self._last
        if len(self) <= length or (length and self[length - 1] is not last):
            raise ConfigurationError(
                f"messages: the list in the state was changed in place, from {length} messages to "
                f"{len(self)}; return what is new as an update, {{'messages': [message]}}, and "
                "what goes as RemoveMessage(id=…)"
            )
        if self._own is None:  # told, and worked out, once
            log.warning(
                "messages: %d messages were put into the state's list in place, and are not kept "
                "unless they are returned too, as an update: {'messages': [message]}",
                len(self) - length,
            )
            self._own = Journal(self[:length])
        return self._own


def as_journal(messages: Sequence[Any] | None) -> Journal:
    """Return `messages` as a `Journal`, itself if it is one already.

    Args:
        messages: Messages, or anything LangChain can turn into messages (dicts, tuples, strings).

    Returns:
        The journal, without what a reader of the state has put at its end in place: an agent that
        took it for an answer's follow-up would never come to an end.

    Raises:
        ConfigurationError: A journal was made shorter, or got another end, in place.
    """
    if isinstance(messages, Journal):
        return messages._without_others()
    journal = Journal()
    for message in as_messages(messages or []):
        journal = _applied(journal, message)
    return journal


def append_messages(state: Sequence[Any] | None, writes: Sequence[Any]) -> Journal:
    """Reducer of the `messages` channel: append by id, for `DeltaChannel`.

    Deterministic, batching-invariant, and never changes `state`, unless that is a fresh copy that
    `copy.copy` has made: then it becomes the new journal, and is not copied again. A message whose
    id is known replaces the one in its place, unless that is the result of another call;
    `RemoveMessage` removes one (an unknown id is ignored) or, with `REMOVE_ALL_MESSAGES`, all that
    came before it; a message without id gets one derived from its place and content, so that
    replaying the same writes gives the same ids.

    Args:
        state: The journal so far; the server may hand it back as a plain list of dicts.
        writes: One entry for each write: a message, anything coercible to one, or a list of these.

    Returns:
        A new journal, sharing the index of the old one where possible.
    """
    journal = as_journal(state)
    incoming: list[AnyMessage] = []
    for write in writes:
        incoming.extend(as_messages(write))
    extended = journal._take_extended(incoming)
    if extended is not None:
        return extended
    given, made = [(message, message.id) for message in incoming], journal._extended
    length = len(journal)
    # What was copied just now belongs to nobody yet: LangGraph copies to read ahead.
    journal = journal if journal._copied else journal.__copy__()
    journal._copied, journal._extended = False, []
    for message in incoming:
        journal = _applied(journal, message)
    made[:] = [(length, given, journal)]
    return journal


def _applied(journal: Journal, message: AnyMessage) -> Journal:
    if isinstance(message, RemoveMessage):
        if message.id == REMOVE_ALL_MESSAGES:
            return Journal()
        at = journal.position(message.id)
        return journal if at is None else Journal(journal[:at] + journal[at + 1 :])
    message = storable(message)
    if not message.id:
        message = _with_id(message, journal)
    at = journal.position(message.id)
    if at is not None and _is_another_result(journal[at], message):
        message = _with_id(message.model_copy(update={"id": None}), journal)
        at = journal.position(message.id)
    if at is None:
        journal._push(message)
    elif journal[at] is not message and journal[at] != message:
        journal[at] = message
        journal._mark_end()
        journal.memo, journal.lent = None, (None, [])
        if message.id:
            journal.edited.add(message.id)
    return journal


def _is_another_result(known: AnyMessage, message: AnyMessage) -> bool:
    """Whether this is no edit, but the result of another call under an id that its tool made up."""
    if not isinstance(known, ToolMessage) or not isinstance(message, ToolMessage):
        return False
    return known.tool_call_id != message.tool_call_id


def _with_id(message: AnyMessage, journal: Journal) -> AnyMessage:
    """Return a copy with an id that depends only on place and content, and is free."""
    at = len(journal)
    before = journal[-1].id if journal else None
    fresh = _made_id(message, before, at)
    while journal.position(fresh) is not None:
        at += 1
        fresh = _made_id(message, before, at)
    return message.model_copy(update={"id": fresh})


def has_made_id(journal: Journal, at: int) -> bool:
    """Whether the message at a position came without an id, and got its own right there."""
    message = journal[at]
    before = journal[at - 1].id if at else None
    place = (message.id or "").split("-")[1:2]
    return (
        bool(place)
        and place[0].isdigit()
        and message.id == _made_id(message.model_copy(update={"id": None}), before, int(place[0]))
    )


def _made_id(message: AnyMessage, before: str | None, at: int) -> str:
    """Derive an id from a message without one, the id before it, and its place.

    The id before it makes it differ from those of messages that were sealed, whose places are
    given again.
    """
    content = f"{before}\0{message!r}".encode("utf-8", "surrogatepass")
    return f"lt-{at}-{hashlib.sha256(content).hexdigest()[:24]}"
