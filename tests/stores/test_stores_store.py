"""The workspace in a store: what it asks of the store, and what it does with what it finds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langgraph.store.base import BaseStore, IndexConfig, Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from plain_stores import CappedStore, PlainStore

import longthread
from longthread import StoreWorkspace
from longthread.state.errors import LongthreadError, WorkspaceError
from longthread.stores import Owner, ScopedWorkspace
from longthread.stores.langgraph_store import files as store_files
from longthread.stores.langgraph_store import writer as store_writer
from longthread.stores.langgraph_store.changes import announcement_value, version
from longthread.stores.langgraph_store.names import StoreNames, label
from longthread.stores.langgraph_store.state import FileState

ANN = Owner("ann", "coder")


class CountingStore(InMemoryStore):
    """Counts what it is asked."""

    __slots__ = ("operations", "requests")

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.requests = 0
        self.operations = 0

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Count and answer."""
        ops = list(ops)
        self.requests += 1
        self.operations += len(ops)
        return super().batch(ops)

    def cost(self, action: object) -> int:
        """Return how many requests an action takes."""
        before = self.requests
        assert callable(action)
        action()
        return self.requests - before


def view_of(store: BaseStore) -> ScopedWorkspace:
    return StoreWorkspace(store, ("longthread",)).scoped(ANN)


def everything(store: BaseStore) -> list[Any]:
    return store.search(("longthread",), limit=100_000)


def test_the_face_has_it() -> None:
    assert longthread.StoreWorkspace is StoreWorkspace


def test_reading_a_file_takes_one_request_however_often_it_was_appended_to() -> None:
    store = CountingStore()
    view = view_of(store)
    for number in range(1_000):
        view.append_text("MEMORY.md", f"{number}")
    assert store.cost(lambda: view.read_text("MEMORY.md")) == 1
    assert view.read_text("MEMORY.md") == "".join(f"{number}\n" for number in range(1_000))
    assert len(everything(store)) <= store_files.MOST_ADDITIONS
    assert store.cost(lambda: view.info("MEMORY.md")) == 1
    assert store.cost(lambda: view.list_files()) == 1
    assert store.cost(lambda: view.read_json("cursor")) == 1


def test_appending_takes_one_request_and_now_and_then_some_more() -> None:
    store = CountingStore()
    view = view_of(store)
    assert store.cost(lambda: [view.append_text("log.md", "x" * 200) for _ in range(1_000)]) < 1_100


def test_entries_that_processes_append_one_each_are_merged_as_well() -> None:
    store = CountingStore()
    for number in range(200):
        view_of(store).append_text("log.md", f"{number}")
    assert len(everything(store)) <= store_files.MOST_ADDITIONS
    assert view_of(store).read_text("log.md") == "".join(f"{n}\n" for n in range(200))


def test_merging_changes_neither_the_text_nor_the_time_nor_the_size() -> None:
    store = InMemoryStore()
    view = view_of(store)
    seen = []
    for number in range(2 * store_files.MOST_ADDITIONS + 3):
        view.append_text("log.md", f"é{number}\n" * 300, header="# head\n")
        info = view.info("log.md")
        text = view.read_text("log.md")
        assert info is not None
        assert text is not None
        assert info.size == len(text.encode())
        seen.append(info.modified)
        assert text.startswith("# head\né0\n")
    assert seen == sorted(seen)


def test_a_text_of_many_megabytes_is_in_small_items_and_can_be_paged() -> None:
    store = CountingStore()
    view = view_of(store)
    text = "".join(f"{number:07d}é\n" for number in range(1_000_000))
    view.write_text("large_tool_results/t/c.txt", text)
    assert view.read_text("large_tool_results/t/c.txt") == text
    for item in everything(store):
        assert len(str(item.value).encode()) < 300_000
    for offset in (0, 4_500_000, len(text) - 10):
        before = store.requests
        page = view.read_chars("large_tool_results/t/c.txt", offset, 100_000)
        assert page is not None
        assert page.text == text[offset : offset + 100_000]
        assert page.line == text[:offset].count("\n")
        assert store.requests - before <= 3
    before = store.requests
    lines = view.read_lines("large_tool_results/t/c.txt", 900_000, 10)
    assert lines is not None
    assert lines.text.startswith("0900000é\n")
    assert store.requests - before <= 3
    assert store.cost(lambda: view.info("large_tool_results/t/c.txt")) == 1


def test_a_change_at_the_end_of_a_large_text_writes_the_end_only() -> None:
    store = CountingStore()
    view = view_of(store)
    text = "x" * 79 + "\n"
    view.write_text("big.md", text * 50_000)
    before = {item.key for item in everything(store)}
    view.update_text("big.md", lambda old: f"{old}an open line")
    assert len({item.key for item in everything(store)} - before) == 1
    assert view.read_text("big.md") == text * 50_000 + "an open line"


def test_listing_a_thousand_files_takes_one_request_and_loads_no_texts() -> None:
    store = CountingStore()
    view = view_of(store)
    for number in range(1_200):
        view.write_text(f"large_tool_results/t/{number:04d}.txt", "x" * 20_000)
    before = store.requests
    names = view.list_files("large_tool_results")
    assert names == [f"large_tool_results/t/{number:04d}.txt" for number in range(1_200)]
    assert store.requests == before + 1
    [found] = store.batch([SearchOp(("longthread", "ann", "files"), limit=10_000)])
    assert len(str(found)) < 1_000_000


def test_a_store_that_returns_few_items_at_once_is_read_whole() -> None:
    capped = CappedStore(InMemoryStore())
    view = view_of(capped)
    for number in range(400):
        view.write_text(f"many/{number:03d}.txt", f"{number}")
    assert view.list_files("many") == [f"many/{number:03d}.txt" for number in range(400)]


def fill_one_of_each(view: ScopedWorkspace) -> None:
    view.append_text("log.md", "x")
    view.write_text("MEMORY.md", "x" * 100_000)
    view.update_json("cursor", lambda _: {"a": 1})
    assert view.read_text("MEMORY.md") == "x" * 100_000


def test_files_do_not_expire() -> None:
    with SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": 1}) as store:
        fill_one_of_each(view_of(store))
        rows = store.conn.execute("SELECT expires_at, ttl_minutes FROM store").fetchall()
        assert len(rows) == 5
        assert set(rows) == {(None, None)}


def test_files_are_not_in_the_search_index() -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        raise AssertionError(f"embedded {len(texts)} texts")

    index: IndexConfig = {"dims": 4, "embed": embed, "fields": ["$"]}
    fill_one_of_each(view_of(InMemoryStore(index=index)))


@pytest.mark.parametrize(
    "namespace",
    [(), "longthread", None, ("a.b",), ("",), ("a", ""), ("langgraph",), (1,), ("*",), ("a/b",)],
    ids=repr,
)
def test_a_namespace_that_no_store_takes_is_refused_at_once(namespace: Any) -> None:
    with pytest.raises(WorkspaceError, match="namespace"):
        StoreWorkspace(InMemoryStore(), namespace)


@pytest.mark.parametrize(
    "store",
    [None, "sqlite.db", SqliteStore.from_conn_string(":memory:")],
    ids=["None", "a path", "cm"],
)
def test_what_is_no_store_is_refused_at_once(store: Any) -> None:
    with pytest.raises(WorkspaceError, match=r"not a LangGraph BaseStore.*with PostgresStore"):
        StoreWorkspace(store, ("longthread",))


def test_a_function_that_returns_no_store_is_refused_when_it_is_asked() -> None:
    nothing: Any = lambda: None  # noqa: E731
    view = StoreWorkspace(nothing, ("longthread",)).scoped(ANN)
    with pytest.raises(WorkspaceError, match="not a LangGraph BaseStore"):
        view.read_text("MEMORY.md")


def test_nothing_is_read_or_written_before_it_is_asked_for() -> None:
    store = CountingStore()
    workspace = StoreWorkspace(store, ("longthread",))
    workspace.scoped(ANN)
    assert store.requests == 0
    assert repr(workspace) == "StoreWorkspace(CountingStore, ('longthread',))"
    assert repr(workspace.scoped(ANN)) == "StoreScope(StoreNames(user='ann', agent='coder'))"


def test_two_namespaces_of_one_store_are_two_workspaces() -> None:
    store = InMemoryStore()
    one, two = (StoreWorkspace(store, ("x", name)) for name in ("one", "two"))
    above = StoreWorkspace(store, ("x",))
    one.scoped(ANN).write_text("MEMORY.md", "one")
    above.scoped(Owner("one", "coder")).write_text("MEMORY.md", "above")
    assert two.scoped(ANN).read_text("MEMORY.md") is None
    two.scoped(ANN).write_text("MEMORY.md", "two")
    assert two.erase_user("ann")
    assert one.scoped(ANN).read_text("MEMORY.md") == "one"


def test_erasing_a_user_leaves_no_item(store: BaseStore, namespace: tuple[str, ...]) -> None:
    workspace = StoreWorkspace(store, namespace)
    view = workspace.scoped(ANN)
    for number in range(130):
        view.write_text(f"many/{number}.txt", "x")
    view.write_text("big.txt", "x" * 200_000)
    view.append_text("global/log.md", "x")
    view.update_json("cursor", lambda _: {"a": 1})
    workspace.scoped(Owner("anna", "coder")).write_text("MEMORY.md", "hers")
    assert workspace.erase_user("ann")
    [left] = [item.value["path"] for item in store.search(namespace, limit=1_000)]
    assert left == "MEMORY.md"


class FailingStore(InMemoryStore):
    """Fails on request."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Fail or answer."""
        if self.error is not None:
            raise self.error
        return super().batch(ops)


def test_a_store_that_fails_gives_an_error_with_path_and_reason() -> None:
    store = FailingStore()
    view = view_of(store)
    view.write_text("MEMORY.md", "old")
    store.error = ConnectionError("server closed the connection\nDETAIL: secret")
    for action in (
        lambda: view.read_text("MEMORY.md"),
        lambda: view.read_chars("MEMORY.md"),
        lambda: view.write_text("MEMORY.md", "new"),
        lambda: view.append_text("MEMORY.md", "new"),
        lambda: view.update_text("MEMORY.md", lambda _: "new"),
        lambda: view.update_texts(["MEMORY.md"], lambda _: {"MEMORY.md": "new"}),
        lambda: view.delete("MEMORY.md"),
        lambda: view.exists("MEMORY.md"),
    ):
        with pytest.raises(WorkspaceError, match=r"'MEMORY\.md' in the store.*closed") as error:
            action()
        assert isinstance(error.value, LongthreadError)
        assert error.value.code == "WORKSPACE_ERROR"
        assert "ConnectionError" in str(error.value)
        assert "secret" not in str(error.value)
        assert isinstance(error.value.__cause__, ConnectionError)
    with pytest.raises(WorkspaceError, match="cursor"):
        view.update_json("cursor", lambda _: {"a": 1})
    with pytest.raises(WorkspaceError, match="cannot read 'ann'"):
        StoreWorkspace(store, ("longthread",)).erase_user("ann")
    store.error = None
    assert view.read_text("MEMORY.md") == "old"


def test_a_store_without_a_synchronous_batch_says_what_to_do() -> None:
    store = FailingStore()
    store.error = NotImplementedError("use abatch")
    with pytest.raises(WorkspaceError, match="whose `batch` can be called from a thread"):
        view_of(store).read_text("MEMORY.md")


def test_what_cannot_be_removed_after_a_change_is_removed_by_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Sticky(InMemoryStore):
        __slots__ = ("sticky",)
        sticky: bool

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            ops = list(ops)
            if self.sticky and any(isinstance(op, PutOp) and op.value is None for op in ops):
                raise OSError("no")
            return super().batch(ops)

    store = Sticky()
    store.sticky = True
    view = view_of(store)
    view.write_text("MEMORY.md", "one " * 10_000)
    with caplog.at_level(logging.WARNING):
        view.write_text("MEMORY.md", "two")
    assert "could not be removed" in caplog.text
    assert view.read_text("MEMORY.md") == "two"
    with pytest.raises(WorkspaceError, match="cannot delete"):
        view.delete("MEMORY.md")
    assert view.read_text("MEMORY.md") is None
    assert view.list_files() == []
    store.sticky = False
    assert not view.delete("MEMORY.md")
    assert everything(store) == []


def test_items_that_are_no_files_are_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = InMemoryStore()
    view = view_of(store)
    view.append_text("log.md", "mine")
    place = StoreNames(("longthread",), ANN).file("log.md")
    odd: list[dict[str, Any]] = [{}, {"kind": "version"}, {"kind": "addition", "runs": 5}, {"x": 1}]
    for number, value in enumerate(odd):
        store.put(place.items, f"{number}", value)
    store.put(place.items, "not-a-key", {"kind": "version", "path": "x", "at": 1, "runs": []})
    with caplog.at_level(logging.WARNING):
        assert view.read_text("log.md") == "mine\n"
    assert len([r for r in caplog.records if r.name.startswith("longthread")]) == 5
    assert view.list_files() == ["log.md"]


def test_a_spoilt_record_counts_as_absent_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = InMemoryStore()
    view = view_of(store)
    view.update_json("cursor", lambda _: {"a": 1})
    [item] = everything(store)
    item.value["runs"] = [{"text": "[1]"}]
    with caplog.at_level(logging.WARNING):
        assert view.read_json("cursor") is None
    assert "cursor.json" in caplog.text
    assert view.update_json("cursor", lambda old: {"old": old}) == {"old": None}


def test_a_text_of_which_a_part_is_missing_is_an_error_not_a_shorter_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("longthread.stores.langgraph_store.reader._LONGEST_PAUSE", 0.001)
    store = InMemoryStore()
    view = view_of(store)
    view.write_text("MEMORY.md", "x" * 100_000)
    place = StoreNames(("longthread",), ANN).file("MEMORY.md")
    lost = store.search(place.chunks)[0]
    store.delete(lost.namespace, lost.key)
    with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*a part of its text is missing"):
        view.read_text("MEMORY.md")
    with pytest.raises(WorkspaceError, match="missing"):
        view.update_text("MEMORY.md", lambda old: f"{old}!")
    assert view.delete("MEMORY.md")
    view.write_text("MEMORY.md", "new")
    assert view.read_text("MEMORY.md") == "new"


def test_a_reader_that_is_overtaken_by_a_rewrite_reads_again() -> None:
    class Overtaken(InMemoryStore):
        __slots__ = ("rewrite",)
        rewrite: Callable[[], None] | None

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            ops = list(ops)
            answer = super().batch(ops)
            if self.rewrite is not None and isinstance(ops[0], SearchOp):
                rewrite, self.rewrite = self.rewrite, None
                rewrite()
            return answer

    store = Overtaken()
    store.rewrite = None
    shared = StoreWorkspace(store, ("longthread",))
    view = shared.scoped(ANN)
    view.write_text("MEMORY.md", "a" * 100_000)
    inner = PlainStore(store)  # has its own turn: the store's is taken while it answers
    store.rewrite = lambda: (
        StoreWorkspace(inner, ("longthread",)).scoped(ANN).write_text("MEMORY.md", "b" * 100_000)
    )
    assert view.read_text("MEMORY.md") == "b" * 100_000


def test_names_that_only_look_alike_are_different_files() -> None:
    view = view_of(InMemoryStore())
    names = ["a-b", "a_b", "A-b", "a b", "a/b", "ａ-b", "a-b~", "a", "a-b.md", "a-b-md", "@", "~"]
    for name in names:
        view.write_text(name, name)
    assert view.list_files() == sorted(names)
    assert [view.read_text(name) for name in names] == names
    assert len({label(name) for name in names}) == len(names)


def test_paths_may_be_long_and_deep(store: BaseStore, namespace: tuple[str, ...]) -> None:
    view = StoreWorkspace(store, namespace).scoped(ANN)
    folder = "/".join(["日本" * 40] * 14)
    paths = [f"{folder}/x.md", f"{folder}/y/z.md", "/".join("abcdefghijklmnop")]
    for path in paths:
        view.write_text(path, path)
    assert [view.read_text(path) for path in paths] == paths
    assert view.list_files(folder) == paths[:2]
    assert view.list_files(f"{folder}/y") == paths[1:2]
    assert view.list_files() == sorted(paths)


def test_a_change_that_somebody_announced_and_abandoned_does_not_block_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = InMemoryStore()
    view = view_of(PlainStore(memory))
    view.write_text("MEMORY.md", "old")
    names = StoreNames(("longthread",), ANN)
    place = names.file("MEMORY.md")
    dead = version(place, FileState([]), "never decided")
    memory.put(names.announcements, dead.key, announcement_value([dead], decided=False))
    with pytest.raises(WorkspaceError, match=r"MEMORY\.md'.*others have kept changing it"):
        StoreWorkspace(PlainStore(memory), ("longthread",), lock_timeout=0.05).scoped(
            ANN
        ).write_text("MEMORY.md", "x")
    assert view.read_text("MEMORY.md") == "old"
    assert view.append_text("MEMORY.md", "added meanwhile")
    view.write_text("other.md", "not touched by it")
    monkeypatch.setattr(store_writer, "_ABANDONED_SECONDS", 0.05)
    view.update_text("MEMORY.md", lambda old: f"{old}new")
    assert view.read_text("MEMORY.md") == "old\nadded meanwhile\nnew"
    assert memory.search(names.announcements) == []


def test_appending_does_not_wait_for_an_update_where_there_are_no_locks() -> None:
    memory = InMemoryStore()
    slow = view_of(PlainStore(memory))
    other = view_of(PlainStore(memory))  # as in another process: it shares no lock
    slow.write_text("MEMORY.md", "old\n")

    def rewritten(old: str | None) -> str:
        other.append_text("MEMORY.md", "saved meanwhile")
        return "rewritten\n"

    slow.update_text("MEMORY.md", rewritten)
    assert slow.read_text("MEMORY.md") == "rewritten\nsaved meanwhile\n"


def test_updates_that_meet_where_there_are_no_locks_are_both_made() -> None:
    memory = InMemoryStore()
    slow = view_of(PlainStore(memory))
    other = view_of(PlainStore(memory))
    seen: list[str | None] = []

    def counted(old: str | None) -> str:
        seen.append(old)
        if len(seen) == 1:
            other.update_text("n", lambda text: str(int(text or "0") + 1))
        return str(int(old or "0") + 1)

    assert slow.update_text("n", counted) == "2"
    assert seen == [None, "1"]
    assert slow.read_text("n") == "2"


def test_the_time_of_a_file_is_that_of_its_last_change() -> None:
    view = view_of(InMemoryStore())
    before = datetime.now(UTC) - timedelta(seconds=1)
    view.append_text("log.md", "x")
    info = view.info("log.md")
    assert info is not None
    assert before <= info.modified <= datetime.now(UTC) + timedelta(seconds=1)


def test_several_files_are_seen_as_they_were_at_one_moment_where_there_are_no_locks() -> None:
    memory = InMemoryStore()
    together = view_of(PlainStore(memory))

    class Meddling(PlainStore):
        """Changes both files between two searches."""

        busy = True

        def batch(self, ops: Iterable[Op]) -> list[Result]:
            results: list[Result] = []
            for op in ops:
                results += super().batch([op])
                if self.busy and isinstance(op, SearchOp) and "files" in op.namespace_prefix:
                    self.busy = False
                    together.update_texts(["a", "b"], lambda _: {"a": "new", "b": "new"})
            return results

    together.update_texts(["a", "b"], lambda _: {"a": "old", "b": "old"})
    seen: list[dict[str, str | None]] = []

    def looked_at(old: Mapping[str, str | None]) -> Mapping[str, str | None]:
        seen.append(dict(old))
        return {}

    view_of(Meddling(memory)).update_texts(["a", "b"], looked_at)
    assert seen == [{"a": "new", "b": "new"}]
