"""What every workspace does, whoever keeps the files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longthread.state.errors import WorkspaceError
from longthread.stores import JsonRecord, Owner, ScopedWorkspace, Workspace

once_per_view = settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TRICKY = "CRLF\r\nlone\rform\ffeed\0NUL\u2028sep\x85\tend 😀 日本\ufeff\n\n"


def test_it_fits_the_protocols(workspace: Workspace, view: ScopedWorkspace) -> None:
    assert isinstance(workspace, Workspace)
    assert isinstance(view, ScopedWorkspace)


def test_a_missing_file_is_none_everywhere(view: ScopedWorkspace) -> None:
    assert view.read_text("MEMORY.md") is None
    assert view.read_lines("MEMORY.md") is None
    assert view.read_chars("MEMORY.md") is None
    assert view.info("MEMORY.md") is None
    assert not view.exists("MEMORY.md")
    assert not view.delete("MEMORY.md")
    assert view.list_files() == []
    assert view.list_files("memory") == []
    assert view.read_json("cursor") is None
    assert view.list_json() == []


@pytest.mark.parametrize(
    "path",
    [
        "MEMORY.md",
        "memory/2026-11-30.md",
        "global/MEMORY.md",
        "large_tool_results/t/c.txt",
        "日本/ノート.md",
        "a b/c d.md",
        "a/b/c/d/e/f.md",
        ".hidden",
        "x" * 255,
    ],
)
def test_what_is_written_is_read_back_as_it_was(view: ScopedWorkspace, path: str) -> None:
    view.write_text(path, "old")
    view.write_text(path, TRICKY)
    assert view.read_text(path) == TRICKY
    assert view.exists(path)


@once_per_view
@given(text=st.text())
def test_any_text_round_trips(view: ScopedWorkspace, text: str) -> None:
    view.write_text("x.md", text)
    assert view.read_text("x.md") == text


def test_an_empty_text_is_a_file(view: ScopedWorkspace) -> None:
    view.write_text("x.md", "")
    assert view.read_text("x.md") == ""
    assert view.exists("x.md")


@once_per_view
@given(text=st.text(alphabet=st.characters(exclude_categories=[])))
def test_text_with_lone_surrogates_is_made_well_formed(view: ScopedWorkspace, text: str) -> None:
    view.write_text("x.md", text)
    view.append_text("y.md", text)
    view.update_text("z.md", lambda _: text)
    for path in ("x.md", "y.md", "z.md"):
        stored = view.read_text(path)
        assert stored is None or stored.encode("utf-8") is not None
    clean = "".join(c for c in text if not "\ud800" <= c <= "\udfff")
    remains = iter(view.read_text("x.md") or "")
    assert all(character in remains for character in clean)


def test_appends_are_whole_lines(view: ScopedWorkspace) -> None:
    assert view.append_text("x.md", "one")
    assert view.append_text("x.md", "two\n")
    assert view.append_text("x.md", "three\n\nfour")
    assert view.read_text("x.md") == "one\ntwo\nthree\n\nfour\n"


def test_an_append_repairs_a_last_line_without_a_newline(view: ScopedWorkspace) -> None:
    view.write_text("x.md", "cut sho")
    view.append_text("x.md", "next\n")
    assert view.read_text("x.md") == "cut sho\nnext\n"


def test_appending_nothing_creates_nothing(view: ScopedWorkspace) -> None:
    assert not view.append_text("x.md", "", header="# head\n")
    assert not view.exists("x.md")


def test_a_header_is_written_once(view: ScopedWorkspace) -> None:
    view.append_text("x.md", "one", header="# head\n")
    view.append_text("x.md", "two", header="# head\n")
    assert view.read_text("x.md") == "# head\none\ntwo\n"


def test_an_append_can_depend_on_what_is_there(view: ScopedWorkspace) -> None:
    seen = []

    def unless(text: str) -> bool:
        seen.append(text)
        return "one" in text

    assert view.append_text("x.md", "one", unless=unless)
    assert not view.append_text("x.md", "one", unless=unless)
    assert view.read_text("x.md") == "one\n"
    assert seen == ["", "one\n"]


@once_per_view
@given(texts=st.lists(st.text(min_size=1), min_size=1, max_size=5))
def test_appends_follow_each_other_and_never_share_a_line(
    view: ScopedWorkspace, texts: list[str]
) -> None:
    view.delete("x.md")
    for text in texts:
        view.append_text("x.md", text)
    expected = "".join(text if text.endswith("\n") else text + "\n" for text in texts)
    assert view.read_text("x.md") == expected


def test_an_update_sees_the_text_and_returns_what_is_there_afterwards(
    view: ScopedWorkspace,
) -> None:
    assert view.update_text("x.md", lambda old: f"{old}!") == "None!"
    assert view.update_text("x.md", lambda old: f"{old}!") == "None!!"
    assert view.update_text("x.md", lambda _: None) == "None!!"
    assert view.read_text("x.md") == "None!!"


def test_an_update_that_returns_none_creates_nothing(view: ScopedWorkspace) -> None:
    assert view.update_text("x.md", lambda _: None) is None
    assert not view.exists("x.md")


def test_an_update_that_raises_changes_nothing(view: ScopedWorkspace) -> None:
    view.write_text("x.md", "old")

    def fail(_: str | None) -> str:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        view.update_text("x.md", fail)
    assert view.read_text("x.md") == "old"
    assert view.update_text("x.md", lambda _: "free again") == "free again"


def test_several_files_change_together(view: ScopedWorkspace) -> None:
    view.write_text("a.md", "a")
    view.write_text("gone.md", "x")
    view.update_texts(
        ["a.md", "memory/b.md", "gone.md", "same.md"],
        lambda old: {
            "a.md": f"{old['a.md']}2",
            "memory/b.md": str(old["memory/b.md"]),
            "gone.md": None,
        },
    )
    assert view.read_text("a.md") == "a2"
    assert view.read_text("memory/b.md") == "None"
    assert view.list_files() == ["a.md", "memory/b.md"]


def test_a_change_of_several_files_that_raises_changes_none(view: ScopedWorkspace) -> None:
    view.write_text("a.md", "a")
    with pytest.raises(ZeroDivisionError):
        view.update_texts(["a.md", "b.md"], lambda _: {"a.md": str(1 // 0)})
    assert view.list_files() == ["a.md"]
    assert view.read_text("a.md") == "a"


def test_a_file_that_was_not_named_cannot_be_changed(view: ScopedWorkspace) -> None:
    with pytest.raises(WorkspaceError, match=r"'b\.md'.*not among"):
        view.update_texts(["a.md"], lambda _: {"a.md": "x", "b.md": "y"})
    assert view.list_files() == []


def test_a_file_moves_without_ever_being_in_both_places(view: ScopedWorkspace) -> None:
    view.write_text("memory/2026-01-01.md", "text")
    source, target = "memory/2026-01-01.md", "memory/archive/2026-01-01.md"
    view.update_texts([source, target], lambda old: {target: old[source], source: None})
    assert view.list_files("memory") == [target]
    assert view.read_text(target) == "text"


def test_an_empty_list_of_files_is_no_change(view: ScopedWorkspace) -> None:
    view.update_texts([], lambda old: old)
    assert view.list_files() == []


def test_listings_are_sorted_and_hold_files_only(view: ScopedWorkspace) -> None:
    for path in ["memory/b.md", "memory/a.md", "MEMORY.md", "memory/archive/z.md", "memoryx/c.md"]:
        view.write_text(path, "x")
    view.write_text("global/memory/g.md", "x")
    view.update_json("cursor", lambda _: {"a": 1})
    assert view.list_files("memory") == ["memory/a.md", "memory/archive/z.md", "memory/b.md"]
    assert view.list_files("memory/") == view.list_files("memory")
    assert view.list_files() == [
        "MEMORY.md",
        "memory/a.md",
        "memory/archive/z.md",
        "memory/b.md",
        "memoryx/c.md",
    ]
    assert view.list_files("global") == ["global/memory/g.md"]
    assert view.list_files("MEMORY.md") == []
    assert all(view.exists(path) for path in view.list_files())


def test_deleting_the_last_file_of_a_folder_leaves_no_folder(view: ScopedWorkspace) -> None:
    view.write_text("large_tool_results/secret-thread/c.txt", "x")
    assert view.delete("large_tool_results/secret-thread/c.txt")
    assert not view.exists("large_tool_results/secret-thread/c.txt")
    assert view.list_files() == []
    view.write_text("large_tool_results/secret-thread/c.txt", "again")


def test_info_tells_size_in_bytes_and_time_in_utc(view: ScopedWorkspace) -> None:
    view.write_text("x.md", "é\n")
    info = view.info("x.md")
    assert info is not None
    assert (info.path, info.size) == ("x.md", 3)
    assert info.modified.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - info.modified) < timedelta(hours=1)


def test_the_shared_folder_is_no_file(view: ScopedWorkspace) -> None:
    with pytest.raises(WorkspaceError, match="'global'"):
        view.write_text("global", "x")


def test_pages_of_lines_follow_each_other(view: ScopedWorkspace) -> None:
    view.write_text("x.md", "one\r\ntwo\fstill two\nthree")
    page = view.read_lines("x.md", 0, 2)
    assert page is not None
    assert (page.text, page.next_line, page.at_end) == ("one\r\ntwo\fstill two\n", 2, False)
    page = view.read_lines("x.md", page.next_line, 2)
    assert page is not None
    assert (page.text, page.line, page.char, page.at_end) == ("three", 2, 19, True)


def test_one_huge_line_can_be_paged_by_character(view: ScopedWorkspace) -> None:
    text = "é" * 1_000_000
    view.write_text("x.md", text)
    page = view.read_lines("x.md", 0, 10, max_chars=300_000)
    pages = []
    while page is not None:
        pages.append(page.text)
        page = None if page.at_end else view.read_chars("x.md", page.next_char, 300_000)
    assert "".join(pages) == text
    assert len(pages) == 4


def test_records_are_apart_from_the_files(view: ScopedWorkspace) -> None:
    assert view.update_json("flush/t-1", lambda old: {"old": old, "at": "m9"}) == {
        "old": None,
        "at": "m9",
    }
    assert view.read_json("flush/t-1") == {"old": None, "at": "m9"}
    assert view.list_files() == []
    assert view.list_json() == ["flush/t-1"]
    assert view.list_json("flush") == ["flush/t-1"]
    assert view.list_json("other") == []


def test_a_record_is_left_or_removed_on_request(view: ScopedWorkspace) -> None:
    view.update_json("cursor", lambda _: {"n": [1]})

    def look(record: dict[str, object] | None) -> None:
        assert record is not None
        record.clear()

    assert view.update_json("cursor", look) == {"n": [1]}
    assert view.read_json("cursor") == {"n": [1]}
    assert view.update_json("cursor", lambda _: {}) is None
    assert view.read_json("cursor") is None
    assert view.list_json() == []
    assert view.update_json("cursor", lambda _: {}) is None


def test_shared_records_belong_to_all_agents_of_the_user(workspace: Workspace) -> None:
    one = workspace.scoped(Owner("ann", "one"))
    two = workspace.scoped(Owner("ann", "two"))
    one.update_json("global/maintenance", lambda _: {"at": 1})
    one.update_json("maintenance", lambda _: {"at": 2})
    assert two.read_json("global/maintenance") == {"at": 1}
    assert two.read_json("maintenance") is None
    assert two.list_json("global") == ["global/maintenance"]


@once_per_view
@given(
    record=st.dictionaries(
        st.text(),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.text(st.characters(exclude_categories=[])),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
        min_size=1,
    )
)
def test_any_record_round_trips(view: ScopedWorkspace, record: dict[str, object]) -> None:
    view.update_json("r", lambda _: record)
    assert view.read_json("r") == record


@pytest.mark.parametrize(
    "value", [{1, 2}, b"x", float("nan"), object()], ids=["set", "bytes", "nan", "object"]
)
def test_a_record_that_json_cannot_hold_is_refused_and_the_old_one_stays(
    view: ScopedWorkspace, value: object
) -> None:
    view.update_json("r", lambda _: {"ok": 1})
    with pytest.raises(WorkspaceError, match="record 'r'"):
        view.update_json("r", lambda _: {"bad": value})
    assert view.read_json("r") == {"ok": 1}


def test_users_and_agents_do_not_see_each_other(workspace: Workspace) -> None:
    owners = [
        Owner("ann", "coder"),
        Owner("bob", "coder"),
        Owner("ann", "writer"),
        Owner(None, "coder"),
        Owner("_default", "coder"),
        Owner("Ann", "coder"),
        Owner("ann", "Coder"),
        Owner("default", "coder"),
        Owner("auth0|12", "coder"),
        Owner("auth0-12", "coder"),
    ]
    views = [workspace.scoped(owner) for owner in owners]
    for number, view in enumerate(views):
        view.write_text("MEMORY.md", str(number))
        view.update_json("cursor", partial(_numbered, number))
    for number, view in enumerate(views):
        assert view.read_text("MEMORY.md") == str(number)
        assert view.read_json("cursor") == {"n": number}
        assert view.list_files() == ["MEMORY.md"]


def test_shared_files_are_those_of_one_user(workspace: Workspace) -> None:
    workspace.scoped(Owner("ann", "coder")).write_text("global/MEMORY.md", "shared")
    assert workspace.scoped(Owner("ann", "writer")).read_text("global/MEMORY.md") == "shared"
    assert workspace.scoped(Owner("bob", "coder")).read_text("global/MEMORY.md") is None
    assert workspace.scoped(Owner(None, "coder")).read_text("global/MEMORY.md") is None
    assert workspace.scoped(Owner("ann", "global")).read_text("MEMORY.md") is None


def test_erasing_a_user_removes_that_user_only(workspace: Workspace) -> None:
    ann, bob = (workspace.scoped(Owner(user, "coder")) for user in ("ann", "bob"))
    for view in (ann, bob):
        view.write_text("MEMORY.md", "x")
        view.write_text("global/MEMORY.md", "x")
        view.update_json("cursor", lambda _: {"a": 1})
    assert workspace.erase_user("ann")
    assert ann.list_files() == ann.list_files("global") == ann.list_json() == []
    assert bob.list_files() == ["MEMORY.md"]
    assert bob.read_json("cursor") == {"a": 1}
    assert not workspace.erase_user("ann")
    assert not workspace.erase_user(None)
    ann.write_text("MEMORY.md", "back")
    assert ann.read_text("MEMORY.md") == "back"


@pytest.mark.parametrize("name", ["../x", "..", "", "a/b", "a\\b", "CON", "dots.", "\0", "\ud800"])
def test_an_agent_with_a_hostile_name_is_refused(workspace: Workspace, name: str) -> None:
    with pytest.raises(WorkspaceError, match="agent"):
        workspace.scoped(Owner("ann", name))


@pytest.mark.parametrize("user", ["", "\0", "a\nb", "a\u2028b", "\ud800"])
def test_a_user_without_a_printable_id_is_refused(workspace: Workspace, user: str) -> None:
    with pytest.raises(WorkspaceError, match="user"):
        workspace.scoped(Owner(user, "coder"))
    with pytest.raises(WorkspaceError, match="user"):
        workspace.erase_user(user)


def test_a_user_may_be_called_anything_and_has_files_nobody_else_has(workspace: Workspace) -> None:
    users = [
        "https://issuer.example/users/42",
        "https:--issuer.example-users-42",
        "https://issuer.example/users/43",
        "..",
        ".",
        "...",
        "../ann",
        "ann/",
        "/ann",
        "ann",
        "ann/agents/coder",
        "a\\b",
        "a/b",
        "CON",
        "con",
        "dots.",
        "dots",
        "C:\\x",
        "x" * 10_000,
        "日本語",
        "~",
        "_default",
    ]
    for user in users:
        view = workspace.scoped(Owner(user, "coder"))
        assert view.list_files() == view.list_files("global") == []
        view.write_text("MEMORY.md", user)
        view.write_text("global/MEMORY.md", user)
    for user in users:
        view = workspace.scoped(Owner(user, "coder"))
        assert view.read_text("MEMORY.md") == view.read_text("global/MEMORY.md") == user
    for user in users:
        assert workspace.erase_user(user)
        assert not workspace.erase_user(user)
    assert workspace.scoped(Owner(None, "coder")).list_files("global") == []


@pytest.mark.parametrize(
    "path",
    [
        ".",
        "..",
        "../escape.md",
        "memory/../../x",
        "memory//x",
        "/etc/passwd",
        "\\\\host\\share",
        "a\\b",
        "C:/x",
        "a:stream",
        "a\0",
        "a\nb",
        "a\u2028b",
        "\ud800",
        "CON",
        "memory/nul.md",
        "dots.",
        "space ",
        ".longthread/x",
        ".LongThread",
        "x" * 256,
        "global/../x",
    ],
)
def test_every_method_checks_its_path(view: ScopedWorkspace, path: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: view.read_text(path),
        lambda: view.read_lines(path),
        lambda: view.read_chars(path),
        lambda: view.write_text(path, "x"),
        lambda: view.append_text(path, "x"),
        lambda: view.append_text(path, ""),
        lambda: view.update_text(path, lambda _: "x"),
        lambda: view.update_texts(["a.md", path], lambda _: {}),
        lambda: view.delete(path),
        lambda: view.exists(path),
        lambda: view.info(path),
        lambda: view.list_files(path),
        lambda: view.read_json(path),
        lambda: view.update_json(path, lambda _: {"a": 1}),
        lambda: view.list_json(path),
    ]
    for call in calls:
        with pytest.raises(WorkspaceError):
            call()


def test_a_record_name_must_be_a_name(view: ScopedWorkspace) -> None:
    for name in ["", "a/", "/a", ".", "..", "x" * 255]:
        with pytest.raises(WorkspaceError):
            view.read_json(name)


def test_threads_lose_no_update_and_no_append(view: ScopedWorkspace) -> None:
    def work(number: int) -> None:
        for step in range(25):
            view.update_text("count.txt", lambda old: str(int(old or "0") + 1))
            view.append_text("log.txt", f"{number}.{step} " + "x" * 50)
            view.update_json("count", lambda old: {"n": (old or {"n": 0})["n"] + 1})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert view.read_text("count.txt") == "100"
    assert view.read_json("count") == {"n": 100}
    lines = (view.read_text("log.txt") or "").splitlines()
    assert sorted(lines) == sorted(f"{n}.{s} " + "x" * 50 for n in range(4) for s in range(25))


@once_per_view
@given(
    blocks=st.lists(st.lists(st.text(min_size=1, max_size=30), min_size=1), min_size=2, max_size=4)
)
def test_concurrent_appends_of_any_text_never_interleave(
    view: ScopedWorkspace, blocks: list[list[str]]
) -> None:
    view.delete("x.md")

    def work(number: int) -> None:
        for text in blocks[number]:
            view.append_text("x.md", f"<{number}:{len(text)}>{text}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(blocks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rest = view.read_text("x.md") or ""
    found: list[list[str]] = [[] for _ in blocks]
    while rest:
        head, _, tail = rest.partition(">")
        number, length = map(int, head[1:].split(":"))
        found[number].append(tail[:length])
        rest = (
            tail[length:].removeprefix("\n") if not tail[:length].endswith("\n") else tail[length:]
        )
    assert found == blocks


def _numbered(number: int, _: JsonRecord | None) -> JsonRecord:
    return {"n": number}
