"""A parent that goes on, goes back, edits: the agent's journal is that of the branch."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from agents import Scripted, contents, say, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState
from parents import chain, inner, inside

from longthread import agent_node

steps = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "back", "again", "edit"]),
        st.integers(0, 20),
    ),
    min_size=3,
    max_size=8,
)


def _parent(tmp_path: Path) -> Any:
    node = agent_node(inner(Scripted(_answer), tmp_path))
    return chain(None, MessagesState, before=lambda state: {}, helper=node)


def _answer(messages: list[Any]) -> AIMessage:
    return AIMessage(f"{len(messages)} messages")


@settings(max_examples=12, deadline=None)
@given(steps)
def test_the_agent_knows_the_past_of_its_branch_and_nothing_else(
    script: list[tuple[str, int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        parent = _parent(Path(folder))
        at: Any = thread()  # where the next call goes on
        places: list[tuple[Any, list[str]]] = []  # every rest, with the agent's journal in it
        journal: list[str] = []
        edits: dict[str, str] = {}  # which the agent has not been told of yet
        for count, (what, number) in enumerate(script):
            if what == "back" and places:
                edits.clear()
                at, journal = places[number % len(places)]
            elif what == "again" and places:
                before = [s for s in parent.get_state_history(thread()) if s.next == ("helper",)]
                chosen = before[number % len(before)]
                said = contents(chosen.values["messages"])[-1]
                edits.clear()
                known = next(kept for _, kept in places if said in kept)
                cut = known.index(said) + 1
                result = parent.invoke(None, chosen.config)
                journal = [*known[:cut], f"{cut} messages"]
                assert contents(result["messages"])[-1] == journal[-1]
                at = thread()
                places.append((parent.get_state(thread()).config, journal))
            elif what == "edit" and at == thread() and places:
                messages = parent.get_state(thread()).values["messages"]
                chosen = messages[number % len(messages)] if messages else None
                if chosen is None:
                    continue
                edits[str(chosen.id)] = f"edited {count}"
                change = chosen.model_copy(update={"content": f"edited {count}"})
                parent.update_state(thread(), {"messages": [change]}, as_node="helper")
            else:
                text = f"said {count}"
                if at == thread():
                    known = parent.get_state(inside("helper")).values.get("messages", [])
                    journal = [edits.pop(m.id, m.content) for m in known]
                edits.clear()
                parent.invoke(say(text), at)
                journal = [*journal, text, f"{len(journal) + 1} messages"]
                at = thread()
                places.append((parent.get_state(thread()).config, journal))
                now = contents(parent.get_state(inside("helper")).values["messages"])
                assert now == journal
