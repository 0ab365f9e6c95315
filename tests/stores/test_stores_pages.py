"""Paged reading."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longthread.state.errors import WorkspaceError
from longthread.stores.local.files import decode
from longthread.stores.pages import page_by_char, page_by_line, text_chunks
from longthread.stores.workspace import TextPage

texts = st.text(st.sampled_from("ab\n\r\f\u2028é😀"), max_size=40)


def in_chunks(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(texts, st.integers(1, 7), st.integers(1, 9))
def test_pages_by_character_joined_are_the_text(text: str, limit: int, chunk: int) -> None:
    pages: list[TextPage] = []
    while not pages or not pages[-1].at_end:
        offset = pages[-1].next_char if pages else 0
        pages.append(page_by_char(in_chunks(text, chunk), offset, limit))
        assert pages[-1].char == offset
        assert pages[-1].line == text.count("\n", 0, offset)
    assert "".join(page.text for page in pages) == text
    assert all(len(page.text) <= limit for page in pages)
    assert len(pages) == max(1, -(-len(text) // limit))


@given(texts, st.integers(1, 4), st.integers(1, 9))
def test_pages_by_line_joined_are_the_text(text: str, limit: int, chunk: int) -> None:
    pages: list[TextPage] = []
    while not pages or not pages[-1].at_end:
        offset = pages[-1].next_line if pages else 0
        pages.append(page_by_line(in_chunks(text, chunk), offset, limit, 1_000))
        assert pages[-1].line == offset
        assert pages[-1].text.count("\n") <= limit
    assert "".join(page.text for page in pages) == text


@given(texts, st.integers(0, 12), st.integers(1, 4), st.integers(1, 6), st.integers(1, 9))
def test_a_page_is_the_part_of_the_text_that_it_says(
    text: str, offset: int, limit: int, most: int, chunk: int
) -> None:
    page = page_by_line(in_chunks(text, chunk), offset, limit, most)
    assert page.text == text[page.char : page.next_char]
    assert page.line == text.count("\n", 0, page.char)
    assert page.next_line == text.count("\n", 0, page.next_char)
    assert page.at_end == (page.next_char == len(text))
    assert len(page.text) <= most
    assert page.line == min(offset, text.count("\n"))


@given(texts, st.integers(0, 60), st.integers(1, 9))
def test_the_size_of_the_chunks_makes_no_difference(text: str, offset: int, chunk: int) -> None:
    assert page_by_char(in_chunks(text, chunk), offset, 5) == page_by_char([text], offset, 5)
    assert page_by_line(in_chunks(text, chunk), offset, 2, 5) == page_by_line([text], offset, 2, 5)


def test_a_page_past_the_end_is_empty_and_says_where_the_end_is() -> None:
    assert page_by_line(["a\nb"], 99, 1, 10) == TextPage("", 1, 3, 1, 3, at_end=True)
    assert page_by_char(["a\nb"], 99, 1) == TextPage("", 1, 3, 1, 3, at_end=True)
    assert page_by_line([], 0, 1, 10) == TextPage("", 0, 0, 0, 0, at_end=True)


def test_the_rest_of_the_file_is_not_read() -> None:
    chunks = iter(["a\n", "b\n", "c\n", "d\n"])
    page = page_by_line(chunks, 0, 2, 100)
    assert (page.text, page.at_end) == ("a\nb\n", False)
    assert list(chunks) == ["d\n"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((-1, 1, 1), "offset -1"), ((0, 0, 1), "limit 0"), ((0, 1, 0), "max_chars 0")],
)
def test_a_page_that_makes_no_sense_is_refused(
    arguments: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(WorkspaceError, match=message):
        page_by_line([], *arguments)


def test_a_page_by_character_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(WorkspaceError, match="offset -5"):
        page_by_char([], -5, 1)
    with pytest.raises(WorkspaceError, match="limit 0"):
        page_by_char([], 0, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        "é".encode() * 70_000,
        b"x" + "😀".encode() * 40_000,
        b"\xff" * 70_000,
        b"x" * 65_535 + "😀".encode()[:3],
        b"x" * 65_535 + b"\xf0\x9f\n",
    ],
    ids=lambda data: f"{len(data)} bytes",
)
def test_a_file_read_in_chunks_is_the_file_read_at_once(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    descriptor = os.open(tmp_path / "x", os.O_RDONLY)
    try:
        assert "".join(text_chunks(descriptor)) == decode(data)
    finally:
        os.close(descriptor)
