"""Extraction: what of a conversation is worth remembering, from where the last one ended.

The order is what makes it safe to be killed anywhere: ask the model, append to the ledger, then
move the cursor. A part whose facts stand in the ledger is known by their marker even when the
cursor was never moved.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ..state.counting import count_text, text_of
from ..state.decisions import Eviction
from ..state.errors import LongthreadError, WorkspaceError
from ..state.facts import new_facts, says_nothing, unwrapped
from ..state.guests import guest_positions
from ..state.journal import Journal
from ..state.material import material, without_reference
from ..state.overflow import classify_overflow
from ..state.policy import ContextPolicy
from ..state.prompts import DEFAULT_FLUSH_PROMPT
from ..state.redaction import redacted
from ..state.replacement import as_shown, eviction_of
from ..state.transcript import chunked, newest_tokens, transcript, without_secrets
from ..stores.memory.flush_cursor import FlushCursor, Place
from ..stores.memory.ledger import LedgerMarker, ledger_path, without_markers
from ..stores.workspace import ScopedWorkspace
from .models import Model, auxiliary_answer, clamped, stop_reason_of
from .node import Run, Steps, io
from .tokens_used import TokensUsed

__all__ = ["Conversation", "Extracted", "Extraction"]

log = logging.getLogger("longthread")

# What a tool returned can be looked up again; what was made of it stands in the answers.
_RESULT_CHARS = 600
_LEAST_ROOM = 256
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# Another worker on the same thread is rare; one that is faster so many times in a row is a fault.
_CONFLICTS = 10


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is to be extracted from: a thread as it is at one moment, and where its memory is.

    Attributes:
        files: The owner's files.
        cursor: The thread's cursor.
        journal: Everything that was said.
        end: Position in the journal up to which facts are extracted.
        evictions: Message id to where its text went: of those the model was shown a preview.
        window: Context window of the agent's own model in tokens.
        reserve: Tokens of that window that are kept free for an answer.
        clamped: Whether the provider has refused to reserve more than that.
        moment: Now, in the caller's time zone: one instant for file name and heading.
    """

    files: ScopedWorkspace
    cursor: FlushCursor
    journal: Journal
    end: int
    evictions: Mapping[str, Eviction]
    window: int
    moment: datetime
    reserve: int = 0
    clamped: bool = False


@dataclass(slots=True)
class Extracted:
    """What an extraction did.

    Attributes:
        asked: Whether a model was asked at all.
        path: The ledger that facts were appended to, or None.
        messages: Messages covered.
        used: Tokens that the model used.
    """

    asked: bool = False
    path: str | None = None
    messages: int = 0
    used: TokensUsed = field(default_factory=TokensUsed)


@dataclass(frozen=True, slots=True)
class _Portion:
    """Whole messages that one request can hold, or one message in several."""

    stop: int
    chunks: list[str]


class Extraction:
    """Asks a model for the durable facts in a conversation and appends them to the ledger.

    Args:
        policy: The agent's policy.
        model: The model that is asked.
        window: Its context window in tokens; None: it is the agent's own.
    """

    def __init__(self, policy: ContextPolicy, model: Model, window: int | None = None) -> None:
        assert policy.memory is not None
        self.policy = policy
        self.system = policy.memory.flush_prompt or DEFAULT_FLUSH_PROMPT
        self.model = model
        self.window = window

    def steps(self, talk: Conversation, run: Run) -> Steps[Extracted]:
        """Extract everything that is new, a portion that fits at a time.

        Raises:
            RedactionError: The redactor failed.
            WorkspaceError: The ledger or the cursor cannot be read or written.
            Exception: What the model raised. Portions before stay written.
        """
        done = Extracted()
        window = self.window or talk.window
        reserve = talk.reserve if self.window is None else 0
        room, most, conflicts = window, len(talk.journal), 0
        while True:
            place: Place = yield io(talk.cursor.place, talk.journal, talk.moment)
            if not _anything_said(talk.journal, place.start, talk.end):
                return done
            known, shown = yield io(self._known, talk, window // 4)
            most_prompt = min(window * 3 // 4, window - reserve)
            left = min(room, most_prompt - count_text(self.system) - count_text(shown))
            portion: _Portion = yield io(
                self._portion, talk, place.start, most, max(_LEAST_ROOM, left)
            )
            count = portion.stop - place.start
            try:
                text, whole = yield from self._asked(portion, shown, talk, run, done)
            except Exception as error:
                if classify_overflow(error) is None or left <= _LEAST_ROOM:
                    raise
                room = max(_LEAST_ROOM, left // 2)  # that model's window is smaller than we know
                continue
            if not whole and count > 1:
                most = count // 2  # more facts than fit in one answer: ask about less at a time
                continue
            text = yield io(redacted, self.policy.redact, text)
            facts: str = yield io(new_facts, text, [known])
            marker = None
            if facts:
                first, last = talk.journal[place.start].id, talk.journal[portion.stop - 1].id
                marker = LedgerMarker(talk.cursor.thread, first or "", last or "")
                path = yield io(talk.cursor.append, talk.moment, facts, marker, place)
                if path is None:
                    conflicts += 1
                    if conflicts == _CONFLICTS:
                        raise WorkspaceError(
                            f"thread {talk.cursor.thread!r}: another process keeps extracting from "
                            "it; what is left is tried again after the next call"
                        )
                    continue
                done.path = path
            yield io(talk.cursor.advance, talk.journal, portion.stop, talk.moment, marker)
            done.messages += count
            if portion.stop >= talk.end:
                return done

    def _asked(
        self, portion: _Portion, known: str, talk: Conversation, run: Run, done: Extracted
    ) -> Steps[tuple[str, bool]]:
        """Return the facts in a portion, and whether the model could say all of them."""
        own = talk.clamped and self.window is None
        model = clamped(self.model, talk.reserve if own else None)
        found, whole = [], True
        for chunk in portion.chunks:
            prompt = (
                f"{_now(talk.moment)}\n\n"
                f"Already known:\n{material('known', known)}\n\n"
                f"New in the conversation:\n{material('conversation', chunk)}"
            )
            answer: AIMessage = yield from auxiliary_answer(
                model, run, name="flush", system=self.system, prompt=prompt
            )
            done.asked = True
            done.used.add(answer)
            text, reason = text_of(answer.content), stop_reason_of(answer)
            if reason == "failed":
                raise LongthreadError("the model's answer ended in an error")
            if reason == "refused":
                log.warning("the model refuses to extract facts from a part of the conversation")
                continue
            if reason == "cut":
                whole = False
                text = text.rpartition("\n")[0]  # the last line may be half a fact
            if not says_nothing(text):
                found.append(unwrapped(text))
        return "\n".join(found), whole

    def _known(self, talk: Conversation, room: int) -> tuple[str, str]:
        """Return what memory says already, nothing of which is to be said again: all, and what
        of it the model is shown."""
        ledger = talk.files.read_text(ledger_path(talk.moment)) or ""
        texts = [talk.files.read_text(path) or "" for path in ("global/MEMORY.md", "MEMORY.md")]
        known = "\n\n".join(text for text in [*texts, without_markers(ledger)] if text.strip())
        known = redacted(self.policy.redact, known)
        # Sixteen characters a token is more than any text has: the rest need not be counted.
        return known, newest_tokens(known[-room * 16 :], room)

    def _portion(self, talk: Conversation, start: int, most: int, room: int) -> _Portion:
        """Take as many messages as fit into a request, at least one."""
        texts: list[str] = []
        used, stop = 0, start
        end = min(talk.end, start + most)
        guests = guest_positions(talk.journal, start, end)
        for at in range(start, end):
            text = "" if at in guests else self._text(talk.journal[at], talk.evictions)
            tokens = count_text(text) + 2 if text else 0
            if texts and used + tokens > room:
                break
            stop += 1
            if text:
                texts.append(text)
                used += tokens
        return _Portion(stop, chunked(texts, room))

    def _text(self, message: AnyMessage, evictions: Mapping[str, Eviction]) -> str:
        """Render a message for the extraction; "" for one that says nothing of its own."""
        if message.type == "system":
            return ""
        if isinstance(message, ToolMessage) and message.name in self.policy.recalling_tools:
            return f"[tool {message.name}]\n[what memory says already]"
        clean = without_secrets(message, self.policy.redact)
        shown = as_shown(
            clean, masked=False, eviction=eviction_of(message, evictions), policy=self.policy
        )
        text = transcript(shown, result_chars=_RESULT_CHARS, redact=self.policy.redact)
        return without_reference(text)


def _anything_said(journal: Journal, start: int, end: int) -> bool:
    guests = guest_positions(journal, start, end)
    return any(
        journal[at].type in ("human", "ai") and text_of(journal[at].content).strip()
        for at in range(start, end)
        if at not in guests
    )


def _now(moment: datetime) -> str:
    return f"Now: {_WEEKDAYS[moment.weekday()]}, {moment:%Y-%m-%d %H:%M} (UTC{moment:%z})"
