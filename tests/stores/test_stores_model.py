"""Every kind of workspace against a model: a dict from paths to texts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from plain_stores import CappedStore, PlainStore

from longthread import LocalWorkspace, StoreWorkspace
from longthread.stores import Owner, Workspace
from longthread.stores.langgraph_store import access as store_access
from longthread.stores.langgraph_store import changes as store_changes
from longthread.stores.langgraph_store import files as store_files
from longthread.stores.langgraph_store import pieces

PATHS = ["MEMORY.md", "memory/a.md", "memory/deep/b.md", "global/MEMORY.md", "memoryx/c.md"]
OWNERS = [Owner("ann", "coder"), Owner("ann", "writer"), Owner(None, "coder")]
paths = st.sampled_from(PATHS)
owners = st.integers(0, len(OWNERS) - 1)
texts = st.text(st.sampled_from("ab\n\r\0%é😀"), max_size=30)


class Model(RuleBasedStateMachine):
    """Does the same to a workspace and to a dict."""

    kind = "local"

    @initialize()
    def opened(self) -> None:
        self.closing = ExitStack()
        self.make = self.workspaces()
        self.files: dict[tuple[str | None, str, str], str] = {}
        self.records: dict[int, dict[str, int]] = {}

    def workspaces(self) -> Callable[[], Workspace]:
        if self.kind == "local":
            folder = self.closing.enter_context(tempfile.TemporaryDirectory())
            return partial(LocalWorkspace, folder)
        if self.kind == "store-sqlite":
            store = self.closing.enter_context(SqliteStore.from_conn_string(":memory:"))
            return partial(StoreWorkspace, store, ("x",))
        memory = InMemoryStore()
        wrap = {"store-memory": lambda s: s, "store-plain": PlainStore, "store-capped": CappedStore}
        return partial(StoreWorkspace, wrap[self.kind](memory), ("x",))

    def teardown(self) -> None:
        self.closing.close()

    def at(self, owner: int, path: str) -> tuple[str | None, str, str]:
        shared = path.startswith("global/")
        return OWNERS[owner].user, "" if shared else OWNERS[owner].agent, path

    @rule(owner=owners, path=paths, text=texts)
    def write(self, owner: int, path: str, text: str) -> None:
        self.make().scoped(OWNERS[owner]).write_text(path, text)
        self.files[self.at(owner, path)] = text

    @rule(owner=owners, path=paths, lines=texts, header=st.sampled_from(["", "# x\n", "y"]))
    def append(self, owner: int, path: str, lines: str, header: str) -> None:
        done = self.make().scoped(OWNERS[owner]).append_text(path, lines, header=header)
        assert done == bool(lines)
        if lines:
            self.add(self.at(owner, path), lines, header)

    @rule(owner=owners, path=paths, lines=texts.filter(bool))
    def append_once(self, owner: int, path: str, lines: str) -> None:
        at = self.at(owner, path)
        before = self.files.get(at, "")
        view = self.make().scoped(OWNERS[owner])
        assert view.append_text(path, lines, unless=lambda text: lines in text) == (
            lines not in before
        )
        if lines not in before:
            self.add(at, lines, "")

    def add(self, at: tuple[str | None, str, str], lines: str, header: str) -> None:
        before = self.files.get(at) or header
        if before and self.files.get(at) and not before.endswith("\n"):
            before += "\n"
        self.files[at] = before + lines + ("" if lines.endswith("\n") else "\n")

    @rule(owner=owners, path=paths, text=texts, how=st.sampled_from(["end", "start", "all", "no"]))
    def update(self, owner: int, path: str, text: str, how: str) -> None:
        at = self.at(owner, path)

        def transform(old: str | None) -> str | None:
            assert old == self.files.get(at)
            forms = {"end": (old or "") + text, "start": text + (old or ""), "all": text}
            return forms.get(how)

        expected = transform(self.files.get(at))
        after = self.make().scoped(OWNERS[owner]).update_text(path, transform)
        if expected is not None:
            self.files[at] = expected
        assert after == self.files.get(at)

    @rule(owner=owners, changes=st.dictionaries(paths, st.none() | texts, max_size=3))
    def update_together(self, owner: int, changes: dict[str, str | None]) -> None:
        def transform(old: Mapping[str, str | None]) -> Mapping[str, str | None]:
            assert dict(old) == {p: self.files.get(self.at(owner, p)) for p in changes}
            return changes

        self.make().scoped(OWNERS[owner]).update_texts(changes, transform)
        for path, text in changes.items():
            if text is None:
                self.files.pop(self.at(owner, path), None)
            else:
                self.files[self.at(owner, path)] = text

    @rule(owner=owners, path=paths)
    def delete(self, owner: int, path: str) -> None:
        there = self.files.pop(self.at(owner, path), None) is not None
        assert self.make().scoped(OWNERS[owner]).delete(path) == there

    @rule(owner=owners, value=st.integers(0, 9))
    def record(self, owner: int, value: int) -> None:
        old = self.records.get(owner)
        new = {"n": value, "m": (old or {}).get("n", 0)} if value else {}
        after = self.make().scoped(OWNERS[owner]).update_json("a/b", lambda _: new)
        assert after == (new or None)
        if new:
            self.records[owner] = new
        else:
            self.records.pop(owner, None)

    @rule(user=st.sampled_from([None, "ann"]))
    def erase(self, user: str | None) -> None:
        mine = {at for at in self.files if at[0] == user}
        records = {n for n in self.records if OWNERS[n].user == user}
        erased = self.make().erase_user(user)
        assert erased or not (mine or records)
        for at in mine:
            del self.files[at]
        for number in records:
            del self.records[number]

    @rule(owner=owners, path=paths, offset=st.integers(0, 80), limit=st.integers(1, 40))
    def pages(self, owner: int, path: str, offset: int, limit: int) -> None:
        view = self.make().scoped(OWNERS[owner])
        text = self.files.get(self.at(owner, path))
        page = view.read_chars(path, offset, limit)
        lines = view.read_lines(path, offset % 7, limit % 5 + 1, max_chars=25)
        assert (page is None) == (lines is None) == (text is None)
        if text is None or page is None or lines is None:
            return
        assert page.text == text[offset : offset + limit]
        assert page.at_end == (offset + limit >= len(text))
        assert page.line == text[: page.char].count("\n")
        first = min(offset % 7, text.count("\n"))
        start = len("".join(line + "\n" for line in text.split("\n")[:first]))
        if offset % 7 <= text.count("\n"):
            whole = "".join(line + "\n" for line in text[start:].split("\n")[: limit % 5 + 1])
            assert lines.text == text[start:][: min(25, len(whole))]
            assert (lines.line, lines.char) == (first, start)

    @invariant()
    def the_same_is_there(self) -> None:
        for number, owner in enumerate(OWNERS):
            view = self.make().scoped(owner)
            mine = {p: t for p in PATHS if (t := self.files.get(self.at(number, p))) is not None}
            for path in PATHS:
                assert view.read_text(path) == mine.get(path)
                info = view.info(path)
                assert (info.size if info else None) == (
                    len(mine[path].encode()) if path in mine else None
                )
            listed = view.list_files() + view.list_files("global")
            assert listed == sorted(mine, key=lambda path: (path.startswith("global/"), path))
            assert view.list_files("memory") == [p for p in listed if p.startswith("memory/")]
            assert view.read_json("a/b") == self.records.get(number)
            assert view.list_json("a") == (["a/b"] if number in self.records else [])


@pytest.mark.parametrize(
    "kind", ["local", "store-memory", "store-sqlite", "store-plain", "store-capped"]
)
def test_it_does_what_a_dict_does(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small, so that texts are in parts and additions are merged all the time.
    monkeypatch.setattr(pieces, "INLINE_CHARS", 8)
    monkeypatch.setattr(pieces, "CHUNK_CHARS", 16)
    monkeypatch.setattr(store_changes, "_WORTH_KEEPING", 8)
    monkeypatch.setattr(store_files, "MOST_ADDITIONS", 3)
    monkeypatch.setattr(store_access, "_SURELY_WHOLE", 3)
    monkeypatch.setattr(CappedStore, "most", 4)
    monkeypatch.setattr(Model, "kind", kind)
    run_state_machine_as_test(
        Model, settings=settings(max_examples=12, stateful_step_count=25, deadline=None)
    )
