"""Cutting text without breaking it."""

from __future__ import annotations

import re
from typing import Any

import regex

__all__ = [
    "clip_end",
    "clip_start",
    "encodable",
    "head_and_tail",
    "visible",
    "well_formed",
    "without_first_word",
    "without_last_word",
]

# Longest run of code points that is looked at as one visible character (a family emoji has 11).
_CLUSTER_REACH = 64
_CLUSTER = regex.compile(r"\X")

# A longer run of letters is no word, but text that is written without spaces.
_LONGEST_WORD = 80

# C0 and C1 controls but for the tab, and the separators of lines and paragraphs.
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def well_formed(text: str) -> str:
    """Return text that can be encoded as UTF-8: lone surrogates are escaped (``\\udc80``)."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text


def visible(text: str, *, keep: str = "") -> str:
    """Return text with control characters shown as escapes (``\\x1b``), as on a terminal or a line.

    Args:
        text: Any text. A tab stays one.
        keep: Further characters that stay as they are.
    """
    return _CONTROLS.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(),
        text,
    )


def encodable(value: Any) -> Any:
    """Return a value as savers can store it: lone surrogates in text become "?", and a number that
    does not fit in 64 bits becomes its digits.

    The value itself if there is none; dicts and lists are looked through.
    """
    if isinstance(value, str):
        if value.isascii():
            return value
        clean = value.encode("utf-8", "replace").decode("utf-8")
        return value if clean == value else clean
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    if isinstance(value, list):
        items = [encodable(item) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if isinstance(value, dict):
        pairs = [(encodable(key), encodable(item)) for key, item in value.items()]
        same = all(a is c and b is d for (a, b), (c, d) in zip(pairs, value.items(), strict=True))
        return value if same else dict(pairs)
    return value


def clip_end(text: str, length: int) -> str:
    """Return at most the first `length` characters, never half a visible character."""
    if len(text) <= length:
        return text
    return text[: _boundary_at_or_before(text, max(0, length))]


def clip_start(text: str, length: int) -> str:
    """Return at most the last `length` characters, never half a visible character."""
    if len(text) <= length:
        return text
    at = len(text) - max(0, length)
    cut = _boundary_at_or_before(text, at)
    if cut < at:
        cluster = _CLUSTER.match(text, cut)
        cut = cluster.end() if cluster else at
    return text[cut:]


def head_and_tail(text: str, length: int) -> tuple[str, str]:
    """Return the first and the last `length` characters (a quarter of the text if that is less)."""
    size = min(length, len(text) // 4)
    return clip_end(text, size), clip_start(text, size)


def without_last_word(text: str) -> str:
    """Return a text that was cut off without what may be half of a word, or of a path."""
    at = len(text)
    least = max(0, at - _LONGEST_WORD)
    while at > least and _in_word(text[at - 1]):
        at -= 1
    return text if at == least else text[:at]


def without_first_word(text: str) -> str:
    """Return the same of a text whose beginning was cut off."""
    at, most = 0, min(len(text), _LONGEST_WORD)
    while at < most and _in_word(text[at]):
        at += 1
    return text if at == most else text[at:]


def _in_word(character: str) -> bool:
    return character.isalnum() or character in "_./@+-"


def _boundary_at_or_before(text: str, at: int) -> int:
    start = max(0, at - _CLUSTER_REACH)
    boundary = start
    for cluster in _CLUSTER.finditer(text, start, min(len(text), at + _CLUSTER_REACH)):
        if cluster.end() > at:
            # `start` may itself stand inside a character: then no better place is known.
            return cluster.start() if cluster.start() > start or start == 0 else at
        boundary = cluster.end()
    return boundary
