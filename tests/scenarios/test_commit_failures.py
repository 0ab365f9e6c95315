"""A commit that fails stops the run with its error; nothing executes after, and it can go on later.

The saver fails at every one of its writes in turn, the disk is full, the server is gone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from longthread import context_policy, open_checkpointer, project_context
from longthread.graphs.compiled import AgentGraph
from longthread.state.body import INTERRUPTED
from longthread.state.validity import violations


class Full(Exception):
    """The saver cannot write."""


class FailingSaver(InMemorySaver):
    """Fails at one write and all that follow, until it is mended."""

    def __init__(self, log: list[str]) -> None:
        super().__init__()
        self.log = log
        self.left: int | None = None

    def _written(self) -> None:
        if self.left is not None:
            if self.left <= 0:
                self.log.append("FAILED")
                raise Full
            self.left -= 1

    def put(self, *args: Any, **options: Any) -> RunnableConfig:
        self._written()
        return super().put(*args, **options)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        self._written()
        super().put_writes(config, writes, task_id, task_path)


def working(log: list[str], folder: Path, saver: Any) -> AgentGraph:
    """An agent that works in three steps, two tools at once in the second."""

    def work(at: str) -> str:
        """Work."""
        log.append(f"tool {at}")
        return f"did {at}"

    steps = [calls("a", name="work"), calls("b", "c", name="work"), calls("d", name="work")]

    def answer(messages: list[BaseMessage]) -> AIMessage:
        log.append("model")
        done = sum(1 for message in messages if message.type == "ai")
        return steps[done] if done < len(steps) else AIMessage("done")

    return agent(Scripted(answer), folder, [work], checkpointer=saver)


def check_resumed(log: list[str], graph: AgentGraph) -> None:
    """Whatever has failed, the thread goes on to its end and no call has run twice."""
    if graph.get_state(thread()).created_at is None:
        graph.invoke(say("go"), thread())  # not even the question was stored
    elif graph.get_state(thread()).tasks:
        graph.invoke(None, thread())
    values = graph.get_state(thread()).values
    if values["messages"][-1].type == "human":
        graph.invoke(say("go"), thread())
        values = graph.get_state(thread()).values
    assert contents(values["messages"])[-1] == "done"
    ran = [entry for entry in log if entry.startswith("tool")]
    assert len(ran) == len(set(ran))
    results = [m for m in values["messages"] if m.type == "tool"]
    assert {m.tool_call_id for m in results} == {"a", "b", "c", "d"}
    told = {m.tool_call_id for m in results if m.content == INTERRUPTED}
    assert told | {entry.split()[1] for entry in ran} == {"a", "b", "c", "d"}
    assert violations(project_context(values, context_policy(graph)), values["messages"]) == []


def test_whichever_write_fails_nothing_executes_after_it(tmp_path: Path) -> None:
    failures = 0
    while True:
        log: list[str] = []
        saver = FailingSaver(log)
        graph = working(log, tmp_path / str(failures), saver)
        saver.left = failures
        try:
            graph.invoke(say("go"), thread())
        except Full:
            pass
        else:
            break
        after = log[log.index("FAILED") :]
        # What ran side by side with the write may end; nothing is begun once it is known.
        assert "model" not in after
        assert len([e for e in after if e.startswith("tool")]) <= 1
        saver.left = None
        check_resumed(log, graph)
        failures += 1
    assert failures > 15


async def test_an_asynchronous_run_stops_as_well(tmp_path: Path) -> None:
    for failures in range(0, 18, 3):
        log: list[str] = []
        saver = FailingSaver(log)
        graph = working(log, tmp_path / str(failures), saver)
        saver.left = failures
        with pytest.raises(Full):
            await graph.ainvoke(say("go"), thread())
        assert "model" not in log[log.index("FAILED") :]
        saver.left = None
        check_resumed(log, graph)


@pytest.mark.parametrize("compress", [True, False])
def test_a_full_disk_stops_the_run_and_with_room_again_it_goes_on(
    compress: bool, tmp_path: Path
) -> None:
    stopped = []
    for pages in range(9):
        log: list[str] = []
        folder = tmp_path / str(pages)
        with open_checkpointer(f"sqlite:///{folder}/threads.db", compress=compress) as saver:
            connection: sqlite3.Connection = saver.conn  # type: ignore[attr-defined]
            graph = working(log, folder, saver)
            used = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {used + pages}")
            try:
                graph.invoke(say("go on " * 100), thread())
            except sqlite3.OperationalError as error:
                stopped.append(str(error))
            connection.execute("PRAGMA max_page_count = 1000000")
            check_resumed(log, graph)
    assert set(stopped) == {"database or disk is full"}
    assert len(stopped) > 2


def test_a_connection_that_was_dropped_between_two_steps_is_replaced(
    postgres_url: str, tmp_path: Path
) -> None:
    import psycopg

    def drop(at: str) -> str:
        """Drop every connection but this one."""
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() "
                "AND state = 'idle'"
            )
        return "dropped"

    with open_checkpointer(postgres_url) as saver:
        script = Scripted(calls("a", name="drop"), "done")
        graph = agent(script, tmp_path, [drop], checkpointer=saver)
        result = graph.invoke(say("go"), thread())
        assert contents(result["messages"]) == ["go", "", "dropped", "done"]
        stored = graph.get_state(thread()).values["messages"]
        assert contents(stored) == contents(result["messages"])


def test_a_server_that_drops_its_only_connection_stops_the_run(
    postgres_url: str, tmp_path: Path
) -> None:
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    with open_checkpointer(postgres_url):
        pass  # the tables are there
    log: list[str] = []

    def drop(at: str) -> str:
        """Drop every connection but this one."""
        log.append(f"tool {at}")
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        return "dropped"

    def answer(messages: list[BaseMessage]) -> AIMessage:
        log.append("model")
        return AIMessage("done") if messages[-1].type == "tool" else calls("a", name="drop")

    with PostgresSaver.from_conn_string(postgres_url) as plain:
        graph = agent(Scripted(answer), tmp_path, [drop], checkpointer=plain)
        with pytest.raises(psycopg.OperationalError):
            graph.invoke(say("go"), thread())
    assert log == ["model", "tool a"]
    with open_checkpointer(postgres_url) as saver:
        graph = agent(Scripted(answer), tmp_path, [drop], checkpointer=saver)
        result = graph.invoke(None, thread())
        assert contents(result["messages"]) == ["go", "", INTERRUPTED, "done"]
    assert log == ["model", "tool a", "model"]
