"""An agent inside a parent whose journal is compacted and sealed every few messages."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, contents, say, thread
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.graph import MessagesState
from parents import chain, inner, inside

from longthread import CompactionConfig, ThreadJournal, agent_node, open_checkpointer

SOON = CompactionConfig(trigger_messages=6, keep_messages=2, keep_tokens=0, min_progress=0.05)


@pytest.mark.parametrize(("kind", "seed"), [("sqlite", 0), ("sqlite", 1), ("postgres", 2)])
def test_what_its_parent_hands_in_again_is_recognised_in_every_branch(
    kind: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    chance = random.Random(seed)
    expected: list[str] = []
    rests: list[tuple[Any, list[str]]] = []
    sealed = 0
    at: Any = thread()
    for turn in range(24):
        with open_checkpointer(url) as saver:
            script = Scripted(lambda m: AIMessage(f"re: {m[-1].content}" + " well" * 40))
            node = agent_node(inner(script, tmp_path, compaction=SOON, journal_window=8))
            parent = chain(saver, MessagesState, before=lambda state: {}, helper=node)
            if rests and chance.random() < 0.25:
                at, expected = chance.choice(rests)
            elif rests and chance.random() < 0.2:  # the parent trims its list: nothing is forgotten
                first = parent.get_state(at).values["messages"][0]
                removed: Any = {"messages": [RemoveMessage(first.id)]}
                parent.update_state(at, removed, as_node="helper")
                at = thread()
            parent.invoke(say(f"said {turn}"), at)
            at = thread()
            expected = [*expected, f"said {turn}", f"re: said {turn}" + " well" * 40]
            rests.append((parent.get_state(thread()).config, expected))
            state = parent.get_state(inside("helper")).values
            sealed = max(sealed, (state.get("sealed") or {}).get("count", 0))
            journal = ThreadJournal(saver, tmp_path / "workspace")
            assert contents(journal.history("t", 1_000, checkpoint_ns="helper")) == expected
            hits = journal.search(f"re: said {turn} ", checkpoint_ns="helper")
            assert [hit.position for hit in hits] == [len(expected) - 1]
    assert sealed > 8
