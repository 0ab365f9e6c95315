"""Material between tags, for a model that has to tell it from its instructions.

Text that looks like one of the tags would end the material early: its `<` is written as `&lt;`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["escaped", "material", "tags_in", "without_reference"]

_TAGS = ("known", "conversation", "memory", "ledgers")
_NAMED = re.compile(r"<\s*/?\s*([A-Za-z][\w-]*)\s*>")
_FRAME, _FRAME_ENDS = "<HARNESS_CONTEXT>", "</HARNESS_CONTEXT>"


def material(tag: str, text: str) -> str:
    """Return a text between an opening and a closing tag, each on a line of its own.

    Args:
        tag: `known`, `conversation`, `memory` or `ledgers`.
        text: Any text.
    """
    assert tag in _TAGS, tag
    return f"<{tag}>\n{escaped(text, _TAGS)}\n</{tag}>"


def tags_in(template: str) -> tuple[str, ...]:
    """Return the tags that a prompt template stands material between."""
    return tuple(dict.fromkeys(_NAMED.findall(template)))


def escaped(text: str, tags: Iterable[str]) -> str:
    """Return a text in which nothing looks like one of the tags any more."""
    names = "|".join(map(re.escape, tags))
    if not names:
        return text
    return re.sub(rf"<(?=\s*/?\s*(?:{names})\b[^<>]*>)", "&lt;", text, flags=re.IGNORECASE)


def without_reference(text: str) -> str:
    """Return a text without our own reference blocks: memory that was shown is not said anew."""
    parts = []
    while (start := text.find(_FRAME)) >= 0:
        end = text.find(_FRAME_ENDS, start)
        if end < 0:
            break
        parts.append(text[:start])
        text = text[end + len(_FRAME_ENDS) :]
    return "".join([*parts, text])
