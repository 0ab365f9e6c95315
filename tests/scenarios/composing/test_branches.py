"""A parent that goes on, goes back, edits, removes: the agent's journal is that of the branch."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, contents, say, thread
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import MessagesState
from parents import chain, inner, inside

from longthread import agent_node

steps = st.lists(
    st.tuples(
        st.sampled_from(["say", "say", "back", "again", "edit", "remove"]),
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
            elif what in ("edit", "remove") and at == thread() and places:
                messages = parent.get_state(thread()).values["messages"]
                chosen = messages[number % len(messages)] if messages else None
                if chosen is None:
                    continue
                change: Any = RemoveMessage(str(chosen.id))
                edits.pop(str(chosen.id), None)
                if what == "edit":
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


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("slow", [False, True])
def test_a_branch_is_found_however_the_parent_stores_its_steps(
    durability: Any, slow: bool, tmp_path: Path
) -> None:
    class Slow(InMemorySaver):
        """Takes its time to store a step of the parent."""

        def put(self, config: Any, *args: Any) -> Any:
            if slow and not config["configurable"].get("checkpoint_ns"):
                time.sleep(0.02)
            return super().put(config, *args)

    node = agent_node(inner(Scripted(_answer), tmp_path))
    parent = chain(Slow(), MessagesState, before=lambda state: {}, helper=node)
    parent.invoke(say("said 0"), thread(), durability=durability)
    first = parent.get_state(thread()).values["messages"][0]
    change: Any = RemoveMessage(str(first.id))
    parent.update_state(thread(), {"messages": [change]}, as_node="helper")
    parent.invoke(say("said 1"), thread(), durability=durability)
    rest = parent.get_state(thread()).config
    parent.invoke(say("elsewhere"), thread(), durability=durability)
    parent.invoke(say("said 2"), rest, durability=durability)
    now = contents(parent.get_state(inside("helper")).values["messages"])
    if durability == "exit":  # the branch is not known: the agent begins with what is handed in
        assert now == ["1 messages", "said 1", "3 messages", "said 2", "4 messages"]
    else:
        assert now == ["said 0", "1 messages", "said 1", "3 messages", "said 2", "5 messages"]
