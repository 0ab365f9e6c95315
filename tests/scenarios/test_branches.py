"""Forks, time travel, updates, edits: every branch is right, on SQLite and on PostgreSQL.

Each test closes the checkpointer and reads what it claims with a new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig

from longthread import (
    CompactionConfig,
    compact_thread,
    context_policy,
    open_checkpointer,
    project_context,
)
from longthread.graphs.compiled import AgentGraph
from longthread.state.validity import violations

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)


def answer_to(text: str) -> str:
    """Long enough for a summary to be shorter."""
    return f"re: {text}" + " well" * 40


class Branches:
    """An agent over a database that can be opened again."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.summaries = 0

    @contextmanager
    def opened(self, **options: Any) -> Iterator[AgentGraph]:
        def summary(_: list[BaseMessage]) -> AIMessage:
            self.summaries += 1
            return AIMessage(f"Summary {self.summaries}.")

        script = Scripted(lambda m: AIMessage(answer_to(str(m[-1].content))), summary=summary)
        options = {"memory": None, "compaction": SOON, **options}
        with open_checkpointer(self.url) as saver:
            yield agent(script, self.folder, checkpointer=saver, **options)

    def values(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """A state as it is stored, checked."""
        with self.opened() as graph:
            values: dict[str, Any] = graph.get_state(config or thread()).values
            shown = project_context(values, context_policy(graph))
            assert violations(shown, values["messages"]) == []
            return {**values, "shown": "\n".join(str(m.content) for m in shown)}


@pytest.fixture(params=["sqlite", "postgres"])
def branches(request: pytest.FixtureRequest, tmp_path: Path) -> Branches:
    if request.param == "sqlite":
        return Branches(f"sqlite:///{tmp_path}/threads.db", tmp_path)
    return Branches(request.getfixturevalue("postgres_url"), tmp_path)


def talk(graph: AgentGraph, *texts: str, config: RunnableConfig | None = None) -> RunnableConfig:
    """Say something in the thread, or from a checkpoint on; returns where that has led."""
    for text in texts:
        graph.invoke(say(text), config or thread())
        config = None
    return graph.get_state(thread()).config


def heard(*texts: str) -> list[str]:
    return [said for text in texts for said in (text, answer_to(text))]


def test_a_fork_from_before_a_compaction_knows_nothing_of_it(branches: Branches) -> None:
    with branches.opened() as graph:
        early = talk(graph, "a", "b")
        late = talk(graph, "c", "d", "e", "f")
        fork = talk(graph, "instead", config=early)
    assert branches.summaries == 1
    original, forked = branches.values(late), branches.values(fork)
    assert contents(original["messages"]) == heard("a", "b", "c", "d", "e", "f")
    assert "Summary 1." in original["shown"]
    assert contents(forked["messages"]) == heard("a", "b", "instead")
    assert not forked.get("compaction")
    assert "Summary" not in forked["shown"]
    assert contents(branches.values(early)["messages"]) == heard("a", "b")
    assert branches.values()["messages"] == forked["messages"]


def test_two_branches_that_both_compact_have_each_their_own_summary(branches: Branches) -> None:
    with branches.opened() as graph:
        parted = talk(graph, "a", "b")
        left = talk(graph, "left 1", "left 2", "left 3", "left 4")
        right = talk(graph, "right 1", config=parted)
        right = talk(graph, "right 2", "right 3", "right 4")
    assert branches.summaries == 2
    for place, side, number in ((left, "left", 1), (right, "right", 2)):
        values = branches.values(place)
        said = heard("a", "b", *(f"{side} {n}" for n in range(1, 5)))
        assert contents(values["messages"]) == said
        assert values["compaction"]["summary"] == f"Summary {number}."
        assert values["compaction"]["generation"] == 1
        assert values["compaction"]["through"] in {m.id for m in values["messages"]}
    with branches.opened() as graph:  # and on demand, each at its own end
        compact_thread(graph, left)
        newest = graph.get_state(thread()).config
        compact_thread(graph, right)
        ends = [newest, graph.get_state(thread()).config]
    summaries = [branches.values(end)["compaction"] for end in ends]
    assert [s["summary"] for s in summaries] == [
        "Summary 1.\n\nSummary 3.",
        "Summary 2.\n\nSummary 4.",
    ]
    assert [s["generation"] for s in summaries] == [2, 2]
    assert branches.values(left)["compaction"]["summary"] == "Summary 1."
    assert contents(branches.values(ends[0])["messages"])[4] == "left 1"
    assert contents(branches.values(ends[1])["messages"])[4] == "right 1"


def test_time_travel_goes_on_from_where_it_was_and_leaves_the_rest(branches: Branches) -> None:
    with branches.opened() as graph:
        end = talk(graph, "a", "b", "c", "d", "e", "f")
        moments = [
            s
            for s in graph.get_state_history(thread())
            if s.next == ("reasoning",) and len(s.values["messages"]) in (5, 9)
        ]
        assert len(moments) >= 2
        for moment in moments:
            graph.invoke(None, moment.config)
            values = branches.values(graph.get_state(thread()).config)
            before = contents(moment.values["messages"])
            assert contents(values["messages"]) == [*before, answer_to(before[-1])]
    assert contents(branches.values(end)["messages"]) == heard("a", "b", "c", "d", "e", "f")
    assert branches.values(end)["compaction"]["summary"] == "Summary 1."


def test_the_whole_history_reads_back_moment_by_moment(branches: Branches) -> None:
    with branches.opened() as graph:
        talk(graph, "a", "b", "c", "d", "e", "f")
        passed = [
            (s.config, contents(s.values.get("messages", [])), s.values.get("compaction"))
            for s in graph.get_state_history(thread())
        ]
    with branches.opened() as graph:
        for config, messages, compaction in passed:
            values = graph.get_state(config).values
            assert contents(values.get("messages", [])) == messages
            assert values.get("compaction") == compaction
    whole = heard("a", "b", "c", "d", "e", "f")
    assert all(whole[: len(messages)] == messages for _, messages, _ in passed)


@pytest.mark.parametrize("where", ["below", "at", "above"])
@pytest.mark.parametrize("how", ["edit", "remove"])
def test_edits_and_removals_on_each_side_of_a_cut(branches: Branches, how: str, where: str) -> None:
    with branches.opened() as graph:
        end = talk(graph, "a", "b", "c", "d", "e")
        values = graph.get_state(end).values
        cut = [m.id for m in values["messages"]].index(values["compaction"]["through"])
        # A human message on each side; at the cut whatever stands there.
        at = {"below": 0, "at": cut, "above": len(values["messages"]) - 2}[where]
        old = values["messages"][at]
        kind = AIMessage if isinstance(old, AIMessage) else HumanMessage
        new = RemoveMessage(old.id) if how == "remove" else kind("edited", id=old.id)
        changed = graph.update_state(end, {"messages": [new]}, as_node="flush")
        graph.invoke(say("go on"), thread())
    before, after = branches.values(end), branches.values(changed)
    assert contents(before["messages"]) == heard("a", "b", "c", "d", "e")
    expected = heard("a", "b", "c", "d", "e")
    expected[at : at + 1] = [] if how == "remove" else ["edited"]
    assert contents(after["messages"]) == expected
    now = branches.values()
    assert contents(now["messages"]) == [*expected, *heard("go on")]
    if where != "at" or how == "edit":
        assert "Summary" in now["shown"]


def test_an_update_takes_its_place_in_one_branch_only(branches: Branches) -> None:
    with branches.opened() as graph:
        early = talk(graph, "a")
        late = talk(graph, "b")
        noted = graph.update_state(early, {"messages": [("user", "a note")]}, as_node="flush")
        answered = talk(graph, "c")
    assert contents(branches.values(late)["messages"]) == heard("a", "b")
    assert contents(branches.values(noted)["messages"]) == [*heard("a"), "a note"]
    assert contents(branches.values(answered)["messages"]) == [*heard("a"), "a note", *heard("c")]
