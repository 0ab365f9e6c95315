"""Reading a part of a text: by line, or by character where one line is too long.

Both walk the file from its beginning in chunks, because neither lines nor characters have a fixed
length in UTF-8: the time grows with the offset, the memory only with the page.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterable, Iterator

from ..state.errors import WorkspaceError
from .workspace import TextPage

__all__ = ["page_by_char", "page_by_line", "text_chunks"]

_CHUNK_BYTES = 65_536


def text_chunks(descriptor: int) -> Iterator[str]:
    """Yield the text of an open file in chunks, decoded as `files.decode` would the whole."""
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    while data := os.read(descriptor, _CHUNK_BYTES):
        yield decoder.decode(data)
    yield decoder.decode(b"", final=True)


def page_by_line(
    chunks: Iterable[str],
    offset: int,
    limit: int,
    max_chars: int,
    *,
    start: tuple[int, int] = (0, 0),
) -> TextPage:
    """Return up to `limit` lines, and no more than `max_chars` characters, from line `offset` on.

    Args:
        chunks: The text in parts.
        offset: The first line, counted from the beginning of the file.
        limit: How many lines.
        max_chars: How many characters.
        start: The line and the character of the file that the first chunk starts at.

    Raises:
        WorkspaceError: The offset is negative, or a limit is not at least 1.
    """
    _check(offset, limit=limit, max_chars=max_chars)
    return _page(chunks, start, skip_lines=offset, skip_chars=0, lines=limit, chars=max_chars)


def page_by_char(
    chunks: Iterable[str], offset: int, limit: int, *, start: tuple[int, int] = (0, 0)
) -> TextPage:
    """Return up to `limit` characters from character `offset` on.

    Args:
        chunks: The text in parts.
        offset: The first character, counted from the beginning of the file.
        limit: How many characters.
        start: The line and the character of the file that the first chunk starts at.

    Raises:
        WorkspaceError: The offset is negative, or the limit is not at least 1.
    """
    _check(offset, limit=limit)
    return _page(chunks, start, skip_lines=0, skip_chars=offset, lines=sys.maxsize, chars=limit)


def _page(
    chunks: Iterable[str],
    begin: tuple[int, int],
    *,
    skip_lines: int,
    skip_chars: int,
    lines: int,
    chars: int,
) -> TextPage:
    line, char = begin
    pieces: list[str] = []
    at_end = True
    first = (0, 0)
    for chunk in chunks:
        start = 0
        if line < skip_lines or char < skip_chars:
            start = max(
                _after_lines(chunk, 0, skip_lines - line), min(len(chunk), skip_chars - char)
            )
            line += chunk.count("\n", 0, start)
            char += start
        if start == len(chunk):
            continue
        if not pieces:
            first = (line, char)
        end = min(_after_lines(chunk, start, lines), start + chars)
        passed = chunk.count("\n", start, end)
        pieces.append(chunk[start:end])
        line, lines = line + passed, lines - passed
        char, chars = char + end - start, chars - (end - start)
        if end < len(chunk):
            at_end = False
            break
    if not pieces:
        first = (line, char)
    return TextPage("".join(pieces), *first, line, char, at_end)


def _after_lines(text: str, start: int, count: int) -> int:
    """Return the position after `count` newlines from `start` on, or the end of the text."""
    if text.count("\n", start) < count:
        return len(text)
    for _ in range(count):
        start = text.index("\n", start) + 1
    return start


def _check(offset: int, **limits: int) -> None:
    if offset < 0:
        raise WorkspaceError(f"offset {offset!r} is negative; count from 0")
    for name, value in limits.items():
        if value < 1:
            raise WorkspaceError(f"{name} {value!r} leaves nothing to read; give at least 1")
