"""What a parent graph hands to an agent inside it: of all its messages, those that are new.

Only the agent's journal can say which those are, and only once LangGraph has loaded it: after time
travel it is another one than the newest. So the parent's messages travel beside the input, where
nothing stores them, and `recall` takes in what the journal lacks.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig

from ..state.body import call_ids
from ..state.counting import is_media, text_of
from ..state.journal import Journal
from ..state.text import encodable

__all__ = ["HANDED_IN", "HandedIn", "graph_path", "handed_in", "new_messages"]

HANDED_IN = "__longthread_handed_in"
"""Where the configuration of a run carries what its parent hands in."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """The messages of a parent graph, at the moment it calls the agent.

    Attributes:
        messages: All of them, in order.
        speaker: The name under which the agent's own answers stand among them.
        path: Which graph is called: the names of the nodes on the way to it.
    """

    messages: Sequence[AnyMessage]
    speaker: str
    path: tuple[str, ...]


def handed_in(config: RunnableConfig) -> HandedIn | None:
    """Return what is handed in to the graph that a node belongs to.

    A graph that a tool of the agent calls inherits its configuration, and is not meant.

    Args:
        config: The node's configuration.
    """
    values = config.get("configurable") or {}
    given = values.get(HANDED_IN)
    if not isinstance(given, HandedIn):
        return None
    return given if graph_path(values.get("checkpoint_ns"))[:-1] == given.path else None


def graph_path(namespace: str | None) -> tuple[str, ...]:
    """Return the names of the nodes in a checkpoint namespace, without tasks and counters."""
    parts = (namespace or "").split("|")
    return tuple(part.partition(":")[0] for part in parts if part and not part.isdigit())


def new_messages(given: HandedIn, journal: Journal) -> list[AnyMessage | RemoveMessage]:
    """Return what the journal does not have yet, in the form that it takes there.

    A message that the parent has edited is among them: by its id it replaces the earlier one. What
    another agent has said is told as something said to this one; a result whose call this agent
    does not know is left out, since no provider takes one. What the parent has removed stays.

    Args:
        given: The parent's messages.
        journal: The agent's journal.
    """
    found: list[AnyMessage | RemoveMessage] = []
    calls: set[str] | None = None
    for message in given.messages:
        known = journal.position(message.id)
        if isinstance(message, RemoveMessage):
            found += [message] if known is not None else []
            continue
        taken = _told(message, given.speaker)
        if taken is None:
            continue
        if known is not None:
            edited = _edited(journal[known], taken)
            found += [edited] if edited is not None else []
            continue
        if isinstance(taken, ToolMessage):
            if calls is None:
                calls = {call for each in (*journal, *found) for call in call_ids(each)}
            if taken.tool_call_id not in calls:
                continue
        if calls is not None:
            calls.update(call_ids(taken))
        found.append(taken if taken.id else taken.model_copy(update={"id": str(uuid.uuid4())}))
    return found


def _told(message: AnyMessage, speaker: str) -> AnyMessage | None:
    """Return a message as this agent is told it; None if there is nothing to tell."""
    if not isinstance(message, AIMessage) or not message.name:
        return message
    if message.name == speaker:
        return message.model_copy(update={"name": None})
    text = f"[{message.name}]\n{text_of(message.content).strip()}"
    content: Any = text
    if not isinstance(message.content, str):
        attachments = [block for block in message.content if is_media(block)]
        content = [{"type": "text", "text": text}, *attachments] if attachments else text
    if content == f"[{message.name}]\n":
        return None
    return HumanMessage(content, id=message.id, name=message.name)


def _edited(known: AnyMessage, now: AnyMessage) -> AnyMessage | None:
    """Return the replacement for a message that no longer says what the journal has."""
    if isinstance(known, ToolMessage) and isinstance(now, AIMessage):
        # A result that was the answer: the parent has it as an answer.
        if text_of(now.content) == text_of(known.content):
            return None
        return known.model_copy(update={"content": now.content})
    same = known.type == now.type and known.content == encodable(now.content)
    if same and isinstance(known, AIMessage) and isinstance(now, AIMessage):
        same = [(c["id"], c["name"], c["args"]) for c in known.tool_calls] == [
            (c["id"], c["name"], c["args"]) for c in encodable(now.tool_calls)
        ]
    return None if same else now
