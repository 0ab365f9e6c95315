"""Names and relative paths."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from longthread.state.errors import WorkspaceError
from longthread.stores.paths import (
    MAX_SEGMENT_BYTES,
    check_segment,
    safe_segment,
    shown,
    split_path,
)

HOSTILE_SEGMENTS = [
    "",
    ".",
    "..",
    "...",
    "a/b",
    "../x",
    "/etc",
    "a\\b",
    "..\\x",
    "C:\\x",
    "a\0b",
    "\0",
    "a\nb",
    "a\rb",
    "a\tb",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "a\u2028b",
    "a\u2029b",
    "\ud800",
    "a\udfffb",
    "CON",
    "con",
    "Con.txt",
    "con.tar.gz",
    "CON .txt",
    "PRN",
    "AUX.md",
    "NUL",
    "nul.json",
    "COM1",
    "com9.log",
    "COM¹",
    "LPT1",
    "lpt0.md",
    "LPT³.txt",
    "CONIN$",
    "conout$",
    "CLOCK$",
    "name.",
    "name ",
    "name. .",
    " ",
    "x" * 256,
    "é" * 128,
    "😀" * 64,
]
HOSTILE_PATHS = [
    "",
    "/",
    "/MEMORY.md",
    "//server/share",
    "../escape",
    "/memories/..",
    "memory/../../x",
    "memory/..",
    "./MEMORY.md",
    "memory/./x.md",
    "memory//x.md",
    "memory/",
    "memory\\x.md",
    "..\\..\\x",
    "C:/Windows",
    "C:x",
    "c:",
    "notes.md:stream",
    "a/b\0.md",
    "a/b\n.md",
    "a/\ud83d.md",
    "memory/CON",
    "aux/notes.md",
    "memory./x.md",
    "memory /x.md",
    "memory/x.md.",
    "global/../../bob/global/MEMORY.md",
    "global/",
    ".longthread/flush.json",
    "memory/.longthread/x.json",
    ".LongThread/x.json",
    ".longthread-0123456789abcdef.tmp",
    "a/" + "x" * 256,
]


@pytest.mark.parametrize("name", HOSTILE_SEGMENTS, ids=ascii)
def test_a_hostile_name_is_refused_with_the_name_in_the_error(name: str) -> None:
    with pytest.raises(WorkspaceError, match=re.escape(shown(name))):
        check_segment(name, "agent")


@pytest.mark.parametrize("path", HOSTILE_PATHS, ids=ascii)
def test_a_hostile_path_is_refused_with_the_path_in_the_error(path: str) -> None:
    with pytest.raises(WorkspaceError, match=re.escape(shown(path))):
        split_path(path)


@pytest.mark.parametrize(
    "name",
    [
        "coder",
        "Coder 2",
        "a.b",
        ".hidden",
        "~",
        "日本語",
        "naïve",
        "console",
        "com10",
        "auth0|1",
        "x" * MAX_SEGMENT_BYTES,
        "...x",
        "-rf",
        "%2e%2e",
    ],
)
def test_an_ordinary_name_is_taken_as_it_is(name: str) -> None:
    assert check_segment(name) == name


def test_a_path_is_cut_at_its_slashes() -> None:
    assert split_path("global/memory/2026-11-30.md") == ("global", "memory", "2026-11-30.md")


def test_every_refusal_says_what_to_do() -> None:
    advice = re.compile(r"[;,] (\w+ )*(give|leave|remove|choose|shorten|name|separate|pass)\b")
    for name in HOSTILE_SEGMENTS:
        with pytest.raises(WorkspaceError) as refused:
            check_segment(name)
        assert advice.search(str(refused.value)), str(refused.value)
    for path in HOSTILE_PATHS:
        with pytest.raises(WorkspaceError) as refused:
            split_path(path)
        assert advice.search(str(refused.value)), str(refused.value)


def test_an_error_about_a_huge_name_stays_short() -> None:
    with pytest.raises(WorkspaceError) as refused:
        split_path("x" * 1_000_000)
    assert len(str(refused.value)) < 600


def test_an_error_about_a_lone_surrogate_can_be_printed() -> None:
    with pytest.raises(WorkspaceError) as refused:
        check_segment("\ud800")
    assert str(refused.value).encode("utf-8")


@pytest.mark.parametrize("plain", ["thread-17", "0192f1c4-7b1e-7c3a-9f00-1d2c3b4a5968", "a.b_c"])
def test_a_plain_id_stays_readable_as_it_is(plain: str) -> None:
    assert safe_segment(plain) == plain


def test_an_id_that_has_to_change_keeps_a_readable_beginning() -> None:
    assert re.fullmatch(r"call-abc~[0-9a-f]{16}", safe_segment("call/ABC"))


def test_ids_that_a_file_system_would_merge_get_different_names() -> None:
    ids = [
        "Ann",
        "ann",
        "ANN",
        "é",
        "e\u0301",
        "É",
        "ß",
        "ss",
        "ﬁ",
        "fi",
        "a.",
        "a",
        "a ",
        "_default",
    ]
    names = [safe_segment(text) for text in ids]
    assert len({name.casefold() for name in names}) == len(ids)


def test_the_folder_of_no_user_cannot_be_named() -> None:
    assert safe_segment("_default") != "_default"


ids = st.text(alphabet=st.characters(exclude_categories=[]), max_size=300)


@given(ids)
@example("con.x")
@example("CON.tar.gz")
@example("nul")
@example("x" * 10_000)
@example("." * 100)
@example("\ud800")
@example("İ" * 50)
def test_a_safe_segment_is_safe_bounded_and_stable(text: str) -> None:
    name = safe_segment(text)
    assert check_segment(name) == name
    assert split_path(f"{name}/{name}.txt") == (name, f"{name}.txt")
    assert re.fullmatch(r"[a-z0-9][a-z0-9._~-]{0,63}", name)
    assert safe_segment(text) == name


@given(st.lists(st.one_of(ids, st.text("aAbB.-_~ /", max_size=4)), unique=True, max_size=20))
def test_no_two_ids_share_a_safe_segment(texts: list[str]) -> None:
    assert len({safe_segment(text) for text in texts}) == len(texts)


@given(ids)
def test_the_safe_segment_of_an_id_is_not_that_of_its_own_result(text: str) -> None:
    name = safe_segment(text)
    assert name == text or safe_segment(name) != name


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_whatever_is_accepted_stays_below_its_folder(parts: list[str]) -> None:
    path = "/".join(parts)
    try:
        segments = split_path(path)
    except WorkspaceError:
        return
    assert "/".join(segments) == path
    assert not {"", ".", ".."} & set(segments)
