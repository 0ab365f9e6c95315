"""Death at every single write of a change in a store: the files are whole, old or new."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

import pytest
from langgraph.store.base import BaseStore, Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from plain_stores import Crash, CrashingStore

from longthread import StoreWorkspace
from longthread.stores import LedgerMarker, Owner, ScopedWorkspace, append_entry
from longthread.stores.langgraph_store import files as store_files
from longthread.stores.langgraph_store import pieces as store_pieces
from longthread.stores.langgraph_store import writer as store_writer

ANN = Owner("ann", "coder")
MOMENT = datetime(2026, 11, 30, tzinfo=UTC)
Change = Callable[[ScopedWorkspace], object]


class DyingStore(InMemoryStore):
    """A store that writes all of a batch or nothing, and dies before the batch it is told to."""

    __slots__ = ("writes_left",)
    writes_left: int | None

    def __init__(self) -> None:
        super().__init__()
        self.writes_left = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do a batch, or die."""
        ops = list(ops)
        if self.writes_left is not None and any(isinstance(op, PutOp) for op in ops):
            if self.writes_left == 0:
                raise Crash
            self.writes_left -= 1
        return super().batch(ops)


def fact(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, "fact", LedgerMarker("t", "m1", "m9"), once=True)


def saved_twice(view: ScopedWorkspace) -> None:
    view.update_texts(
        ["MEMORY.md", "memory/2026-11-30.md", "global/MEMORY.md"],
        lambda old: {path: f"{text or ''}entry\n" for path, text in old.items()},
    )


CHANGES: dict[str, Change] = {
    "a short text": lambda view: view.write_text("MEMORY.md", "short"),
    "a long text": lambda view: view.write_text("MEMORY.md", "new " * 50),
    "a new file": lambda view: view.write_text("new.md", "new " * 50),
    "an addition": lambda view: view.append_text("log.md", "line"),
    "a long addition": lambda view: view.append_text("log.md", "line " * 50),
    "a first addition": lambda view: view.append_text("new.md", "line", header="# head\n"),
    "an addition that makes too many": lambda view: view.append_text("many.md", "line"),
    "an addition made once": fact,
    "an entry": lambda view: view.update_text("MEMORY.md", lambda old: f"{old}\nentry\n"),
    "a rewrite": lambda view: view.update_text("MEMORY.md", lambda old: f"new {old}"),
    "a deletion": lambda view: view.delete("many.md"),
    "a record": lambda view: view.update_json("cursor", lambda _: {"n": 2}),
    "a removed record": lambda view: view.update_json("cursor", lambda _: {}),
    "several files": saved_twice,
    "a move": lambda view: view.update_texts(
        ["MEMORY.md", "memory/archive/x.md"],
        lambda old: {"memory/archive/x.md": old["MEMORY.md"], "MEMORY.md": None},
    ),
}


def fill(store: BaseStore) -> None:
    view = StoreWorkspace(store, ("x",)).scoped(ANN)
    view.write_text("MEMORY.md", "old " * 50)
    view.append_text("log.md", "one")
    for number in range(5):
        view.append_text("many.md", f"{number}")
    view.update_json("cursor", lambda _: {"n": 1})


def everything(store: BaseStore) -> dict[str, object]:
    view = StoreWorkspace(store, ("x",)).scoped(ANN)
    files = view.list_files() + view.list_files("global")
    records = {name: view.read_json(name) for name in view.list_json()}
    return {**{path: view.read_text(path) for path in files}, **records}


def items(store: BaseStore) -> list[str]:
    return [item.key for item in store.search(("x",), limit=10_000)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_pieces, "INLINE_CHARS", 16)
    monkeypatch.setattr(store_pieces, "CHUNK_CHARS", 64)
    monkeypatch.setattr(store_files, "MOST_ADDITIONS", 6)
    monkeypatch.setattr(store_writer, "_ABANDONED_SECONDS", 0.0)


def stores(kind: str) -> tuple[BaseStore, DyingStore | CrashingStore]:
    """Return a store that does what it should, and the same one as it dies."""
    if kind == "with transactions":
        both = DyingStore()
        return both, both
    memory = InMemoryStore()
    return memory, CrashingStore(memory)


@pytest.mark.parametrize("kind", ["with transactions", "without"])
@pytest.mark.parametrize("name", CHANGES)
def test_death_at_any_write_leaves_everything_old_or_new(name: str, kind: str) -> None:
    change = CHANGES[name]
    healthy, _ = stores(kind)
    fill(healthy)
    old = everything(healthy)
    change(StoreWorkspace(healthy, ("x",)).scoped(ANN))
    new = everything(healthy)
    assert old != new

    deaths = 0
    outcomes = []
    while True:
        healthy, mortal = stores(kind)
        fill(mortal)
        mortal.writes_left = deaths
        try:
            change(StoreWorkspace(mortal, ("x",)).scoped(ANN))
        except Crash:
            deaths += 1
        else:
            break
        mortal.writes_left = None
        outcomes.append(everything(mortal))
        assert outcomes[-1] in (old, new)
        # Somebody else goes on at once: every file can still be changed, and what is new stays.
        view = StoreWorkspace(mortal, ("x",)).scoped(ANN)
        for path in [*view.list_files(), *view.list_files("global")]:
            view.update_text(path, lambda text: f"again {text}")
            text = outcomes[-1][path]
            assert view.read_text(path) == f"again {text}"
            assert view.delete(path)
        assert view.list_files() == view.list_files("global") == []
    assert deaths > 0
    assert outcomes[0] == old
    # Once new, never old again: the later it dies, the more is done.
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == new)


@pytest.mark.parametrize("kind", ["with transactions", "without"])
def test_a_flush_that_died_is_repeated_and_its_entry_is_there_once(kind: str) -> None:
    for deaths in range(12):
        _, mortal = stores(kind)
        fill(mortal)
        mortal.writes_left = deaths
        try:
            fact(StoreWorkspace(mortal, ("x",)).scoped(ANN))
        except Crash:
            mortal.writes_left = None
            fact(StoreWorkspace(mortal, ("x",)).scoped(ANN))
        text = StoreWorkspace(mortal, ("x",)).scoped(ANN).read_text("memory/2026-11-30.md")
        assert (text or "").count("fact") == 1


def test_what_was_replaced_does_not_stay_in_the_store() -> None:
    store = InMemoryStore()
    view = StoreWorkspace(store, ("x",)).scoped(ANN)
    for number in range(20):
        view.write_text("MEMORY.md", f"{number} " * 100)
        view.append_text("log.md", "x" * 50)
        view.update_json("cursor", lambda old: {"n": (old or {"n": 0})["n"] + 1})
    assert len(items(store)) < 40
    view.delete("MEMORY.md")
    view.delete("log.md")
    view.update_json("cursor", lambda _: {})
    assert items(store) == []


def test_deleting_a_file_removes_what_a_crash_has_left_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_writer, "_UNFINISHED_SECONDS", -1.0)
    memory, mortal = stores("without")
    view = StoreWorkspace(mortal, ("x",)).scoped(ANN)
    mortal.writes_left = 3
    with pytest.raises(Crash):
        view.write_text("secret.md", "secret " * 100)
    mortal.writes_left = None
    assert "secret" in str(memory.search(("x",)))
    assert not view.delete("secret.md")
    assert items(memory) == []


def test_a_decided_change_whose_maker_died_is_put_into_its_place_by_the_next_writer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store_writer, "_UNFINISHED_SECONDS", -1.0)
    expected = "old " * 50 + "entry\n"
    for deaths in range(30):
        memory, mortal = stores("without")
        fill(mortal)
        before = len(items(memory))
        mortal.writes_left = deaths
        with pytest.raises(Crash):
            saved_twice(StoreWorkspace(mortal, ("x",)).scoped(ANN))
        mortal.writes_left = None
        view = StoreWorkspace(mortal, ("x",)).scoped(ANN)
        if view.read_text("MEMORY.md") == expected:
            break
    assert memory.search(("x", "ann", "announcements"))
    view.append_text("global/MEMORY.md", "more", unless=lambda text: "more" in text)
    assert not memory.search(("x", "ann", "announcements"))
    assert view.read_text("global/MEMORY.md") == "entry\nmore\n"
    assert view.read_text("MEMORY.md") == expected
    assert len(items(memory)) < before + 10
