"""What a file in a store is made of: pieces, each an item of its own, and how they make a text.

A *version* holds a whole text, an *addition* some lines for the end of it. No piece is ever changed
after it was written. A version names the pieces that it takes the place of (`replaces`), all that
its writer had seen, so a piece that was added in the meantime counts behind it, and one that should
have been removed but is still there does not count. A version without a text says that there is no
file.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "INLINE_CHARS",
    "Piece",
    "Run",
    "as_runs",
    "is_key",
    "key_time",
    "new_key",
    "pack_text",
    "piece_value",
    "read_piece",
    "unpack_text",
]

CHUNK_CHARS = 65_536
"""The longest part of a text in one item: at most 256 KB."""

INLINE_CHARS = 16_384
"""Up to this length a text is in its piece: one request reads it. Listings load it too."""

_KEY = re.compile(r"\d{20}-[0-9a-f]{12}", re.ASCII)
_clock = threading.Lock()
_last_stamp = 0


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of text, at hand or in an item that has to be fetched.

    Args:
        chars: Its length in characters.
        size: Its length in bytes of UTF-8.
        lines: How many newlines are in it.
        text: The text itself, or None when it is in a chunk.
        chunk: The key of its chunk.
    """

    chars: int
    size: int
    lines: int
    text: str | None = None
    chunk: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a file.

    Args:
        key: The key of its item: unique, and larger than those written before it.
        order: Sorts additions as they came: by the store's clock, then by key.
        path: The path of the file.
        whole: Whether it is a version, otherwise an addition.
        exists: False for a version that says that there is no file.
        runs: The text.
        open: Whether the text ends in the middle of a line.
        header: What stands before an addition when the file is empty so far.
        checked: Whether it depends on what was there before it.
        replaces: The keys of the pieces that do not count any more.
        at: When it was written, in seconds since 1970.
    """

    key: str
    order: tuple[Any, ...]
    path: str
    whole: bool
    exists: bool
    runs: tuple[Run, ...]
    open: bool
    header: str
    checked: bool
    replaces: frozenset[str]
    at: float


def new_key(after: Iterable[str] = ()) -> str:
    """Return a key that nobody else has, larger than those made earlier here and those given."""
    global _last_stamp
    largest = max(after, default="0-")
    with _clock:
        _last_stamp = max(time.time_ns(), _last_stamp + 1, int(largest.partition("-")[0]) + 1)
        return f"{_last_stamp:020d}-{secrets.token_hex(6)}"


def is_key(key: str) -> bool:
    """Whether `new_key` could have made this."""
    return _KEY.fullmatch(key) is not None


def key_time(key: str) -> float:
    """Return when a key was made, in seconds since 1970.

    Raises:
        ValueError: It is no such key.
    """
    if not is_key(key):
        raise ValueError(f"unknown key {key!r}")
    return int(key[:20]) / 1e9


def as_runs(text: str) -> tuple[tuple[Run, ...], dict[str, str]]:
    """Cut a text into runs; return them with the texts of the chunks that have to be written."""
    if len(text) <= INLINE_CHARS:
        return ((_run(text, text, None),) if text else ()), {}
    chunks = {
        new_key(): text[start : start + CHUNK_CHARS] for start in range(0, len(text), CHUNK_CHARS)
    }
    return tuple(_run(part, None, key) for key, part in chunks.items()), chunks


def piece_value(
    path: str,
    runs: Iterable[Run],
    *,
    whole: bool,
    exists: bool = True,
    open: bool = False,
    header: str = "",
    checked: bool = True,
    replaces: Iterable[str] = (),
    at: float | None = None,
) -> dict[str, Any]:
    """Return a piece as the value of an item; the arguments are those of `Piece`."""
    value: dict[str, Any] = {
        "path": path,
        "kind": "version" if whole else "addition",
        "at": time.time() if at is None else at,
        "runs": [
            [run.chars, run.size, run.lines, run.chunk] if run.text is None else pack_text(run.text)
            for run in runs
        ],
    }
    if not exists:
        value["exists"] = False
    if open:
        value["open"] = True
    if header:
        value["header"] = pack_text(header)
    if checked:
        value["checked"] = True
    if replaces := sorted(replaces):
        value["replaces"] = replaces
    return value


def read_piece(key: str, value: Mapping[str, Any], order: tuple[Any, ...]) -> Piece:
    """Return the piece that `piece_value` has made a value of.

    Raises:
        KeyError, TypeError, ValueError: It is not such a value.
    """
    if value["kind"] not in ("version", "addition"):
        raise ValueError(f"unknown kind {value['kind']!r}")
    key_time(key)
    return Piece(
        key=key,
        order=order,
        path=str(value["path"]),
        whole=value["kind"] == "version",
        exists=bool(value.get("exists", True)),
        runs=tuple(map(_read_run, value["runs"])),
        open=bool(value.get("open", False)),
        header=unpack_text(value["header"]) if "header" in value else "",
        checked=bool(value.get("checked", False)),
        replaces=frozenset(map(str, value.get("replaces", ()))),
        at=float(value["at"]),
    )


def pack_text(text: str) -> dict[str, Any]:
    """Return a text as any store takes it: PostgreSQL has no NUL."""
    if "\0" not in text:
        return {"text": text}
    return {"text": text.replace("%", "%25").replace("\0", "%00"), "escaped": True}


def unpack_text(value: Mapping[str, Any]) -> str:
    """Return the text that `pack_text` was given."""
    text = value["text"]
    if not isinstance(text, str):
        raise TypeError(f"not a text: {text!r}")
    return text.replace("%00", "\0").replace("%25", "%") if value.get("escaped") else text


def _run(text: str, inline: str | None, chunk: str | None) -> Run:
    return Run(len(text), len(text.encode("utf-8")), text.count("\n"), inline, chunk)


def _read_run(value: Any) -> Run:
    if isinstance(value, Mapping):
        text = unpack_text(value)
        return _run(text, text, None)
    chars, size, lines, chunk = value
    return Run(int(chars), int(size), int(lines), None, str(chunk))
