"""MEMORY.md as a list of entries."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from longthread.state.fences import fenced
from longthread.stores import MemoryPart, add_entry, count_entries, entry_body, split_memory
from longthread.stores.memory.memory_sections import (
    drop_first,
    headings_above,
    with_headings,
    without,
)

DAY = date(2026, 3, 2)
lines = st.sampled_from(
    [
        "<!-- 2026-03-02 -->",
        "<!-- 2026-03-03 -->\r",
        "\\<!-- 2026-03-02 -->",
        "\\\\<!-- 2026-03-02 -->",
        "<!-- 2026-99-02 -->",
        " <!-- 2026-03-02 -->",
        "<!-- 2026-03-02 --> x",
        "# Title",
        "\\# Title",
        "## Section",
        "#hashtag",
        "- bullet",
        "* bullet",
        "1. first",
        "  continued",
        "\tcontinued",
        "text",
        "```",
        "```python",
        "````",
        "~~~",
        "\\```",
        "   ```",
        "---",
        "key: value",
        "",
        "  ",
        "\f",
        "\r",
    ]
)
files = st.one_of(st.text(), st.lists(st.one_of(lines, st.text(max_size=5))).map("\n".join))


def kinds(text: str) -> list[str]:
    return [part.kind for part in split_memory(text)]


def texts(text: str) -> list[str]:
    return [part.text for part in split_memory(text)]


@given(files)
def test_the_parts_joined_are_the_file(text: str) -> None:
    assert "".join(texts(text)) == text


@given(files)
def test_parts_are_whole_lines_and_never_empty(text: str) -> None:
    parts = texts(text)
    assert all(parts)
    assert all(part.endswith("\n") for part in parts[:-1])


def entries_below(text: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """The entries of a file without their headings, each with the headings it stands below."""
    parts = split_memory(text)
    return [
        (with_headings(part, ()).text.strip(), [heading.name for heading in headings])
        for part, headings in zip(parts, headings_above(parts), strict=True)
        if part.is_entry
    ]


sections = st.lists(
    st.sampled_from(
        ["# A", "## B", "## C", "### D", "- e", "- f", "paragraph", "", "<!-- 2026-03-02 -->\ng"]
    ),
    max_size=14,
).map("\n".join)


@given(files | sections, st.integers(0, 10))
@example("## S\n- s\n\n## P\n- p\n- q\n", 2)
def test_dropping_entries_leaves_the_others_below_their_headings(text: str, count: int) -> None:
    assert entries_below(drop_first(text, count)) == entries_below(text)[count:]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # In Markdown only a list that begins with 1 may follow a paragraph at once.
        ("Ask first:\n- a\n2) b\n", "Ask first:\n\n2) b\n"),
        # Indented text alone would become the text of the bullet above.
        ("- a\n\nRun this:\n\n    make test\n\n- b\n", "- a\n\n- b\n"),
        ("- a\n\n---\n\n\ttab\n- b\n", "- a\n\n- b\n"),
    ],
)
def test_what_is_left_is_read_as_it_was(text: str, left: str) -> None:
    assert without(split_memory(text), {1}) == left


def test_indented_text_at_the_top_is_an_entry_each() -> None:
    assert kinds("    a\n\n    b\n\nc\n\n    d\n") == ["paragraph"] * 3


@given(files | sections, st.sets(st.integers(0, 10)))
@example("# A\n## B\n- b\n## C\n- c\n- d\n", {1})
@example("0\n-\n-\n\n0", {2})
@example("0\n\n---\n---", {0})
def test_whatever_goes_what_is_left_stands_below_its_headings(text: str, gone: set[int]) -> None:
    parts = split_memory(text)
    entries = [index for index, part in enumerate(parts) if part.is_entry]
    kept = without(parts, {entries[at] for at in gone if at < len(entries)})
    expected = [entry for at, entry in enumerate(entries_below(text)) if at not in gone]
    assert entries_below(kept) == expected
    if not gone:
        assert kept == text


@given(st.lists(st.tuples(st.dates(), files), max_size=5))
@example([(DAY, "```python\nnever closed"), (DAY, "```\nclosed\n```"), (DAY, "x")])
@example([(DAY, "# only a heading"), (DAY, "text\n\n## last\n\n### lines")])
@example([(DAY, "a\n<!-- 2020-01-01 -->\nb"), (DAY, "---\nkey: value\n---\nfrontmatter")])
def test_any_bodies_saved_one_after_the_other_are_read_back(
    entries: list[tuple[date, str]],
) -> None:
    text: str | None = None
    for day, body in entries:
        text = add_entry(text, day, body)
    parts = split_memory(text or "")
    assert [(part.kind, part.day) for part in parts] == [("dated", day) for day, _ in entries]
    assert [entry_body(part) for part in parts] == [body.strip() for _, body in entries]


@given(files, st.text() | files)
@example("- Notes\n\n```\nnever closed\n", "Deploy:\n```\nmake\n```\nthen check")
@example(" ", "")
@example("<!--0001-01-01-->\n#", "")
def test_a_saved_entry_is_the_last_and_changes_nothing_before_it(text: str, body: str) -> None:
    before = split_memory(text)
    longer = add_entry(text, DAY, body)
    assert longer.startswith(text)
    *others, saved = split_memory(longer)
    last = before[-1] if before else None
    if last and (last.kind == "rest" or last.text.rstrip().rpartition("\n")[2].startswith("#")):
        # A heading without anything below now has something.
        assert "".join(part.text for part in [*others, saved]) == longer
        others, before = others[: len(before) - 1], before[:-1]
    assert [(p.kind, p.day, p.text.strip()) for p in others] == [
        (p.kind, p.day, p.text.strip()) for p in before
    ]
    assert (saved.kind, saved.day, entry_body(saved)) == ("dated", DAY, body.strip())


def test_a_dated_entry_looks_like_this() -> None:
    text = add_entry(None, DAY, "Project uses port 5051.\n")
    assert text == "<!-- 2026-03-02 -->\nProject uses port 5051.\n"
    text = add_entry(text, date(2026, 3, 3), "Second.")
    assert text.endswith("5051.\n\n<!-- 2026-03-03 -->\nSecond.\n")


@pytest.mark.parametrize("before", ["text", "text\n", "text\n\n", "text\n\n\n"])
def test_a_new_entry_has_a_blank_line_before_it(before: str) -> None:
    text = add_entry(before, DAY, "x")
    assert text.removeprefix(before).lstrip("\n") == "<!-- 2026-03-02 -->\nx\n"
    assert "text\n\n" in text


def test_a_dated_entry_goes_on_to_the_next_date_whatever_is_in_it() -> None:
    first = "<!-- 2026-03-02 -->\n# Title\n\n- a\n- b\n\ntext\n\n---\nkey: v\n---\n\n"
    second = "<!-- 2026-03-03 -->\nx"
    assert split_memory(first + second) == [
        MemoryPart("dated", first, DAY),
        MemoryPart("dated", second, date(2026, 3, 3)),
    ]
    assert entry_body(split_memory(first)[0]).startswith("# Title\n\n- a")


def test_bullets_and_paragraphs_above_the_first_date_are_entries() -> None:
    text = (
        "# Memory\n\n"
        "## User\n\n- likes tea\n  with milk\n\n  and sugar\n- lives in\nBerlin\n"
        "* third\n1. fourth\n\n"
        "A paragraph\nof two lines.\n\n"
        "Another.\n"
    )
    assert texts(text) == [
        "# Memory\n\n## User\n\n- likes tea\n  with milk\n\n  and sugar\n",
        "- lives in\nBerlin\n",
        "* third\n",
        "1. fourth\n\n",
        "A paragraph\nof two lines.\n\n",
        "Another.\n",
    ]
    assert kinds(text) == ["bullet"] * 4 + ["paragraph"] * 2


def test_headings_belong_to_what_follows() -> None:
    parts = split_memory("- a\n\n## B\n\n### C\n- c\n\n## Day\n\n<!-- 2026-03-02 -->\nd\n\n## E\n")
    assert [part.text for part in parts] == [
        "- a\n\n",
        "## B\n\n### C\n- c\n\n",
        "## Day\n\n<!-- 2026-03-02 -->\nd\n\n## E\n",
    ]
    assert parts[2].kind == "dated"
    assert entry_body(parts[2]) == "d\n\n## E"


def test_headings_above_the_next_date_belong_to_it() -> None:
    text = "<!-- 2026-03-02 -->\na\n\n## B\n\n<!-- 2026-03-03 -->\nb\n"
    assert texts(text) == ["<!-- 2026-03-02 -->\na\n\n", "## B\n\n<!-- 2026-03-03 -->\nb\n"]


def test_a_heading_with_nothing_below_is_no_entry() -> None:
    assert kinds("- a\n\n## Empty\n") == ["bullet", "rest"]
    assert count_entries("# Memory\n") == 0
    assert count_entries("\n\n") == 0
    assert split_memory("") == []


@pytest.mark.parametrize(
    "code",
    [
        "```\n<!-- 2026-03-02 -->\n- no bullet\n\n# no heading\n```\n",
        "~~~md\n<!-- 2026-03-02 -->\n```\n~~~\n",
        "````\n```\n<!-- 2026-03-02 -->\n```\n````\n",
        "  ```yaml\n---\na: 1\n---\n<!-- 2026-03-02 -->\n  ```\n",
        "```\r\n<!-- 2026-03-02 -->\r\n```\r\n",
    ],
)
def test_nothing_in_a_code_block_splits_an_entry(code: str) -> None:
    assert texts(code) == [code]
    assert kinds(code) == ["paragraph"]
    dated = f"<!-- 2026-01-01 -->\nbefore\n{code}after\n"
    assert texts(dated) == [dated]
    bullet = f"- item\n\n  {code.strip().replace(chr(10), chr(10) + '  ')}\n"
    assert texts(bullet) == [bullet]


def test_a_fence_that_is_never_closed_hides_nothing() -> None:
    text = "<!-- 2026-03-02 -->\n```python\nx\n\n<!-- 2026-03-03 -->\ny\n"
    assert len(texts(text)) == 2


def test_a_fence_inside_another_does_not_close_it() -> None:
    assert fenced(["````\n", "```\n", "x\n", "````\n", "y\n"]) == [True] * 4 + [False]
    assert fenced(["```\n", "~~~\n", "``` x\n", "```\n"]) == [True] * 4
    assert fenced(["``` a`b\n", "x\n", "```\n"]) == [False] * 3


def test_frontmatter_is_kept_and_is_no_entry() -> None:
    front = "---\ntitle: x\nnote: |\n  - no bullet\n\n  <!-- 2026-03-02 -->\n---\n\n"
    text = front + "- a\n- b\n"
    assert kinds(text) == ["frontmatter", "bullet", "bullet"]
    assert texts(text)[0] == front
    assert drop_first(text, 1) == front + "- b\n"
    assert drop_first(text, 99) == front


@pytest.mark.parametrize("text", ["\ufeff---\na: 1\n---\nx\n", "---\r\na: 1\r\n---\r\nx\r\n"])
def test_frontmatter_is_found_behind_a_byte_order_mark_and_with_windows_newlines(
    text: str,
) -> None:
    assert kinds(text) == ["frontmatter", "paragraph"]


@pytest.mark.parametrize("text", ["---\n\ntext\n\n---\n", "---\na: 1\n", "x\n---\na: 1\n---\n"])
def test_a_rule_is_not_frontmatter(text: str) -> None:
    assert "frontmatter" not in kinds(text)


@pytest.mark.parametrize(
    "line",
    [
        "<!-- 2026-99-02 -->",
        " <!-- 2026-03-02 -->",
        "<!-- 2026-03-02 --> x",
        "<!-- 26-3-2 -->",
        "x <!-- 2026-03-02 -->",
        "<!-- ２０２６-03-02 -->",
        "\\<!-- 2026-03-02 -->",
    ],
)
def test_what_only_resembles_a_date_starts_no_entry(line: str) -> None:
    assert kinds(f"text\n{line}\nmore\n") == ["paragraph"]


@pytest.mark.parametrize(
    "line", ["<!--2026-03-02-->", "<!--  2026-03-02  -->", "<!-- 2026-03-02 -->\r"]
)
def test_a_date_may_be_spaced_as_people_write_it(line: str) -> None:
    [part] = split_memory(f"{line}\nmore\n")
    assert (part.kind, part.day, entry_body(part)) == ("dated", DAY, "more")


def test_a_file_of_nothing_but_opening_fences_takes_no_quadratic_work() -> None:
    marks = [f"```{number}\n" for number in range(50_000)]
    assert not any(fenced(marks))
