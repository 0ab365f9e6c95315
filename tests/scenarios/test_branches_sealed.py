"""Branches of threads that are compacted and sealed every few messages, edited and cut anywhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

from longthread import (
    CompactionConfig,
    ThreadJournal,
    compact_thread,
    context_policy,
    open_checkpointer,
    project_context,
)
from longthread.state.validity import violations

SOON = CompactionConfig(trigger_messages=6, keep_messages=2, keep_tokens=0, min_progress=0.05)
WINDOW = 8

steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["say", "say", "say", "say", "back", "edit", "remove", "again", "compact", "reopen"]
        ),
        st.integers(0, 1_000),
    ),
    min_size=8,
    max_size=24,
)


class Branches:
    """A thread, and what every branch of it should hold: texts by id, in order.

    Args:
        url: The checkpointer.
        folder: The workspace's.
    """

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.expected: dict[str, str] = {}
        self.rests: list[tuple[Any, dict[str, str]]] = []
        self.at: Any = thread()
        self.sealed = 0

    def run(self, script: list[tuple[str, int]]) -> None:
        """Do a script, and read the thread back after each step."""
        waiting = list(script)
        while waiting:
            with open_checkpointer(self.url) as saver:
                self.saver = saver
                model = Scripted(
                    lambda m: AIMessage(f"re: {m[-1].content}" + " well" * 40), summary="All."
                )
                self.graph = agent(
                    model,
                    self.folder,
                    checkpointer=saver,
                    memory=None,
                    compaction=SOON,
                    journal_window=WINDOW,
                )
                while waiting:
                    what, number = waiting.pop(0)
                    if what == "reopen":
                        break
                    getattr(self, what)(number)

    def say(self, number: int) -> None:
        """Go on from wherever the script is."""
        question = HumanMessage(f"question {number}", id=f"q{len(self.rests)}-{number}")
        result = self.graph.invoke({"messages": [question]}, self.at)
        answer = result["messages"][-1]
        self.expected = {
            **self.expected,
            str(question.id): str(question.content),
            answer.id: answer.content,
        }
        assert answer.content == f"re: {question.content}" + " well" * 40
        self.rest()

    def back(self, number: int) -> None:
        """Go back to any rest; the next thing said begins a branch there."""
        if self.rests:
            self.at, self.expected = self.rests[number % len(self.rests)]

    def edit(self, number: int) -> None:
        """Replace a live message in place."""
        live = self.live()
        if live:
            chosen = live[number % len(live)]
            changed = chosen.model_copy(update={"content": f"edited {number}"})
            self.update([changed])
            self.expected = {**self.expected, chosen.id: changed.content}
            self.rest()

    def remove(self, number: int) -> None:
        """Take a live message away, with its call's results if it has any."""
        live = self.live()
        if live:
            chosen = live[number % len(live)]
            self.update([RemoveMessage(chosen.id)])
            self.expected = {k: v for k, v in self.expected.items() if k != chosen.id}
            self.rest()

    def again(self, number: int) -> None:
        """Send a message that is sealed or live once more, with a new question."""
        if self.expected and self.at == thread():
            known = list(self.expected)[number % len(self.expected)]
            if known in {m.id for m in self.live()} or not known.startswith("q"):
                return
            question = HumanMessage(f"after {number}", id=f"a{len(self.rests)}-{number}")
            old = HumanMessage("sent again", id=known)
            result = self.graph.invoke({"messages": [old, question]}, self.at)
            answer = result["messages"][-1]
            self.expected = {
                **self.expected,
                str(question.id): str(question.content),
                answer.id: answer.content,
            }
            self.rest()

    def compact(self, number: int) -> None:
        """Compact on demand."""
        if self.at == thread() and len(self.expected) > 4:
            compact_thread(self.graph, thread())

    def update(self, messages: list[Any]) -> None:
        self.graph.update_state(self.at, {"messages": messages}, as_node="consolidation")

    def live(self) -> list[Any]:
        values = self.graph.get_state(self.at).values
        kept = set((values.get("sealed") or {}).get("kept", ()))
        return [m for m in values.get("messages", []) if m.id not in kept]

    def rest(self) -> None:
        """Read the thread back in every way, and note where it is."""
        self.at = thread()
        state = self.graph.get_state(thread())
        shown = project_context(state.values, context_policy(self.graph))
        assert violations(shown, state.values["messages"]) == []
        self.sealed = max(self.sealed, (state.values.get("sealed") or {}).get("count", 0))
        journal = ThreadJournal(self.saver, self.folder / "workspace")
        said = journal.history("t", last_n=10_000)
        assert {m.id: m.content for m in said} == self.expected
        assert [m.id for m in said] == list(self.expected)
        if self.expected:
            assert [i.messages for i in journal.threads()] == [len(self.expected)]
            newest = list(self.expected.values())[-1]
            [hit] = journal.search(newest, "phrase", 1)
            assert hit.text == newest
        self.rests.append((state.config, self.expected))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps)
def test_every_branch_holds_what_was_said_in_it(script: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Branches(f"sqlite:///{folder}/threads.db", Path(folder)).run(script)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_forks_from_before_and_after_a_seal_on_either_database(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    branches = Branches(url, tmp_path)
    grow = [("say", n) for n in range(12)]
    branches.run(
        [
            *grow,
            ("reopen", 0),
            ("back", 1),  # before anything was sealed
            *grow,
            ("again", 2),
            ("back", 8),  # between two seals
            ("edit", 3),
            ("remove", 1),
            *grow,
            ("compact", 0),
            ("reopen", 0),
            ("back", 11),  # after the last seal of the first branch
            *grow[:4],
            ("remove", 0),
            ("again", 0),
            ("edit", 1),
            *grow[:4],
        ]
    )
    assert branches.sealed > 8
    assert len(branches.rests) > 40
