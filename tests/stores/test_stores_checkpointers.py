"""Checkpointers opened from a URL."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, look, say, thread
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from pydantic import BaseModel

from longthread import (
    LongthreadError,
    MaskingConfig,
    aopen_checkpointer,
    compact_thread,
    open_checkpointer,
)
from longthread.stores.checkpointers.serialiser import CompactSerialiser

KINDS = ["memory", "sqlite", "sqlite-memory", "postgres"]
LASTING = ["sqlite", "postgres"]


class Weather(BaseModel):
    """A type of the application's own."""

    sunny: bool


def said(values: Any) -> list[Any]:
    messages: list[BaseMessage] = values["messages"]
    return [m.content for m in messages]


@pytest.mark.parametrize("url", KINDS, indirect=True)
async def test_an_opened_saver_passes_langgraphs_conformance_suite(url: str) -> None:
    @checkpointer_test(name=url)
    async def opened() -> AsyncIterator[Any]:
        async with aopen_checkpointer(url) as saver:
            yield saver

    report = await validate(opened)
    # The capabilities that LangGraph's own savers of this kind do not have are not asked.
    failed = {name: r.failures for name, r in report.results.items() if r.passed is False}
    assert failed == {}
    assert report.passed_all_base()


@pytest.mark.parametrize("url", LASTING, indirect=True)
async def test_one_opened_for_synchronous_use_passes_it_too(url: str) -> None:
    @checkpointer_test(name=url)
    async def opened() -> AsyncIterator[Any]:
        with open_checkpointer(url) as saver:
            yield saver

    report = await validate(opened)
    failed = {name: r.failures for name, r in report.results.items() if r.passed is False}
    assert failed == {}
    assert report.passed_all_base()


@pytest.mark.parametrize("url", KINDS, indirect=True)
async def test_an_agent_on_a_synchronous_saver_can_be_awaited(url: str, tmp_path: Path) -> None:
    with open_checkpointer(url) as saver:
        graph = agent(Scripted(calls("a", "b"), "hello"), tmp_path, checkpointer=saver)
        await graph.ainvoke(say("hi"), thread())
        await asyncio.gather(*(graph.ainvoke(say("hi"), thread(str(n))) for n in range(4)))
        assert said(graph.get_state(thread()).values) == ["hi", "", "saw a", "saw b", "hello"]
        assert said((await graph.aget_state(thread("3"))).values) == ["hi", "hello"]
        past = [state async for state in graph.aget_state_history(thread())]
        assert said(past[-2].values) == ["hi"]
        assert len(graph.invoke(say("and"), thread())["messages"]) == 7


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_an_agent_runs_on_what_a_url_opens(url: str, tmp_path: Path) -> None:
    with open_checkpointer(url) as saver:
        graph = agent(Scripted(calls("a"), "hello"), tmp_path, checkpointer=saver)
        graph.invoke(say("hi"), thread())
        assert said(graph.get_state(thread()).values) == ["hi", "", "saw a", "hello"]


@pytest.mark.parametrize("url", KINDS, indirect=True)
async def test_an_agent_runs_asynchronously_on_what_a_url_opens(url: str, tmp_path: Path) -> None:
    async with aopen_checkpointer(url) as saver:
        graph = agent(Scripted(calls("a"), "hello"), tmp_path, checkpointer=saver)
        await graph.ainvoke(say("hi"), thread())
        state = await graph.aget_state(thread())
        assert said(state.values) == ["hi", "", "saw a", "hello"]


@pytest.mark.parametrize("url", LASTING, indirect=True)
async def test_a_thread_is_there_when_it_is_opened_again_either_way(
    url: str, tmp_path: Path
) -> None:
    with open_checkpointer(url) as saver:
        graph = agent(Scripted("one", "three"), tmp_path, checkpointer=saver)
        graph.invoke(say("1"), thread())
    async with aopen_checkpointer(url, create=False) as other:
        again = agent(Scripted("two"), tmp_path, checkpointer=other)
        await again.ainvoke(say("2"), thread())
    with open_checkpointer(url, create=False) as saver:
        graph = agent(Scripted("three"), tmp_path, checkpointer=saver)
        assert said(graph.invoke(say("3"), thread())) == ["1", "one", "2", "two", "3", "three"]


@pytest.mark.parametrize("url", KINDS, indirect=True)
def test_our_state_is_read_without_a_word_about_unregistered_types(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Scripted(*[calls(f"c{i}") for i in range(8)], "done", summary="## Intent\nAll.")
    with open_checkpointer(url) as saver, caplog.at_level(logging.WARNING):
        graph = agent(
            script,
            tmp_path,
            [look_long],
            checkpointer=saver,
            masking=MaskingConfig(turns=2, batch=1),
        )
        graph.invoke(say("look"), thread())
        values = graph.get_state(thread()).values
        assert values["masked_through"]
        assert compact_thread(graph, thread()).compacted_count
        list(graph.get_state_history(thread()))
    assert not [r for r in caplog.records if r.name.startswith("langgraph")]


def look_long(at: str) -> str:
    """Look for a long time."""
    return look(at) + " and more" * 300


@pytest.mark.parametrize("compress", [True, False])
def test_only_types_that_were_named_are_built_again(compress: bool) -> None:
    stored = CompactSerialiser(compress=compress).dumps_typed({"w": Weather(sunny=True)})
    assert CompactSerialiser().loads_typed(stored) == {"w": {"sunny": True}}
    assert CompactSerialiser([Weather]).loads_typed(stored) == {"w": Weather(sunny=True)}
    name = (Weather.__module__, Weather.__name__)
    assert CompactSerialiser([name]).loads_typed(stored) == {"w": Weather(sunny=True)}


def test_nothing_is_ever_pickled() -> None:
    with pytest.raises(TypeError):
        CompactSerialiser().dumps_typed({"f": sys.stderr})
    with pytest.raises(NotImplementedError):
        CompactSerialiser().loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("", "memory://"),
        ("threads.db", "sqlite:///file.db"),
        ("mysql://localhost/threads", "sqlite:///file.db"),
        ("memory://here", "nothing behind it"),
        ("sqlite://threads.db", "sqlite:///name.db"),
        ("sqlite:///", "name a file"),
        ("sqlite:///folder/", "name a file"),
        ("sqlite:///threads.db?mode=ro", "without parameters"),
    ],
)
async def test_a_url_that_cannot_be_used_is_refused_with_the_right_form(url: str, fix: str) -> None:
    with pytest.raises(LongthreadError, match=fix) as refused, open_checkpointer(url):
        pass
    assert refused.value.code == "INVALID_CONFIGURATION"
    with pytest.raises(LongthreadError, match=fix):
        async with aopen_checkpointer(url):
            pass


async def test_a_file_that_cannot_be_used_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database, but a text that is long enough to tell" * 50)
    for path in ("/proc/nowhere/threads.db", f"{tmp_path}/file", f"{tmp_path}/file/threads.db"):
        with (
            pytest.raises(LongthreadError, match="cannot be used") as refused,
            open_checkpointer(f"sqlite:///{path}"),
        ):
            pass
        assert path in str(refused.value)
        assert refused.value.code == "CHECKPOINTER_ERROR"
        with pytest.raises(LongthreadError, match="cannot be used"):
            async with aopen_checkpointer(f"sqlite:///{path}"):
                pass


def test_a_missing_file_is_not_made_when_it_should_be_there(tmp_path: Path) -> None:
    with (
        pytest.raises(LongthreadError, match="no such file"),
        open_checkpointer(f"sqlite:///{tmp_path}/a/threads.db", create=False),
    ):
        pass
    assert not (tmp_path / "a").exists()


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    url = "postgresql://ann:sesame@127.0.0.1:1/threads?password=sesame"
    with pytest.raises(LongthreadError, match="start the server") as refused:
        open_checkpointer(url).__enter__()
    assert "ann:…@127.0.0.1:1/threads" in str(refused.value)
    assert "sesame" not in str(refused.value)
    with pytest.raises(LongthreadError, match="write memory") as wrong:
        open_checkpointer("mongodb://ann:sesame@localhost").__enter__()
    assert "sesame" not in str(wrong.value)


def test_a_database_without_tables_is_left_alone_when_they_should_be_there(
    postgres_url: str,
) -> None:
    with pytest.raises(LongthreadError, match="holds no checkpoints"):
        open_checkpointer(postgres_url, create=False).__enter__()


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(LongthreadError, match=r"longthread\[postgres\]"):
        open_checkpointer("postgresql://localhost/threads").__enter__()


@pytest.mark.parametrize("url", LASTING, indirect=True)
def test_many_may_open_a_new_database_at_once(url: str, tmp_path: Path) -> None:
    def opened(number: int) -> int:
        with open_checkpointer(url) as saver:
            graph = agent(Scripted("yes"), tmp_path, checkpointer=saver, memory=None)
            return len(graph.invoke(say("hi"), thread(f"t{number}"))["messages"])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(opened, range(6))) == [2] * 6


FAILS_AT_THE_SECOND = """
CREATE TRIGGER second BEFORE INSERT ON writes WHEN NEW.channel = 'second'
BEGIN SELECT RAISE(ABORT, 'disk full'); END
"""


async def test_writes_that_fail_half_way_are_not_there_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "threads.db"
    url = f"sqlite:///{file}"
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
    half = [("first", 1), ("second", 2)]

    def stored() -> list[str]:
        with closing(sqlite3.connect(file)) as connection, connection:
            return [row[0] for row in connection.execute("SELECT channel FROM writes")]

    with open_checkpointer(url) as saver:
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute(FAILS_AT_THE_SECOND)
        with pytest.raises(sqlite3.DatabaseError, match="disk full"):
            saver.put_writes(place, half, "task")
        saver.put_writes(place, [("third", 3)], "other")
        assert stored() == ["third"]
    async with aopen_checkpointer(url) as other:
        results = await asyncio.gather(
            other.aput_writes(place, half, "task"),
            other.aput_writes(place, [("fourth", 4)], "yet another"),
            return_exceptions=True,
        )
        assert [type(r) for r in results] == [sqlite3.IntegrityError, type(None)]
        assert stored() == ["third", "fourth"]


def test_what_is_deleted_is_gone_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "threads.db"
    with open_checkpointer(f"sqlite:///{file}", compress=False) as saver:
        graph = agent(Scripted("your secret is safe"), tmp_path, checkpointer=saver)
        graph.invoke(say("my secret is sesame"), thread())
        saver.delete_thread("t")
    assert b"sesame" not in file.read_bytes()
