"""Rewriting MEMORY.md while others save to it, and taking a rewrite back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_desk import quick_disk

from longthread import LocalWorkspace, LongthreadError
from longthread.stores.local.scope import LocalScope
from longthread.stores.memory.maintenance import consumed_of, new_ledger_text
from longthread.stores.memory.memory_file import add_entry, count_entries
from longthread.stores.memory.rewriting import brought_up_to_date, rewrite_memory, settle_rewrite
from longthread.stores.memory.scopes import Scope
from longthread.stores.memory.undo import undo_consolidation
from longthread.stores.workspace import Owner

MOMENT = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
OLD = "# Facts\n- One.\n- Two.\n- Three.\n"
NEW = "# Facts\n- One and two.\n- Three.\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalScope:
    quick_disk(monkeypatch)
    return LocalWorkspace(tmp_path).scoped(Owner(None, "agent"))


def rewrite(files: LocalScope, text: str, run: str = "1", scope: Scope = "agent") -> bool:
    path = "MEMORY.md" if scope == "agent" else "global/MEMORY.md"
    base = files.read_text(path)
    new, known = new_ledger_text(files, scope), consumed_of(files, scope)
    consumed = {**known, **{k: v for n in new for k, v in n.consumed().items()}}
    return rewrite_memory(
        files, scope, base, text, known=known, consumed=consumed, run=run, moment=MOMENT
    )


@pytest.mark.parametrize(
    ("current", "result"),
    [
        (OLD, NEW),
        (OLD + "- Saved.\n", NEW + "- Saved.\n"),
        ("- Saved first.\n" + OLD, NEW + "- Saved first.\n"),
        (OLD.replace("- Three.\n", ""), "# Facts\n- One and two.\n"),
        (OLD.replace("Three", "Drei"), "# Facts\n- One and two.\n- Drei.\n"),
        (OLD.replace("- ", "* "), NEW),
        ("# Other\n- Quite another.\n", None),
        ("", None),
        (None, None),
    ],
    ids=["same", "appended", "put first", "removed", "edited", "bullets", "other", "blank", "gone"],
)
def test_what_happened_to_the_file_meanwhile_happens_to_the_new_text(
    current: str | None, result: str | None
) -> None:
    assert brought_up_to_date(OLD, NEW, current) == result


def test_what_two_consolidations_both_have_stands_there_once() -> None:
    ours = OLD + "- New. <!-- 2026-03-02 -->\n"
    for theirs in (OLD + "- new\n- Theirs.\n", OLD.replace("- One.\n", "") + "- New.\n"):
        result = brought_up_to_date(OLD, ours, theirs) or ""
        assert result.lower().count("new") == 1
        assert result.count("Theirs.") == theirs.count("Theirs.")


def test_whoever_comes_second_with_the_same_ledger_text_changes_nothing(files: LocalScope) -> None:
    files.write_text("MEMORY.md", OLD)
    files.write_text("memory/2026-03-02.md", "## 10:00\n- Four.\n")
    known = consumed_of(files)
    assert rewrite(files, OLD + "- Four.\n", run="theirs")
    assert not rewrite_memory(
        files, "agent", OLD, OLD + "- IV.\n", known=known, consumed={}, run="ours", moment=MOMENT
    )
    assert files.read_text("MEMORY.md") == OLD + "- Four.\n"
    assert new_ledger_text(files) == []


def test_a_file_that_came_to_be_meanwhile_stands_after_the_new_text() -> None:
    assert brought_up_to_date(None, NEW, "- Saved.\n") == NEW + "- Saved.\n"
    assert brought_up_to_date("- One", "- Eins\n", "- One\n\n- Saved\n") == "- Eins\n\n\n- Saved\n"
    assert brought_up_to_date("- Port 505", "- P\n", "- Port 5051\n") is None  # no appended "1"


def test_what_was_added_meanwhile_stands_below_its_heading() -> None:
    old = "## Staging\n- a\n\n## Production\n- b\n"
    new = "## Production\n- b\n\n## Staging\n- a\n"
    for now in (old + "- port 5051\n", old.replace("- b\n", "- port 5051\n- b\n")):
        assert brought_up_to_date(old, new, now) == new + "## Production\n- port 5051\n"
    now = old.replace("- a\n", "- a\n- port 5052\n")
    assert brought_up_to_date(old, new, now) == new + "- port 5052\n\n"
    assert brought_up_to_date(old, new, old.replace("- b\n", "- b\n\n## Test\n- c\n")) == (
        new + "\n## Test\n- c\n"
    )


def test_what_is_taken_out_meanwhile_leaves_its_heading_to_the_others() -> None:
    new = "## Staging\n- a\n\n## Production\n- b\n- c\n"
    assert brought_up_to_date("- a\n- b\n- c\n", new, "- a\n- c\n") == (
        "## Staging\n- a\n\n## Production\n- c\n"
    )


def test_a_fence_that_is_never_closed_does_not_swallow_what_was_saved_meanwhile() -> None:
    saved = "\n<!-- 2026-03-02 -->\nDeploy:\n```\nmake\n```\n"
    for before in ("- a\n", "- a\n- b\n"):
        result = brought_up_to_date(before, "- a\n```\nopen\n", "- a\n" + saved) or ""
        assert count_entries(result) == 2
        assert result.endswith(saved.lstrip())


entry = st.sampled_from([f"- Fact {n}.\n" for n in range(9)])


@given(st.lists(entry, max_size=9, unique=True), st.lists(entry, max_size=9, unique=True))
def test_an_entry_that_was_saved_is_never_lost(old: list[str], now: list[str]) -> None:
    text = "- Merged.\n"
    result = brought_up_to_date("".join(old), text, "".join(now))
    added = [e for e in now if e not in old]
    if result is None:
        assert len([e for e in old if e not in now]) * 2 > len(old)
    else:
        assert all(result.count(e) == 1 for e in added)
        assert count_entries(result) == 1 + len(added)


@pytest.mark.parametrize("scope", ["agent", "global"])
def test_undo_puts_back_the_file_and_what_the_ledgers_have(files: LocalScope, scope: Scope) -> None:
    path = "MEMORY.md" if scope == "agent" else "global/MEMORY.md"
    files.write_text(path, OLD)
    files.write_text(path.replace("MEMORY", "memory/2026-03-02"), "## 10:00\n- Four.\n")
    assert rewrite(files, NEW, scope=scope)
    assert files.read_text(path) == NEW
    assert new_ledger_text(files, scope) == []
    undone = undo_consolidation(files, MOMENT, scope)
    assert undone is not None
    assert (undone.path, undone.at, undone.text, undone.left) == (path, MOMENT, OLD, 0)
    assert files.read_text(path) == OLD
    assert [new.text for new in new_ledger_text(files, scope)] == ["## 10:00\n- Four.\n"]
    assert undo_consolidation(files, MOMENT, scope) is None


def test_what_was_saved_since_stays_when_a_rewrite_is_undone(files: LocalScope) -> None:
    files.write_text("MEMORY.md", OLD)
    rewrite(files, NEW)
    saved = add_entry(NEW, date(2026, 3, 2), "Saved.")
    files.write_text("MEMORY.md", saved)
    undo_consolidation(files, MOMENT)
    assert files.read_text("MEMORY.md") == OLD + "\n<!-- 2026-03-02 -->\nSaved.\n"


def test_several_rewrites_are_undone_one_by_one(files: LocalScope) -> None:
    texts = [f"- Version {n}.\n" for n in range(8)]
    files.write_text("MEMORY.md", texts[0])
    for n, text in enumerate(texts[1:]):
        rewrite(files, text, run=str(n))
    for text in reversed(texts[2:7]):  # five of them
        undone = undo_consolidation(files, MOMENT)
        assert undone is not None
        assert undone.text == text
    assert undo_consolidation(files, MOMENT) is None


def test_the_parts_of_one_consolidation_are_undone_together(files: LocalScope) -> None:
    files.write_text("MEMORY.md", OLD)
    rewrite(files, NEW, run="1")
    files.write_text("MEMORY.md", NEW + "- Saved between.\n")
    rewrite(files, "- All of it.\n- Saved between.\n", run="1")
    undo_consolidation(files, MOMENT)
    assert files.read_text("MEMORY.md") == OLD + "- Saved between.\n"
    assert undo_consolidation(files, MOMENT) is None


def test_undoing_the_first_consolidation_leaves_no_file(files: LocalScope) -> None:
    rewrite(files, NEW)
    undone = undo_consolidation(files, MOMENT)
    assert undone is not None
    assert undone.text is None
    assert not files.exists("MEMORY.md")


def test_a_file_that_was_rewritten_by_hand_since_is_not_replaced(files: LocalScope) -> None:
    files.write_text("MEMORY.md", OLD)
    rewrite(files, NEW)
    files.write_text("MEMORY.md", "- By hand.\n- All of it.\n- Quite another.\n")
    with pytest.raises(LongthreadError, match="rewritten since") as caught:
        undo_consolidation(files, MOMENT)
    assert caught.value.code == "MEMORY_REWRITTEN"
    assert "By hand." in (files.read_text("MEMORY.md") or "")


def test_a_rewrite_that_a_crash_kept_from_the_file_is_forgotten(
    files: LocalScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_text("MEMORY.md", OLD)

    def dies(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LocalScope, "update_text", dies)
        with pytest.raises(KeyboardInterrupt):
            rewrite(files, NEW)
    settle_rewrite(files, "agent")
    assert files.read_json("undo") is None
    assert undo_consolidation(files, MOMENT) is None


def test_a_rewrite_that_a_crash_kept_from_the_records_is_finished(
    files: LocalScope, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_text("MEMORY.md", OLD)
    files.write_text("memory/2026-03-02.md", "## 10:00\n- Four.\n")
    update = LocalScope.update_json

    def dies(self: LocalScope, name: str, transform: Any) -> Any:
        if name == "maintenance":
            raise KeyboardInterrupt
        return update(self, name, transform)

    with monkeypatch.context() as patch:
        patch.setattr(LocalScope, "update_json", dies)
        with pytest.raises(KeyboardInterrupt):
            rewrite(files, NEW)
    files.write_text("MEMORY.md", NEW + "- Saved.\n")
    settle_rewrite(files, "agent")
    assert new_ledger_text(files) == []
    undo_consolidation(files, MOMENT)
    assert files.read_text("MEMORY.md") == OLD + "- Saved.\n"
