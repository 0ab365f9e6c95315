"""Searching memory line by line: what is found, in which order, and never from an old content."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longthread.stores import LocalWorkspace, Owner, ScopedWorkspace, Workspace
from longthread.stores.matching import compile_query
from longthread.stores.memory import line_search
from longthread.stores.memory.line_search import FoldedCache, FoldedText, Needles
from longthread.stores.memory.memory_search import search_memory
from longthread.stores.workspace import VersionedFiles

once_per_view = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def found(view: ScopedWorkspace, query: str, mode: str | None = None, **options: int) -> list[str]:
    return [str(hit) for hit in search_memory(view, compile_query(query, mode), **options).hits]


def test_one_line_is_one_record(view: ScopedWorkspace) -> None:
    view.write_text(
        "MEMORY.md", "# Memory\n\n- Deploy with the blue\n- configuration of port 5051\n"
    )
    assert found(view, "port 5051") == ["MEMORY.md#4: - configuration of port 5051"]
    assert found(view, "blue port", "all") == []
    assert found(view, "blue\n- configuration") == []
    assert found(view, "blue port", "any") == [
        "MEMORY.md#3: - Deploy with the blue",
        "MEMORY.md#4: - configuration of port 5051",
    ]


def test_the_order_is_memory_ledgers_archives_own_before_shared_newest_day_first(
    view: ScopedWorkspace,
) -> None:
    paths = [
        "MEMORY.md",
        "memory/2026-11-30.md",
        "memory/2025-12-31.md",
        "memory/notes.md",
        "global/MEMORY.md",
        "global/memory/2026-11-29.md",
        "archive-2026-10.md",
        "archive-2026-02.md",
        "memory/archive/2024-01-02.md",
        "memory/archive/2024-01-01.md",
        "global/archive-2026-10.md",
        "global/memory/archive/2024-01-01.md",
    ]
    for path in reversed(paths):
        view.write_text(path, f"needle in {path}\n")
    assert found(view, "needle") == [f"{path}#1: needle in {path}" for path in paths]


def test_other_files_are_not_memory(view: ScopedWorkspace) -> None:
    for path in (
        "large_tool_results/t/a.txt",
        "MEMORY.md.bak",
        "notes.md",
        "archive-2026-1.md",
        "old/MEMORY.md",
        "memory/picture.txt",
        "global/notes.md",
    ):
        view.write_text(path, "needle\n")
    assert found(view, "needle") == []


def test_other_owners_are_not_searched(workspace: Workspace) -> None:
    for user, name in (("ann", "coder"), ("ann", "writer"), ("bob", "coder"), (None, "coder")):
        files = workspace.scoped(Owner(user, name))
        files.write_text("MEMORY.md", f"needle of {user} {name}\n")
        files.write_text("global/MEMORY.md", f"needle of all of {user}\n")
    for user in ("ann", "bob", None):
        assert found(workspace.scoped(Owner(user, "coder")), "NEEDLE") == [
            f"MEMORY.md#1: needle of {user} coder",
            f"global/MEMORY.md#1: needle of all of {user}",
        ]


@pytest.mark.parametrize("before", ["", "x\n\n", "straße İ\r\n", "a\fb\0c\rd\u2028e\x85\n" * 3])
def test_only_a_newline_ends_a_line(view: ScopedWorkspace, before: str) -> None:
    view.write_text("MEMORY.md", f"{before}needle\r\nlast")
    number = before.count("\n") + 1
    assert found(view, "needle") == [f"MEMORY.md#{number}: needle"]
    assert found(view, "LAST") == [f"MEMORY.md#{number + 1}: last"]


def test_control_characters_in_a_hit_are_shown_harmless(view: ScopedWorkspace) -> None:
    view.write_text("MEMORY.md", "needle\rMEMORY.md#9: forged\f\0\x1b[2J\u2028end\n")
    assert found(view, "needle") == [
        r"MEMORY.md#1: needle\rMEMORY.md#9: forged\x0c\x00\x1b[2J\u2028end"
    ]
    assert found(view, "\f\0") == found(view, "needle")


def test_a_very_long_line_is_shown_around_the_hit(view: ScopedWorkspace) -> None:
    view.write_text("MEMORY.md", "ß" * 300_000 + " the needle is here " + "x" * 300_000)
    (hit,) = found(view, "NEEDLE IS", line_chars=100)
    assert "the needle is here" in hit
    assert len(hit) < 130


def test_a_search_ends_at_its_limit_and_says_so(view: ScopedWorkspace) -> None:
    view.write_text("MEMORY.md", "needle\n" * 5)
    query = compile_query("needle")
    assert search_memory(view, query, max_hits=5).more is False
    few = search_memory(view, query, max_hits=4)
    assert (len(few.hits), few.more) == (4, True)


def test_where_an_entry_came_from_is_no_hit(view: ScopedWorkspace) -> None:
    text = "## 10:00\n<!-- longthread thread=t-1 messages=m1..m2 -->\nThe thread is blue.\n"
    view.write_text("memory/2026-11-30.md", text)
    assert found(view, "thread") == ["memory/2026-11-30.md#3: The thread is blue."]


def test_nothing_to_look_for_finds_nothing(view: ScopedWorkspace) -> None:
    view.write_text("MEMORY.md", "a  b\n\n \n")
    for query in ("", " ", "\t\u3000"):
        for mode in ("all", "any"):
            assert found(view, query, mode) == []
    assert found(view, "") == []
    assert found(view, "  ") == ["MEMORY.md#1: a  b"]


LINES = st.lists(st.text(st.sampled_from("ab ßİ東\r\f\0e\u0301."), max_size=12), max_size=12)


@once_per_view
@given(LINES, st.text("ab ß東.", min_size=1, max_size=3), st.sampled_from(["phrase", "all", "any"]))
def test_the_lines_found_are_those_that_match_alone(
    view: ScopedWorkspace, lines: list[str], query: str, mode: str
) -> None:
    view.delete("MEMORY.md")
    view.write_text("MEMORY.md", "\n".join(lines))
    wanted = compile_query(query, mode)
    expected = [number for number, line in enumerate(lines, 1) if wanted.matches(line)]
    assert [hit.line for hit in search_memory(view, wanted).hits] == expected


@pytest.fixture(params=["installed", "absent"])
def finder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """With and without the library that makes searching faster."""
    if request.param == "absent":
        monkeypatch.setitem(sys.modules, "stringzilla", None)
    line_search._finder.cache_clear()
    yield request.param
    line_search._finder.cache_clear()


@once_per_view
@given(
    LINES, st.text("abßİ東. ", min_size=1, max_size=4), st.sampled_from(["phrase", "all", "any"])
)
def test_lines_are_found_with_and_without_the_faster_library(
    finder: str, lines: list[str], query: str, mode: str
) -> None:
    assert (line_search._finder() is bytes.find) == (finder == "absent")
    wanted = compile_query(query, mode)
    hits = FoldedText.of("\n".join(lines * 30)).lines(Needles(wanted))
    expected = [(number, line) for number, line in enumerate(lines * 30, 1) if wanted.matches(line)]
    assert list(hits) == expected


def test_the_rarest_word_need_not_be_the_longest() -> None:
    lines = ["deployment of green"] * 500 + ["deployment of blue", "blue", "deployment"] * 3
    hits = FoldedText.of("\n".join(lines)).lines(Needles(compile_query("blue deployment", "all")))
    assert [number for number, _ in hits] == [501, 504, 507]


def test_a_change_is_always_seen(view: ScopedWorkspace) -> None:
    for number in range(30):
        view.write_text("MEMORY.md", f"value {number:02}\n")
        assert found(view, "value") == [f"MEMORY.md#1: value {number:02}"]
    view.append_text("MEMORY.md", "value more\n")
    assert len(found(view, "value")) == 2
    view.delete("MEMORY.md")
    assert found(view, "value") == []


def test_a_change_that_keeps_size_and_time_is_seen(
    local: LocalWorkspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = local.scoped(Owner("ann", "coder"))
    scope.write_text("MEMORY.md", "value 1\n")
    file = home / "MEMORY.md"
    os.utime(file, ns=(10**18, 10**18))
    for rewritten in ("value 2\n", "value 3\n"):
        # As if it had been written long ago: what was read is trusted from now on.
        with monkeypatch.context() as patch:
            patch.setattr("longthread.stores.local.scope._SETTLES_AFTER", -1.0)
            assert len(found(scope, "value")) == 1
        file.write_text(rewritten)
        os.utime(file, ns=(10**18, 10**18))
        assert found(scope, "value") == [f"MEMORY.md#1: {rewritten.strip()}"]


def test_a_file_that_has_not_changed_is_read_once(
    view: ScopedWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same text in another workspace need not be read either.
    monkeypatch.setattr("longthread.stores.memory.memory_search._cache", FoldedCache(10_000_000))
    monkeypatch.setattr("longthread.stores.local.scope._SETTLES_AFTER", -1.0)
    long = "value 2\n" * 30_000
    view.write_text("memory/2026-11-30.md", long)
    view.append_text("MEMORY.md", "value 1")
    read: list[str] = []
    read_text = type(view).read_text

    def counted(self: Any, path: str) -> str | None:
        read.append(path)
        return read_text(self, path)

    monkeypatch.setattr(type(view), "read_text", counted)
    for _ in range(3):
        assert found(view, "value 1") == ["MEMORY.md#1: value 1"]
    assert sorted(read) == ["MEMORY.md", "memory/2026-11-30.md"]
    view.append_text("MEMORY.md", "value 1 again")
    view.write_text("memory/2026-11-30.md", long.replace("2", "3"))
    assert len(found(view, "value 1")) == 2
    assert len(found(view, "value 3")) == 50
    assert len(read) == 4


def test_versions_are_listed_for_the_folder_alone_or_for_all_below(view: ScopedWorkspace) -> None:
    assert isinstance(view, VersionedFiles)
    assert view.list_versions() == {}
    paths = ["MEMORY.md", "memory/2026-11-30.md", "memory/archive/2026-01-01.md", "memory2/a.md"]
    for path in [*paths, *(f"global/{path}" for path in paths)]:
        view.write_text(path, "the same text")
    assert list(view.list_versions(deep=False)) == ["MEMORY.md"]
    assert sorted(view.list_versions()) == paths
    assert list(view.list_versions("memory", deep=False)) == ["memory/2026-11-30.md"]
    assert sorted(view.list_versions("memory")) == paths[1:3]
    assert list(view.list_versions("global", deep=False)) == ["global/MEMORY.md"]
    assert sorted(view.list_versions("global")) == [f"global/{path}" for path in paths]


def test_pipes_circles_and_links_out_of_the_workspace_are_not_searched(
    local: LocalWorkspace, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scope = local.scoped(Owner("ann", "coder"))
    scope.write_text("MEMORY.md", "needle\n")
    scope.write_text("memory/2026-11-30.md", "needle\n")
    (home / "MEMORY.md").unlink()
    os.mkfifo(home / "MEMORY.md")
    assert found(scope, "needle") == ["memory/2026-11-30.md#1: needle"]
    (home / "memory" / "2026-11-29.md").symlink_to(home / "memory" / "2026-11-29.md")
    outside = home.parents[4] / "outside.md"
    outside.write_text("needle outside\n")
    (home / "memory" / "2026-11-28.md").symlink_to(outside)
    assert found(scope, "needle") == ["memory/2026-11-30.md#1: needle"]
    assert not caplog.records


def test_a_file_that_vanishes_or_fails_while_searching_does_not_end_the_search(
    local: LocalWorkspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from longthread.state.errors import WorkspaceError

    scope = local.scoped(Owner("ann", "coder"))
    for day in (28, 29, 30):
        scope.write_text(f"memory/2026-11-{day}.md", f"needle {day}\n")
    read_text = type(scope).read_text

    def failing(self: Any, path: str) -> str | None:
        if "29" in path:
            raise WorkspaceError(f"cannot read {path!r}: no permission")
        return None if "30" in path else read_text(self, path)

    monkeypatch.setattr(type(scope), "read_text", failing)
    result = search_memory(scope, compile_query("needle"))
    assert [hit.path for hit in result.hits] == ["memory/2026-11-28.md"]
    assert result.unread == ("memory/2026-11-29.md",)
    assert "no permission" in caplog.text


def test_the_cache_keeps_within_its_limit_and_spares_what_is_in_use() -> None:
    cache = FoldedCache(limit=100)
    text = FoldedText.of("x" * 20)  # 40 bytes in both forms
    first = cache.begin()
    for token in "abc":
        cache.put(token, text, first)
    assert [cache.get(token, first) is text for token in "abc"] == [True, True, False]
    second = cache.begin()
    assert cache.get("b", second) is text
    cache.put("d", text, second)
    cache.put("huge", FoldedText.of("x" * 200), second)
    assert [cache.get(token, second) is text for token in "abd"] == [False, True, True]
    cache.drop("b")
    cache.drop("b")
    cache.put("e", text, second)
    assert cache.get("e", second) is text


def test_searches_at_once_and_changes_between_them_agree(local: LocalWorkspace) -> None:
    scope = local.scoped(Owner("ann", "coder"))
    for day in range(1, 29):
        scope.write_text(f"memory/2026-01-{day:02}.md", f"needle {day}\n" * 50)
    problems: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(10):
                assert len(found(scope, "needle", max_hits=2_000)) >= 28 * 50
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(50):
        scope.append_text("memory/2026-01-01.md", f"needle more {number}\n")
    for thread in threads:
        thread.join()
    assert not problems
    assert len(found(scope, "needle more", max_hits=100)) == 50
