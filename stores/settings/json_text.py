"""Reading JSON that people have written: strictly, completely, and without quoting it.

Python's reader takes `NaN`, lets the second of two equal keys win and turns `1e999` into infinity.
Here each of these is a mistake. The text itself never becomes part of an error: it may hold keys.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from .mistakes import quoted

__all__ = ["JsonMistake", "parse_json", "read_json"]

LARGEST = 1_000_000
"""Bytes of a settings file."""

_DEEPEST = 100


class JsonMistake(ValueError):
    """A text is not JSON, or not such that everybody reads it alike. Quotes nothing of it."""


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file.

    Raises:
        JsonMistake: It cannot be read, or is no JSON object in UTF-8.
    """
    if not path.is_file():  # a pipe would never end
        raise JsonMistake("is no file")
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise JsonMistake(f"cannot be read ({error.strerror or type(error).__name__})") from None
    if len(raw) > LARGEST:
        raise JsonMistake(f"is over {LARGEST:,} bytes long: not a settings file")
    try:
        text = raw.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise JsonMistake(f"line {line}: not UTF-8; save the file in that encoding") from None
    if not text.strip():
        raise JsonMistake("is empty: write at least {}")
    value = parse_json(text)
    if not isinstance(value, dict):
        raise JsonMistake(f"has to hold a JSON object, {{…}}, not {_json_kind(value)}")
    return value


def parse_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        JsonMistake: It is not JSON, names a key twice, or holds a number that is none.
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_number,
            parse_float=_finite,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        mistake = f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
        if _has_comment(error.doc, error.pos):
            mistake += "; JSON has no comments"
        elif error.msg.startswith(("Expecting property name", "Illegal trailing comma")):
            mistake += "; a name in double quotes is missing, or a comma is too many"
        raise JsonMistake(mistake) from None
    except RecursionError:
        raise JsonMistake("is nested too deeply") from None
    _check_nesting_and_texts(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonMistake(f"names the field {quoted(twice)} twice in one object; keep one of them")
    return found


def _no_number(text: str) -> float:
    raise JsonMistake(f"{text} is no number in JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonMistake("holds a number that is too large")
    return value


def _integer(text: str) -> int:
    if len(text) > 100:
        raise JsonMistake(f"holds a number of {len(text):,} digits: too large")
    return int(text)


def _has_comment(text: str, position: int) -> bool:
    return text[position : position + 2] in ("//", "/*") or text[position : position + 1] == "#"


def _json_kind(value: Any) -> str:
    kinds: dict[type, str] = {list: "a list", str: "a text", bool: "true or false"}
    return kinds.get(type(value), "null" if value is None else "a number")


def _check_nesting_and_texts(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise JsonMistake("is nested too deeply")
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each)
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
            elif isinstance(each, str) and not _is_unicode(each):
                raise JsonMistake("holds half of a surrogate pair (\\uD800 to \\uDFFF) in a text")
        level = below


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
