"""The conversation part of a request: the journal from the cut on, shown and repaired.

A `Body` is built once and then extended by what is new, so that a step costs what the step added.
It is never changed after it was handed out: extending makes a new one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

from .counting import count_known, count_message
from .decisions import Decisions, Eviction
from .journal import Journal
from .policy import ContextPolicy
from .replacement import as_shown, eviction_of, is_maskable, masked_tokens
from .sendable import says_something, unreadable

__all__ = ["INTERRUPTED", "Body", "body_of", "call_ids", "interrupted_result"]

INTERRUPTED = "[interrupted: this tool call did not finish; whether it had an effect is not known]"


def call_ids(message: BaseMessage) -> list[str]:
    """Return the ids of all tool calls in a message, those with invalid arguments included."""
    if not isinstance(message, AIMessage):
        return []
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    return list(dict.fromkeys(call["id"] for call in calls if call["id"]))


def interrupted_result(call_id: str, message: AIMessage) -> ToolMessage:
    """Return the result that stands in for one that never came."""
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    call: Any = next((call for call in calls if call["id"] == call_id), {})
    name = call.get("name")
    return ToolMessage(
        unreadable(call) if call.get("type") == "invalid_tool_call" else INTERRUPTED,
        tool_call_id=call_id,
        name=name,
        id=f"interrupted-{message.id}-{call_id}",
        status="error",
    )


@dataclass(slots=True)
class Body:
    """What is shown of the journal from the cut on.

    Attributes:
        start: First journal position considered.
        covered: Journal messages considered so far, from the beginning.
        messages: The messages as they are shown, in request order.
        sources: The journal position of each, or -1 for a result that stands in for a missing one.
        tokens: The estimated tokens of each.
        savings: The tokens that each would no longer take once the mask has passed it.
        first_saving: Index of the first that would take less, or None.
        late: Whether a result stands before others that came earlier.
        sums: The tokens of the first n messages, for every n.
        answers: How many of the first n are answers of the model, for every n.
        carried: The tokens before each of these answers, added up, for every n: what the requests
            for them have carried.
        masked: Tokens hidden by masks and cut arguments.
        evicted: Tokens hidden by evictions.
        unanswered: Calls of the last assistant message that have no result yet.
    """

    start: int
    covered: int
    messages: list[AnyMessage] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    savings: list[int] = field(default_factory=list)
    first_saving: int | None = None
    late: bool = False
    sums: list[int] = field(default_factory=lambda: [0])
    answers: list[int] = field(default_factory=lambda: [0])
    carried: list[int] = field(default_factory=lambda: [0])
    masked: int = 0
    evicted: int = 0
    unanswered: tuple[str, ...] = ()
    _caller: AIMessage | None = None
    _stand_ins: dict[str, int] = field(default_factory=dict)
    _policy: ContextPolicy | None = None
    _boundaries: tuple[int, int, int] = (0, 0, 0)
    _evictions: Mapping[str, Eviction] = field(default_factory=dict)

    def interrupted(self) -> list[AnyMessage]:
        """Return a result for every call that has none in the journal."""
        stand_ins = [m for m, at in zip(self.messages, self.sources, strict=True) if at < 0]
        caller = self._caller
        if caller is None:
            return stand_ins
        return [*stand_ins, *(interrupted_result(call, caller) for call in self.unanswered)]

    def called_tools(self) -> list[str]:
        """Return the names of the tools that the last answer called, answered or not."""
        return [call["name"] for call in self._caller.tool_calls] if self._caller else []

    @property
    def total(self) -> int:
        """The tokens of all that is shown."""
        return self.sums[-1]

    @property
    def parallel(self) -> bool:
        """Whether the last answer made several calls, each with a result of its own."""
        return self._caller is not None and len(call_ids(self._caller)) > 1

    def held(self, place: int) -> int:
        """Return the tokens before a place that the requests for all answers shown have carried."""
        later = self.answers[-1] - self.answers[place]
        return self.carried[place] + later * self.sums[place]

    def open_calls(self) -> list[ToolCall | InvalidToolCall]:
        """Return the calls of the last answer that have no result yet, in order."""
        if self._caller is None:
            return []
        first: dict[str | None, Any] = {}
        for invalid in reversed(self._caller.invalid_tool_calls):
            first[invalid["id"]] = {**invalid, "type": "invalid_tool_call"}
        for call in reversed(self._caller.tool_calls):
            first[call["id"]] = {**call, "type": "tool_call"}  # the type is optional in LangChain
        return [first[call_id] for call_id in self.unanswered]

    def _extend(self, journal: Journal, decisions: Decisions, policy: ContextPolicy) -> None:
        for at in range(max(self.covered, self.start), len(journal)):
            self._take(journal, at, decisions, policy)
        self.covered = len(journal)

    def _take(self, journal: Journal, at: int, decisions: Decisions, policy: ContextPolicy) -> None:
        message = journal[at]
        if isinstance(message, ToolMessage):
            self._take_result(message, journal, at, decisions, policy)
            return
        if isinstance(message, AIMessage):
            calls = call_ids(message)
            if not calls and not says_something(message):
                return  # providers refuse an assistant turn that is empty
            self._settle()
            self._caller, self.unanswered = message, tuple(calls)
            journal.calls.update(calls)
            for call_id in calls:
                self._stand_ins.pop(call_id, None)
        else:
            self._settle()
        self._put(*self._shown(message, journal, at, decisions, policy), source=at)

    def _take_result(
        self,
        message: ToolMessage,
        journal: Journal,
        at: int,
        decisions: Decisions,
        policy: ContextPolicy,
    ) -> None:
        """Place a result after its call; a second one, or one without a call, is not shown."""
        call_id = message.tool_call_id
        if call_id in self.unanswered:
            self.unanswered = tuple(c for c in self.unanswered if c != call_id)
            self._put(*self._shown(message, journal, at, decisions, policy), source=at)
            self._may_be_masked(len(self.messages) - 1, message, decisions, policy)
        elif call_id in self._stand_ins:
            place = self._stand_ins.pop(call_id)
            shown, tokens = self._shown(message, journal, at, decisions, policy)
            self.messages[place], self.tokens[place], self.sources[place] = shown, tokens, at
            self.sums = [0, *accumulate(self.tokens)]
            before = zip(self.messages, self.sums, strict=False)
            self.carried = [0, *accumulate(sum_ * (m.type == "ai") for m, sum_ in before)]
            self._may_be_masked(place, message, decisions, policy)
            self.late = True

    def _may_be_masked(
        self, place: int, message: ToolMessage, decisions: Decisions, policy: ContextPolicy
    ) -> None:
        """Note once what masking a result would save, so that no step has to look at it again."""
        masking, shown = policy.masking, self.messages[place]
        if masking is None or self.sources[place] < decisions.masked:
            return
        assert isinstance(shown, ToolMessage)
        eviction = eviction_of(message, decisions.evictions)
        if not is_maskable(shown, eviction, masking):
            return
        saving = self.tokens[place] - masked_tokens(shown, eviction, masking)
        if saving > 0:
            self.savings[place] = saving
            first = self.first_saving
            self.first_saving = place if first is None else min(first, place)

    def _settle(self) -> None:
        """Before another turn begins, every open call gets a result."""
        for call_id in self.unanswered:
            assert self._caller is not None
            self._stand_ins[call_id] = len(self.messages)
            result = interrupted_result(call_id, self._caller)
            self._put(result, count_message(result), source=-1)
        self.unanswered = ()

    def _shown(
        self,
        message: AnyMessage,
        journal: Journal,
        at: int,
        decisions: Decisions,
        policy: ContextPolicy,
    ) -> tuple[AnyMessage, int]:
        eviction = eviction_of(message, decisions.evictions)
        masked = at < decisions.masked
        hides = masked or eviction is not None or at < decisions.arguments or at < decisions.shed
        if not hides and message.id and journal.plain.get(message.id) is message:
            return message, count_known(message, journal)
        shown = as_shown(
            message,
            masked=masked,
            eviction=eviction,
            policy=policy,
            truncated=at < decisions.arguments,
            shed=at < decisions.shed,
        )
        if shown is message:
            if not hides and message.id:
                journal.plain[message.id] = message
            return message, count_known(message, journal)
        tokens = count_message(shown)
        hidden = count_known(message, journal) - tokens
        if masked or at < decisions.shed or isinstance(message, AIMessage):
            self.masked += max(0, hidden)
        elif eviction is not None:
            self.evicted += max(0, hidden)
        return shown, tokens

    def _put(self, message: AnyMessage, tokens: int, source: int) -> None:
        answer = message.type == "ai"
        self.answers.append(self.answers[-1] + answer)
        self.carried.append(self.carried[-1] + self.sums[-1] * answer)
        self.messages.append(message)
        self.tokens.append(tokens)
        self.savings.append(0)
        self.sources.append(source)
        self.sums.append(self.sums[-1] + tokens)


def body_of(journal: Journal, decisions: Decisions, policy: ContextPolicy) -> Body:
    """Return the body for these decisions, extending the remembered one if it still fits."""
    leading = leading_system_messages(journal)
    start = max(decisions.cut, leading)
    boundaries = (decisions.masked, decisions.arguments, decisions.shed)
    known = journal.memo
    if not (
        isinstance(known, Body)
        and known._policy is policy
        and known.start == start
        and known._boundaries == boundaries
        and known.covered <= len(journal)
        and _only_new_evictions(known, journal, decisions)
    ):
        known = Body(
            start=start,
            covered=start,
            _policy=policy,
            _boundaries=boundaries,
        )
    elif known.covered == len(journal):
        known._evictions = decisions.evictions
        return known
    body = replace(
        known,
        messages=known.messages.copy(),
        sources=known.sources.copy(),
        tokens=known.tokens.copy(),
        savings=known.savings.copy(),
        sums=known.sums.copy(),
        answers=known.answers.copy(),
        carried=known.carried.copy(),
        _stand_ins=known._stand_ins.copy(),
        _evictions=decisions.evictions,
    )
    body._extend(journal, decisions, policy)
    journal.memo = body
    return body


def leading_system_messages(journal: Journal) -> int:
    """Return how many system messages stand at the very beginning of the journal."""
    count = 0
    while count < len(journal) and journal[count].type == "system":
        count += 1
    return count


def _only_new_evictions(known: Body, journal: Journal, decisions: Decisions) -> bool:
    """Whether every eviction recorded since concerns messages that the body has not taken yet."""
    before, now = known._evictions, decisions.evictions
    if before == now:
        return True
    changed = {i for i in now if now[i] != before.get(i)} | {i for i in before if i not in now}
    return all((journal.position(i) or 0) >= known.covered for i in changed)
