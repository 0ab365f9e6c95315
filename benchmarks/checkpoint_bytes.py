"""Bytes on disk by what was said.

    python -m benchmarks.checkpoint_bytes [--full] [--postgres]

Two threads, with everything on. *calls*: calls of one question and one answer, 500 characters each,
an 8 KB MEMORY.md and summaries included. *rounds*: one call with many tool results of 8,000
characters. Each is stored by LangGraph's own SQLite saver, by the one that `open_checkpointer`
opens, with and without compression, and with `--postgres` in a real PostgreSQL (tables and indexes
after a VACUUM). *raw* is the text that was said; `--full` is 500 calls and 300 rounds, as in the
measures that the project holds itself to.
"""

from __future__ import annotations

import argparse
import random
import string
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread import create_agent_graph, drain, open_checkpointer
from longthread.graphs.scripted import ScriptedModel
from longthread.state.prompts import DEFAULT_FLUSH_PROMPT

from .postgres import empty_database, server_of_its_own

TEXT, RESULT, MEMORY = 500, 8_000, 8_000


@dataclass(frozen=True, slots=True)
class Size:
    """What a thread takes.

    Attributes:
        stored: Bytes on disk.
        raw: Characters that were said.
        parts: Bytes of what was said and of checkpoints, where that is known.
    """

    stored: int
    raw: int
    parts: dict[str, int]


class Words:
    """Text of words in no order, which compresses about as well as prose."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        letters = string.ascii_lowercase
        lengths = (self._chance.randint(2, 9) for _ in range(3_000))
        self._words = ["".join(self._chance.choices(letters, k=length)) for length in lengths]

    def text(self, length: int) -> str:
        """Return text of that many characters."""
        words = self._chance.choices(self._words, k=length // 2)
        return " ".join(words)[:length]


def talk(saver: Any, folder: Path, *, calls: int, rounds: int) -> int:
    """Run calls of one answer, or one call of many rounds; returns the characters said."""
    words = Words(1)
    said = 0

    def look(at: int) -> str:  # noqa: ARG001
        """Look at something."""
        nonlocal said
        said += RESULT
        return words.text(RESULT)

    def script(messages: list[BaseMessage]) -> AIMessage:
        nonlocal said
        if str(messages[0].content) == DEFAULT_FLUSH_PROMPT:
            return AIMessage("NO_REPLY")
        if "<previous_summary>" in str(messages[-1].content):
            return AIMessage("## Intent\n" + words.text(1_500))
        done = said // RESULT
        if rounds and done < rounds:
            call = {"name": "look", "args": {"at": done}, "id": f"call-{done}"}
            return AIMessage("", tool_calls=[call])
        said += TEXT
        return AIMessage(words.text(TEXT))

    home = folder / "workspace/users/_default/agents/agent"
    home.mkdir(parents=True)
    entries = "".join(f"- {words.text(78)}\n" for _ in range(MEMORY // 81))
    (home / "MEMORY.md").write_text(entries, encoding="utf-8")
    graph = create_agent_graph(
        ScriptedModel(script=script),
        [look] if rounds else [],
        workspace=folder / "workspace",
        checkpointer=saver,
    )
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 100_000}
    for _ in range(calls):
        graph.invoke({"messages": [("user", words.text(TEXT))]}, config)
        said += TEXT
    drain(None)
    return said


def in_sqlite(opened: Callable[[Path], AbstractContextManager[Any]], **thread: int) -> Size:
    """Measure a thread in a SQLite file, closed and with its log written back."""
    import sqlite3

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "threads.db"
        with opened(file) as saver:
            raw = talk(saver, folder, **thread)
        with sqlite3.connect(file) as connection:
            sums = {
                "checkpoints": "SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints",
                "writes": "SELECT sum(length(value)) FROM writes",
            }
            parts = {name: connection.execute(sql).fetchone()[0] for name, sql in sums.items()}
        connection.close()
        return Size(file.stat().st_size, raw, parts)


def in_postgres(url: str, compress: bool, **thread: int) -> Size:
    """Measure a thread in an empty PostgreSQL database: tables, indexes, large values."""
    import psycopg

    tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
    with tempfile.TemporaryDirectory() as name:
        with open_checkpointer(url, compress=compress) as saver:
            raw = talk(saver, Path(name), **thread)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM FULL")
            sizes = {
                table: connection.execute(
                    "SELECT pg_total_relation_size(%s::regclass)", (table,)
                ).fetchall()[0][0]
                for table in tables
            }
    return Size(sum(sizes.values()), raw, sizes)


@contextmanager
def _plain(file: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(file)) as saver:
        yield saver


def ways() -> dict[str, Callable[[Path], AbstractContextManager[Any]]]:
    """Return the ways to store a thread in a SQLite file."""
    return {
        "SqliteSaver": _plain,
        "open_checkpointer, compress=False": lambda file: open_checkpointer(
            f"sqlite:///{file}", compress=False
        ),
        "open_checkpointer": lambda file: open_checkpointer(f"sqlite:///{file}"),
    }


def report(name: str, size: Size) -> None:
    """Print one line."""
    parts = ", ".join(f"{part} {count / 1e6:.2f}" for part, count in size.parts.items())
    ratio = size.stored / max(1, size.raw)
    print(f"{name:44} {size.stored / 1e6:8.2f} {size.raw / 1e6:8.2f} {ratio:7.2f}   {parts}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="500 calls and 300 rounds")
    parser.add_argument("--postgres", action="store_true", help="also in a real PostgreSQL")
    options = parser.parse_args()
    calls, rounds = (500, 300) if options.full else (3, 2)
    threads = {
        f"{calls} calls of {2 * TEXT} characters": {"calls": calls, "rounds": 0},
        f"{rounds} rounds of {RESULT} characters": {"calls": 1, "rounds": rounds},
    }
    for title, thread in threads.items():
        print(f"{title:44} {'MB':>8} {'raw MB':>8} {'ratio':>7}   of it, in MB")
        for name, opened in ways().items():
            report(name, in_sqlite(opened, **thread))
        if options.postgres:
            with server_of_its_own() as server:
                for compress in (False, True) if server else ():
                    with empty_database(str(server)) as url:
                        size = in_postgres(url, compress, **thread)
                    report(f"PostgreSQL, compress={compress}", size)


if __name__ == "__main__":
    main()
