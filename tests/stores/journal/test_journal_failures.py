"""The index is derived: it may be lost, spoilt, out of reach or shared, and searches stay right."""

from __future__ import annotations

import asyncio
import os
import secrets
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from notebooks import Notebook, opened, opened_async
from postgres_server import postgres_database

from longthread import LocalWorkspace, LongthreadError
from longthread.stores import Owner
from longthread.stores.journal import ThreadJournal


def index_path(notebook: Notebook) -> Path:
    scope: Any = notebook.workspace.scoped(notebook.owner)
    return Path(scope.search_index)


def found(notebook: Notebook, query: str) -> int:
    return len(notebook.journal.search(query, max_results=1_000))


def test_an_index_that_was_deleted_is_built_again(embedded: Notebook) -> None:
    embedded.write("t", [HumanMessage("needle one")])
    assert found(embedded, "needle") == 1
    index_path(embedded).unlink()
    assert found(embedded, "needle") == 1
    assert index_path(embedded).exists()


@pytest.mark.parametrize("where", ["all", "head", "middle", "empty", "other database"])
def test_an_index_that_was_spoilt_is_built_again(embedded: Notebook, where: str) -> None:
    for number in range(5):
        embedded.write(
            f"t{number}", [HumanMessage(f"needle {at} " + "x" * 900) for at in range(20)]
        )
    assert found(embedded, "needle") == 100
    path = index_path(embedded)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    data = bytearray(path.read_bytes())
    if where == "all":
        data = bytearray(os.urandom(len(data)))
    elif where == "head":
        data[:200] = os.urandom(200)
    elif where == "middle":
        data[4_096:] = os.urandom(len(data) - 4_096)
    else:
        data = bytearray()
    os.replace(_written(path, data), path)
    if where == "other database":
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE threads (x)")
            db.execute("PRAGMA user_version = 1")
        db.close()
    assert found(embedded, "needle") == 100
    assert found(embedded, "needle 7 ") == 5


def _written(path: Path, data: bytearray) -> Path:
    other = path.with_suffix(".new")
    other.write_bytes(data)
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    return other


def test_where_no_index_can_be_written_one_in_memory_does(
    embedded: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    embedded.write("t", [HumanMessage("needle")])
    index_path(embedded).mkdir()  # nobody can open a folder as a database, not even root
    assert found(embedded, "needle") == 1
    embedded.write("t", [HumanMessage("needle again")])
    assert found(embedded, "needle") == 2
    assert "cannot be used" in caplog.text


def test_records_that_cannot_be_read_are_left_out(embedded: Notebook, tmp_path: Path) -> None:
    embedded.write("t1", [HumanMessage("needle")])
    embedded.write("t2", [HumanMessage("needle")])
    (record,) = tmp_path.rglob("threads/t1.json")
    record.write_text('{"thread_id": 7}')
    assert [hit.thread_id for hit in embedded.journal.search("needle")] == ["t2"]
    assert embedded.journal.reindex().threads == 2


INDEXER = """
import sys
from pathlib import Path
from notebooks import Notebook, opened
with opened("sqlite", Path(sys.argv[1])) as saver:
    book = Notebook(saver, Path(sys.argv[1]) / "workspace")
    print(len(book.journal.search("needle", max_results=10_000)))
    book.write(sys.argv[2], [("user", "needle from " + sys.argv[2])])
    print(len(book.journal.search("needle", max_results=10_000)))
"""


def test_processes_that_index_at_once_do_not_disturb_each_other(
    embedded: Notebook, tmp_path: Path
) -> None:
    for number in range(30):
        embedded.write(f"t{number}", [HumanMessage(f"needle {at}") for at in range(20)])
    support = Path(__file__).parents[2] / "support"
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", INDEXER, str(tmp_path), f"w{number}"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(support)},
        )
        for number in range(2)
    ]
    outputs = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    assert all(600 <= int(first) < int(then) <= 602 for first, then in outputs)
    assert found(embedded, "needle") == 602
    with closing(sqlite3.connect(index_path(embedded))) as db, db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*), count(DISTINCT id) FROM messages").fetchone() == (
            602,
            602,
        )
        assert db.execute("SELECT count(*) FROM folded").fetchone() == (602,)
    db.close()


def test_tables_that_somebody_dropped_are_made_again(postgres_url: str, tmp_path: Path) -> None:
    with opened("postgres", tmp_path, postgres_url) as saver:
        book = Notebook(saver, tmp_path / "workspace")
        book.write("t", [HumanMessage("needle")])
        assert found(book, "needle") == 1
        saver.conn.execute("DROP TABLE longthread_messages, longthread_threads")
        assert found(book, "needle") == 1


def test_without_the_right_to_make_an_extension_postgres_is_searched_all_the_same(
    postgres: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with postgres_database(postgres) as url, opened("postgres", tmp_path, url) as saver:
        role = f"reader_{secrets.token_hex(4)}"
        for statement in (
            f"CREATE ROLE {role}",
            f"GRANT ALL ON SCHEMA public TO {role}",
            f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}",
            f"SET ROLE {role}",
        ):
            saver.conn.execute(statement)
        book = Notebook(saver, tmp_path / "workspace")
        book.write("t", [HumanMessage("needle 数据")])
        assert found(book, "needle") == 1
        assert "pg_trgm" in caplog.text
        assert found(book, "数据") == 1


def test_where_postgres_forbids_tables_the_index_is_in_the_workspace(
    postgres: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        postgres_database(postgres) as url,
        opened("postgres", tmp_path, url) as saver,
    ):
        book = Notebook(saver, tmp_path / "workspace")
        book.write("t", [HumanMessage("needle")])
        saver.conn.execute("SET default_transaction_read_only = on")
        assert found(book, "needle") == 1
        assert "cannot be made in this database" in caplog.text
        assert index_path(book).exists()


async def test_a_synchronous_method_in_the_savers_own_loop_is_an_error_that_says_so(
    tmp_path: Path,
) -> None:
    async with opened_async("sqlite", tmp_path) as saver:
        book = Notebook(saver, tmp_path / "workspace")
        await book.awrite("t", [HumanMessage("needle")])
        with pytest.raises(LongthreadError, match="await the asynchronous one"):
            book.journal.search("needle")
        assert len(await asyncio.to_thread(book.journal.search, "needle")) == 1


async def test_an_asynchronous_method_works_with_a_synchronous_saver(tmp_path: Path) -> None:
    with opened("sqlite", tmp_path) as saver:
        book = Notebook(saver, tmp_path / "workspace")
        book.write("t", [HumanMessage("needle")])
        assert len(await book.journal.asearch("needle")) == 1
        assert len(await book.journal.ahistory("t")) == 1
        assert (await book.journal.areindex()).threads == 1


async def test_searches_at_the_same_time_all_find_everything(tmp_path: Path) -> None:
    async with opened_async("sqlite", tmp_path) as saver:
        book = Notebook(saver, tmp_path / "workspace")
        for number in range(5):
            await book.awrite(f"t{number}", [HumanMessage(f"needle {at}") for at in range(10)])
        searches = (book.journal.asearch("needle", max_results=99) for _ in range(8))
        assert [len(hits) for hits in await asyncio.gather(*searches)] == [50] * 8


def test_a_checkpointer_that_we_do_not_know_is_read_through_its_own_methods(
    embedded: Notebook, tmp_path: Path
) -> None:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    class Unknown(BaseCheckpointSaver[str]):
        def get_tuple(self, config: Any) -> Any:
            return embedded.saver.get_tuple(config)

        def list(self, config: Any, **options: Any) -> Any:
            return embedded.saver.list(config, **options)

    embedded.write("t1", [HumanMessage("needle")])
    embedded.write("t2", [HumanMessage("needle")])
    journal = ThreadJournal(Unknown(), LocalWorkspace(tmp_path / "other"), user="ann")
    assert journal.search("needle") == []
    assert journal.reindex().threads == 2
    assert [hit.thread_id for hit in journal.search("needle")] == ["t2", "t1"]
    assert len(journal.history("t1")) == 1


def test_the_index_of_one_owner_holds_nothing_of_another(
    embedded: Notebook, tmp_path: Path
) -> None:
    bob = Notebook(embedded.saver, tmp_path / "workspace", Owner("bob", "agent"))
    embedded.write("t1", [HumanMessage("what ann said")])
    bob.write("t2", [HumanMessage("what bob said")])
    assert found(embedded, "said") == found(bob, "said") == 1
    assert b"what bob said" not in _bytes(index_path(embedded))
    assert b"what ann said" not in _bytes(index_path(bob))


def _bytes(path: Path) -> bytes:
    return b"".join(p.read_bytes() for p in path.parent.glob(path.name + "*"))
