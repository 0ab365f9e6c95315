"""Leases: one call at a time works on a thread, whichever process it is in."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, look, say, thread
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread import (
    LongthreadError,
    aopen_checkpointer,
    close_thread,
    compact_thread,
    open_checkpointer,
)
from longthread.stores.checkpointers import leases
from longthread.stores.checkpointers.leases import lease_on
from longthread.stores.effects import drive

KINDS = ["memory", "sqlite", "postgres"]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "GRACE", 0.1)


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path}/threads.db"
        case _:
            found: str = request.getfixturevalue("postgres_url")
            return found


@contextmanager
def busy() -> Iterator[None]:
    with pytest.raises(LongthreadError, match="being worked on") as refused:
        yield
    assert refused.value.code == "SESSION_BUSY"


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_while_a_call_goes_on_every_other_one_of_its_thread_is_refused(
    url: str, tmp_path: Path
) -> None:
    with open_checkpointer(url) as saver:
        script = Scripted(lambda m: calls("a") if len(m) == 1 else AIMessage("done"))
        graph = agent(script, tmp_path, checkpointer=saver)
        stream = graph.stream(say("hi"), thread())
        next(stream)
        with busy():
            graph.invoke(say("me too"), thread())
        with busy():
            compact_or_close(graph)
        with busy():
            close_thread(graph, thread())
        other = graph.invoke(say("elsewhere"), thread("other"))
        assert len(other["messages"]) == 4
        for _ in stream:
            pass
        result = graph.invoke(say("and now?"), thread())
        assert contents(result["messages"]) == ["hi", "", "saw a", "done", "and now?", "done"]


def compact_or_close(graph: Any) -> None:
    """What `compact_thread` says while a call goes on, before or after it has asked a model."""
    try:
        compact_thread(graph, thread())
    except LongthreadError as error:
        raise LongthreadError("being worked on", code=error.code) from error


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
def test_two_savers_of_one_database_exclude_each_other(url: str, tmp_path: Path) -> None:
    with open_checkpointer(url) as one, open_checkpointer(url) as two:
        first = agent(Scripted("done"), tmp_path, checkpointer=one)
        second = agent(Scripted("done"), tmp_path, checkpointer=two)
        stream = first.stream(say("hi"), thread())
        next(stream)
        with busy():
            second.invoke(say("me too"), thread())
        with busy():
            second.update_state(thread(), {"messages": [("user", "me too")]})
        stream.close()
        assert contents(second.invoke(say("now me"), thread())["messages"])[0] == "hi"


def test_a_saver_of_langgraphs_own_is_leased_as_well(tmp_path: Path) -> None:
    file = tmp_path / "plain.db"
    with (
        SqliteSaver.from_conn_string(str(file)) as one,
        SqliteSaver.from_conn_string(str(file)) as two,
    ):
        lease = drive(lease_on(one, "t"))
        with busy():
            drive(lease_on(two, "t"))
        lease()
        drive(lease_on(two, "t"))()
    with SqliteSaver.from_conn_string(":memory:") as memory:
        lease = drive(lease_on(memory, "t"))
        with busy():
            drive(lease_on(memory, "t"))
        lease()


def test_a_stream_that_is_dropped_lets_go(tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a"), "done"), tmp_path)
    for _ in graph.stream(say("hi"), thread()):
        break
    graph.invoke(say("again"), thread())
    stream = graph.stream(say("more"), thread())
    next(stream)
    del stream
    graph.invoke(say("again"), thread())
    never_begun = graph.stream(say("more"), thread())
    graph.invoke(say("again"), thread())
    del never_begun


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_an_asynchronous_stream_that_is_dropped_lets_go_soon(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "GRACE", 10.0)
    async with aopen_checkpointer(url) as saver:
        graph = agent(Scripted(calls("a"), "done"), tmp_path, checkpointer=saver)
        async for _ in graph.astream(say("hi"), thread()):
            break
        await graph.ainvoke(say("again"), thread())
        call = asyncio.create_task(graph.ainvoke(say("more"), thread()))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await graph.ainvoke(say("again"), thread())


@pytest.mark.parametrize("url", KINDS, indirect=True)
async def test_of_calls_that_begin_together_one_goes_on_and_the_others_are_told(
    url: str, tmp_path: Path
) -> None:
    inside = threading.Event()

    def wait(at: str) -> str:
        """Wait."""
        assert inside.wait(30)
        return at

    async with aopen_checkpointer(url) as saver:
        graph = agent(
            Scripted(calls("a", name="wait"), "done"), tmp_path, [wait], checkpointer=saver
        )
        begun = [asyncio.create_task(graph.ainvoke(say(f"{n}"), thread())) for n in range(5)]
        _, going_on = await asyncio.wait(begun, timeout=30, return_when="FIRST_EXCEPTION")
        while len(going_on) > 1:
            _, going_on = await asyncio.wait(begun, timeout=0.05)
        inside.set()
        results = await asyncio.gather(*begun, return_exceptions=True)
        errors = [r for r in results if isinstance(r, BaseException)]
        codes = [e.code for e in errors if isinstance(e, LongthreadError)]
        assert codes == ["SESSION_BUSY"] * 4
        winner = next(r for r in results if not isinstance(r, BaseException))
        stored = (await graph.aget_state(thread())).values["messages"]
        assert contents(stored) == contents(winner["messages"])
        assert len(stored) == 4


def test_whoever_reads_a_stream_may_update_the_state_meanwhile(tmp_path: Path) -> None:
    graph = agent(Scripted("done"), tmp_path)
    for _ in graph.stream(say("hi"), thread()):
        graph.update_state(thread(), {"messages": []})


def test_a_tool_may_call_its_own_agent_in_another_thread(tmp_path: Path) -> None:
    def delegate(at: str) -> str:
        """Ask another one."""
        return str(graph.invoke(say("help"), thread("helper"))["messages"][-1].content)

    graph = agent(
        Scripted(calls("a", name="delegate"), "helped", "done"), tmp_path, [delegate, look]
    )
    assert graph.invoke(say("hi"), thread())["messages"][-1].content == "done"


def test_without_a_thread_there_is_nothing_to_lease(tmp_path: Path) -> None:
    graph = agent(Scripted("done"), tmp_path, checkpointer=None)
    stream = graph.stream(say("hi"))
    next(stream)
    graph.invoke(say("hi"))
    stream.close()


HOLDER = """
import sys
from longthread import open_checkpointer
from longthread.stores.effects import drive
from longthread.stores.checkpointers.leases import lease_on
with open_checkpointer(sys.argv[1]) as saver:
    lease = drive(lease_on(saver, "t"))
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
def test_a_process_that_dies_lets_go(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = os.pathsep.join(p for p in sys.path if p)
    with open_checkpointer(url) as saver:
        graph = agent(Scripted("done"), tmp_path, checkpointer=saver)
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        with holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"mine\n"
            with busy():
                graph.invoke(say("hi"), thread())
            holder.send_signal(signal.SIGKILL)
            holder.wait()
        monkeypatch.setattr(leases, "GRACE", 30.0)  # a server takes a moment to notice
        graph.invoke(say("hi"), thread())


def test_a_lease_leaves_no_transaction_that_holds_up_the_server(postgres_url: str) -> None:
    import psycopg

    with open_checkpointer(postgres_url) as saver:
        lease = drive(lease_on(saver, "t"))
        with psycopg.connect(postgres_url) as admin:
            held = admin.execute(
                "SELECT backend_xid, backend_xmin FROM pg_stat_activity "
                "WHERE state = 'idle in transaction'"
            ).fetchall()
        assert held == [(None, None)]
        lease()


def test_no_connection_stays_open_behind_a_closed_checkpointer(postgres_url: str) -> None:
    import psycopg

    with open_checkpointer(postgres_url) as saver:
        drive(lease_on(saver, "t"))()
    with psycopg.connect(postgres_url) as admin:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        count = f"SELECT count(*) FROM pg_stat_activity WHERE {others}".encode()
        while admin.execute(count).fetchone() != (0,):  # a server takes a moment to notice
            admin.rollback()


def test_lease_files_say_nothing_about_their_threads(tmp_path: Path) -> None:
    with open_checkpointer(f"sqlite:///{tmp_path}/threads.db") as saver:
        agent(Scripted("done"), tmp_path, checkpointer=saver).invoke(
            say("hi"), thread("../secret name")
        )
    files = list((tmp_path / "threads.db-leases").iterdir())
    assert [(len(p.name), p.stat().st_size) for p in files] == [(32, 0)]


def test_a_memory_saver_that_is_gone_leaves_nothing(tmp_path: Path) -> None:
    before = len(leases._known)
    graph = agent(Scripted("done"), tmp_path, checkpointer=InMemorySaver())
    graph.invoke(say("hi"), thread())
    assert len(leases._known) >= before
    assert not leases.is_leased(graph.checkpointer, "t")  # type: ignore[arg-type]


def test_a_lease_that_cannot_be_taken_is_the_errors_own(tmp_path: Path) -> None:
    with open_checkpointer(f"sqlite:///{tmp_path}/threads.db") as saver:
        graph = agent(Scripted("done"), tmp_path, checkpointer=saver)
        (tmp_path / "threads.db-leases").write_text("in the way")
        with pytest.raises(OSError, match="threads"):
            graph.invoke(say("hi"), thread())
        assert graph.get_state(thread()).created_at is None
