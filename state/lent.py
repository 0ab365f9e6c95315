"""The state as an application's own code is shown it: only such code sees what it changes in place.

A tool, a prompt or a piece of reference material that writes into a message (`state["messages"][-1]
.content = …`) would change what is said in the thread, past the reducer: in the running call only,
or for good, where the saver has yet to write it down. So it gets messages of its own. Each is
copied once, which is what a step may cost: the next reader of a longer journal gets the same
copies, with what the one before has changed in them, and those of what is new.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AnyMessage

from .journal import Journal, as_journal

__all__ = ["lent"]

_NESTED = (
    "content",
    "tool_calls",
    "invalid_tool_calls",
    "additional_kwargs",
    "response_metadata",
    "usage_metadata",
)


def lent(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state with a list and messages of its own; a tool's artifacts stay as they are.

    Args:
        state: The state of a graph; without `messages` it is copied as it is.
    """
    if not state.get("messages"):
        return {**state}
    return {**state, "messages": _copies(as_journal(state["messages"]))}


def _copies(journal: Journal) -> list[AnyMessage]:
    last, known = journal.lent
    if not known or len(known) > len(journal) or journal[len(known) - 1] is not last:
        known = []  # the first time, or after an edit or on another branch
    copies = [*known, *map(_copied, journal[len(known) :])]
    # Replaced as one, never added to: the calls of a step run at the same time.
    journal.lent = (journal[-1], copies)
    return copies.copy()


def _copied(message: AnyMessage) -> AnyMessage:
    own = copy.copy(message)
    for field in _NESTED:
        value = getattr(own, field, None)
        if isinstance(value, (list, dict)):
            setattr(own, field, copy.deepcopy(value) if value else type(value)())
    return own
