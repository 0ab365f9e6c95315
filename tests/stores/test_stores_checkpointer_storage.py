"""What opened checkpointers store: how much, and who can read it."""

from __future__ import annotations

import base64
import hashlib
import random
import sqlite3
import zlib
from contextlib import AbstractContextManager, closing
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import psycopg
import pytest
from agents import Scripted, agent, calls, contents, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from longthread import aopen_checkpointer, open_checkpointer
from longthread.state.errors import CheckpointerError
from longthread.stores.checkpointers.known_text import KNOWN
from longthread.stores.checkpointers.serialiser import CompactSerialiser

LASTING = ["sqlite", "postgres"]
STORED = "eLuf6C0Sa1xSnJiZMunmh8rUYoWRhNkBGE1bpQ=="
DIGEST = "becfd5c8f8aec257f95ec83b26b703ab83c48fb98e9bfd4b66d5844e973fd160"


@pytest.mark.parametrize("url", LASTING, indirect=True)
async def test_compressed_and_plain_checkpoints_are_read_side_by_side(
    url: str, tmp_path: Path
) -> None:
    expected: list[str] = []
    for number, compress in enumerate((False, True, False, True, None)):
        question, answer = f"question {number}", f"answer {number} " * 40
        expected += [question, answer]
        with open_checkpointer(url, compress=compress) as saver:
            graph = agent(Scripted(answer), tmp_path, checkpointer=saver)
            assert contents(graph.invoke(say(question), thread())["messages"]) == expected
        async with aopen_checkpointer(url, compress=not compress) as other:
            graph = agent(Scripted(answer), tmp_path, checkpointer=other)
            assert contents((await graph.aget_state(thread())).values["messages"]) == expected
            history = [state async for state in graph.aget_state_history(thread())]
            assert [s.metadata["step"] for s in history if s.metadata] == list(
                range(history[0].metadata["step"], -2, -1) if history[0].metadata else ()
            )
            assert (
                sum(contents(s.values["messages"]) == expected[:-1] for s in history if s.values)
                > 0
            )


@pytest.mark.parametrize("url", LASTING, indirect=True)
def test_large_results_take_little_more_than_themselves_and_storage_is_linear(
    url: str, tmp_path: Path
) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(2, 9))) for _ in range(3_000)]
    rounds, length = 40, 8_000

    def read(at: str) -> str:
        """Read something long."""
        return " ".join(chance.choices(words, k=length))[:length]

    sizes = []
    with open_checkpointer(url) as saver:
        turns = [[calls(f"{t}-{i}", name="read") for i in range(rounds)] for t in range(2)]
        script = Scripted(*turns[0], "done", *turns[1], "done")
        graph = agent(script, tmp_path, [read], checkpointer=saver)
        for number in range(2):
            result = graph.invoke(say("read all"), {**thread(), "recursion_limit": 1_000})
            said = (number + 1) * rounds * length
            assert sum(len(m.content) for m in result["messages"]) >= said
            sizes.append((stored_bytes(url, "t"), said))
    first, second = sizes
    assert second[0] <= 1.5 * second[1]
    assert (second[0] - first[0]) / (second[1] - first[1]) < 1.1 * first[0] / first[1]


@pytest.mark.parametrize("url", LASTING, indirect=True)
def test_what_is_compressed_takes_much_less(url: str, tmp_path: Path) -> None:
    sizes = []
    for compress in (False, True):
        with open_checkpointer(url, compress=compress) as saver:
            graph = agent(Scripted("yes " * 200), tmp_path, checkpointer=saver)
            name = thread(str(compress))
            for _ in range(10):
                graph.invoke(say("go on " * 200), name)
        sizes.append(stored_bytes(url, str(compress)))
    assert sizes[1] * 2 < sizes[0]


def stored_bytes(url: str, name: str) -> int:
    """How much a thread takes, without the tables' own overhead."""
    if url.startswith("sqlite"):
        sums = (
            "SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints WHERE thread_id=?",
            "SELECT sum(length(value)) FROM writes WHERE thread_id=?",
        )
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return sum(file.execute(sql, (name,)).fetchone()[0] for sql in sums)
    statements = (
        f"SELECT sum(pg_column_size(t.*)) FROM {table} t WHERE thread_id=%s"
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    )
    with psycopg.connect(url) as database:
        rows = [database.execute(sql.encode(), (name,)).fetchall() for sql in statements]
    return sum(row[0][0] for row in rows)


@pytest.mark.parametrize("url", LASTING, indirect=True)
def test_langgraphs_own_saver_goes_on_with_a_thread_that_is_not_compressed(
    url: str, tmp_path: Path
) -> None:
    def plain() -> AbstractContextManager[Any]:
        if url.startswith("sqlite"):
            return SqliteSaver.from_conn_string(url.removeprefix("sqlite:///"))
        return PostgresSaver.from_conn_string(url)

    for turn in range(3):  # turn by turn: versions of the one count on from those of the other
        with open_checkpointer(url, compress=False) as saver:
            agent(Scripted("ours"), tmp_path, checkpointer=saver).invoke(say(f"{turn}"), thread())
        with plain() as theirs:
            graph = agent(Scripted("theirs"), tmp_path, checkpointer=theirs)
            result = graph.invoke(say("and"), thread())
    assert contents(result["messages"]) == [
        text for turn in range(3) for text in (f"{turn}", "ours", "and", "theirs")
    ]
    with open_checkpointer(url) as saver:  # compressed from here on
        graph = agent(Scripted("ours"), tmp_path, checkpointer=saver)
        assert len(graph.invoke(say("more"), thread())["messages"]) == 14


@pytest.mark.parametrize("compress", [True, False])
def test_the_server_prunes_what_may_be_pruned_and_refuses_our_threads(
    compress: bool, postgres_url: str, tmp_path: Path
) -> None:
    plain = StateGraph(MessagesState)
    plain.add_node("model", lambda s: {"messages": [("ai", f"{len(s['messages'])}")]})
    plain.add_edge(START, "model")
    with open_checkpointer(postgres_url, compress=compress) as saver:
        theirs: Any = plain.compile(checkpointer=saver)
        for turn in range(4):
            before = theirs.invoke(say(f"{turn}"), thread("theirs"))
        ours = agent(Scripted("hello"), tmp_path, checkpointer=saver)
        ours.invoke(say("hi"), thread("ours"))
        saver.prune(["theirs"], strategy="keep_latest")
        with pytest.raises(NotImplementedError, match="ours"):
            saver.prune(["ours"], strategy="keep_latest")
        assert theirs.get_state(thread("theirs")).values == before
        assert len(list(theirs.get_state_history(thread("theirs")))) == 1
        assert contents(theirs.invoke(say("on"), thread("theirs"))["messages"])[-2:] == ["on", "9"]
        assert contents(ours.invoke(say("on"), thread("ours"))["messages"]) == [
            "hi",
            "hello",
            "on",
            "hello",
        ]
    with psycopg.connect(postgres_url) as database:
        sql = "SELECT count(*) FROM checkpoint_blobs WHERE thread_id=%s AND channel='messages'"
        [(blobs,)] = database.execute(sql.encode(), ("theirs",)).fetchall()
    assert blobs == 3  # the newest, and those of the call after it


def test_what_was_stored_by_earlier_versions_is_read_for_ever() -> None:
    serialiser = CompactSerialiser()
    value = {"said": ["yes " * 60, 7]}
    kind, whole = JsonPlusSerializer().dumps_typed(value)
    assert serialiser.loads_typed((kind, whole)) == value
    assert serialiser.loads_typed((f"{kind}+zlib", zlib.compress(whole))) == value
    first = base64.b64decode(STORED)
    assert serialiser.loads_typed(("msgpack+zlib1", first)) == value
    assert hashlib.sha256(KNOWN).hexdigest() == DIGEST  # what was stored refers to these very bytes


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_compressed_comes_back(value: Any) -> None:
    serialiser = CompactSerialiser()
    assert serialiser.loads_typed(serialiser.dumps_typed(value)) == value


def test_what_is_cut_short_or_damaged_is_not_read_as_something_else() -> None:
    serialiser = CompactSerialiser()
    kind, stored = serialiser.dumps_typed({"said": "yes and no " * 50})
    for damaged in (stored[:-1], stored[: len(stored) // 2], stored[:10] + b"x" + stored[11:]):
        with pytest.raises(CheckpointerError, match="restore the thread"):
            serialiser.loads_typed((kind, damaged))
