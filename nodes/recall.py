"""`recall`: load memory once per call, and settle what an interrupted call left behind."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, cast

from langchain_core.messages import AnyMessage, RemoveMessage
from langgraph.types import Overwrite

from ..state.decisions import Memory, OverflowState, Sealed, learned
from ..state.errors import WorkspaceError
from ..state.guests import as_guests
from ..state.journal import append_messages, as_journal, has_made_id
from ..state.lent import lent
from ..state.policy import ContextPolicy
from ..state.projection import view_context
from ..state.reference import ReferenceItem, digest, render_items
from ..state.rolling import rolling_record
from ..stores.segments import has_sealed
from ..stores.workspace import Workspace
from .closed import refuse_closed
from .identity import is_guest, now, owner_of, thread_owner
from .intake import handed_in, new_messages
from .memory_items import memory_items
from .node import Node, Run, Steps, Update, ask, io
from .registration import registration

__all__ = ["RecallNode", "Reference"]

log = logging.getLogger("longthread")

Reference = str | PathLike[str] | Callable[[Any, Any], str | Awaitable[str]]
"""Further reference material: text, a file (as a `Path`), or a callable of state and runtime."""


class RecallNode(Node):
    """Loads memory and reference material into `memory`; settles unanswered calls in `messages`.

    Reads `messages`, `memory`, `overflow`; writes those that change, and fixes `rolling` and
    `owner` in the first call of a thread. A file that cannot be read is logged and left out: the
    call goes on. The thread's record in the registry is written too.

    Args:
        policy: The agent's policy.
        workspace: Where MEMORY.md lives.
        agent: The agent's name.
        reference: Further reference material, in order.
    """

    def __init__(
        self,
        policy: ContextPolicy,
        workspace: Workspace,
        *,
        agent: str = "agent",
        reference: Sequence[Reference] = (),
    ) -> None:
        self.policy = policy
        self.workspace = workspace
        self.agent = agent
        self.reference = tuple(reference)

    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Read the sources, compare them with what the state has, settle open calls."""
        refuse_closed(state, run.thread_id)
        yield io(now, run)  # a time zone that is none is refused before any model is asked
        told = yield from self._told(state, run)
        if told:
            state = {**state, "messages": append_messages(state.get("messages"), [told])}
        update: Update = yield from registration(state, run, self.workspace, self.agent)
        known: Memory | None = state.get("memory") or None
        shown = yield from self._shown(state, run, known)
        if shown != known and (known or shown["memory"] or shown["further"] or self._once):
            # Written whole, as a snapshot: reading a thread then never replays earlier texts.
            update["memory"] = Overwrite(shown)
        guests = self._guests(state, run)
        again = yield from self._said_again(state, run)
        if again:
            journal = append_messages(state.get("messages"), again)
            state = {**state, "messages": journal}
        if not state.get("rolling"):
            update["rolling"] = rolling_record(self.policy.rolling)
        settled = _interrupted(state, self.policy)
        if told or guests or again or settled:
            update["messages"] = [*told, *guests, *again, *settled]
        overflow = cast(OverflowState, state.get("overflow") or {})
        if overflow.get("attempts") or overflow.get("pending"):
            # An overflow that ended the last call has nothing to say about this one.
            update["overflow"] = learned(overflow)
        return update

    def _told(self, state: Mapping[str, Any], run: Run) -> Steps[list[AnyMessage | RemoveMessage]]:
        """Return what a parent graph hands in and the journal does not have."""
        given = handed_in(run.config)
        if given is None:
            return []
        new = new_messages(given, as_journal(state.get("messages")))
        known = yield from self._sealed(state, run, [m.id for m in new if m.id])
        return [message for message in new if message.id not in known]

    def _guests(self, state: Mapping[str, Any], run: Run) -> list[AnyMessage]:
        """Return what is new, marked, when somebody else than the thread's owner has said it."""
        if not is_guest(state, run, self.agent):
            return []
        view = view_context(state, self.policy)
        # Behind the last request stand its answer, which is no human message, and what is new.
        new = view.journal[view.covered :]
        return [as_guests(message) for message in new if message.type == "human"]

    def _said_again(self, state: Mapping[str, Any], run: Run) -> Steps[list[RemoveMessage]]:
        """Remove what came in with the id of a sealed message: it is in the journal already."""
        sealed: Sealed | None = state.get("sealed") or None
        if not sealed:
            return []
        view = view_context(state, self.policy)
        journal, kept = view.journal, set(sealed["kept"])
        new = range(view.covered, len(journal))
        ids = [journal[at].id for at in new if not has_made_id(journal, at)]
        asked = [message_id for message_id in ids if message_id and message_id not in kept]
        known = yield from self._sealed(state, run, asked)
        return [RemoveMessage(message_id) for message_id in asked if message_id in known]

    def _sealed(self, state: Mapping[str, Any], run: Run, ids: Sequence[str]) -> Steps[set[str]]:
        """Return those of the ids that a sealed message of this thread has."""
        sealed: Sealed | None = state.get("sealed") or None
        if not sealed or not ids:
            return set()
        files = self.workspace.scoped(thread_owner(state, run, self.agent))
        try:
            known: set[str] = yield io(has_sealed, files, sealed, ids)
        except WorkspaceError as error:
            log.warning("the sealed part of the journal is not available: %s", error)
            return set()
        return known

    @property
    def _once(self) -> bool:
        """Whether memory is read in the first call of a thread only."""
        return self.policy.memory is not None and self.policy.memory.refresh == "session"

    def _shown(self, state: Mapping[str, Any], run: Run, known: Memory | None) -> Steps[Memory]:
        """Read memory, unless this thread keeps what it began with, and the further material."""
        memory, withheld = "", False
        if self.policy.memory is not None and self.policy.shows_memory:
            if is_guest(state, run, self.agent):
                log.warning("thread %s is another user's: no memory is shown", run.thread_id)
                withheld = True
            elif self._once and known is not None and not known.get("withheld"):
                memory = known["memory"]
            else:
                files = self.workspace.scoped(owner_of(run, self.agent))
                # A small window is not to be filled by what was said long ago.
                allowed = min(self.policy.memory.max_reference_tokens, self.policy.window // 4)
                memory = render_items((yield io(memory_items, files, allowed, self.policy)))
        further = render_items((yield from self._further(state, run)))
        shown = Memory(memory=memory, further=further, digest=digest(f"{memory}\0{further}"))
        return {**shown, "withheld": True} if withheld else shown

    def _further(self, state: Mapping[str, Any], run: Run) -> Steps[list[ReferenceItem]]:
        """Read the application's own material, in order."""
        items: list[ReferenceItem] = []
        for number, material in enumerate(self.reference, start=1):
            if isinstance(material, str):
                items.append(ReferenceItem("knowledge", f"reference {number}", material))
            elif isinstance(material, PathLike):
                items.append((yield io(_file_item, material)))
            else:
                name = getattr(material, "__name__", f"reference {number}")
                text = yield ask(material, lent(state), run.runtime)
                # None: there is nothing this time.
                items.append(ReferenceItem("knowledge", name, "" if text is None else str(text)))
        return items


def _file_item(path: PathLike[str]) -> ReferenceItem:
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        log.warning("reference material %s is not available: %s", path, error)
        text = ""
    return ReferenceItem("knowledge", str(path), text)


def _interrupted(state: Mapping[str, Any], policy: ContextPolicy) -> list[AnyMessage]:
    """Return a result for every call that will not get one any more: a new call has begun."""
    return view_context(state, policy).body.interrupted()
