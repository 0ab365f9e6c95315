"""Threads of a plain `add_messages` graph and LangGraph's own savers: they go on and are sealed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, contents, say, thread
from langchain_core.messages import AIMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from longthread import CompactionConfig, ThreadJournal, open_checkpointer

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)
TURNS = 8


def plain_graph(saver: Any) -> Any:
    """A graph as anybody makes one."""
    plain = StateGraph(MessagesState)
    plain.add_node("model", lambda s: {"messages": [AIMessage(f"re: {s['messages'][-1].content}")]})
    plain.add_edge(START, "model")
    return plain.compile(checkpointer=saver)


@pytest.mark.parametrize("compress", [True, False])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_old_thread_goes_on_is_sealed_and_can_be_gone_back_into(
    kind: str, compress: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, theirs = f"sqlite:///{tmp_path}/threads.db", SqliteSaver.from_conn_string
    opened: AbstractContextManager[Any] = theirs(f"{tmp_path}/threads.db")
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
        opened = PostgresSaver.from_conn_string(url)
    with opened as saver:
        saver.setup()
        for turn in range(TURNS):
            plain_graph(saver).invoke(say(f"old {turn}"), thread())
        early = next(
            s.config
            for s in plain_graph(saver).get_state_history(thread())
            if len(s.values.get("messages", [])) == 4 and not s.next
        )
    old = [text for n in range(TURNS) for text in (f"old {n}", f"re: old {n}")]

    def journal(saver: Any) -> list[str]:
        read = ThreadJournal(saver, tmp_path / "workspace")
        return contents(read.history("t", last_n=1_000))

    new: list[str] = []
    for turn in range(TURNS):
        with open_checkpointer(url, compress=compress) as saver:
            script = Scripted(lambda m: AIMessage(f"re: {m[-1].content}" + " well" * 40))
            graph = agent(
                script,
                tmp_path,
                checkpointer=saver,
                memory=None,
                compaction=SOON,
                journal_window=10,
            )
            graph.invoke(say(f"new {turn}"), thread())
            new += [f"new {turn}", f"re: new {turn}" + " well" * 40]
            assert journal(saver) == [*old, *new]
    with open_checkpointer(url, compress=compress) as saver:
        graph = agent(Scripted("instead"), tmp_path, checkpointer=saver, memory=None)
        assert graph.get_state(thread()).values["sealed"]["count"] > len(old)
        [hit] = ThreadJournal(saver, tmp_path / "workspace").search("re: old 3")
        assert (hit.position, hit.text) == (7, "re: old 3")
        # Back into the time before any agent of ours, and on from there.
        assert contents(graph.get_state(early).values["messages"]) == old[:4]
        graph.invoke(say("and"), early)
        assert journal(saver) == [*old[:4], "and", "instead"]
