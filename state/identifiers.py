"""Identifiers: the words of a text that nobody can guess, and that must be copied exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from .counting import text_of
from .redaction import redact_secrets

__all__ = ["identifiers", "identifiers_in", "names_in"]

_IDENTIFIER = re.compile(
    r"""
      [\w.+-]+@[\w-]+\.[\w.]+                  # an address
    | (?:[\w.-]*/)+[\w.-]+                     # a path
    | \b[A-Za-z_]\w*(?:\.\w+)+\b               # a.dotted.name
    | \b(?=[\w-]*\d)\w+(?:-\w+)*\b              # anything with a digit, hyphens included
    | \b[A-Za-z]\w*_\w+\b                      # a snake_case name
    | \b[A-Z]?[a-z]+(?:[A-Z][a-z0-9]+)+\b      # a CamelCase name
    """,
    re.VERBOSE,
)
_REDACTED = re.compile(r"\[redacted: [^\]\n]*\]")
_SHORTEST, _LONGEST = 3, 80


def identifiers(text: str) -> list[str]:
    """Return the identifiers in a text, each once, the last mentioned first.

    Paths, addresses, dotted, snake_case and CamelCase names, and words with a digit.
    """
    found: dict[str, None] = {}
    _note(text, found)
    return list(reversed(found))


def identifiers_in(messages: Iterable[AnyMessage]) -> list[str]:
    """Return the identifiers in messages, each once, the last mentioned first."""
    found: dict[str, None] = {}
    for message in messages:
        _note(_said(message), found)
    return list(reversed(found))


def names_in(messages: Iterable[AnyMessage]) -> list[str]:
    """Return the same, those that only results of tools have shown after all others.

    What the user or the agent has named is likelier to be needed again. What looks like a secret is
    left out: nobody has decided that it is worth keeping.
    """
    named: dict[str, None] = {}
    shown: dict[str, None] = {}
    for message in messages:
        found: dict[str, None] = {}
        _note(_REDACTED.sub(" ", redact_secrets(_said(message))), found)
        for word in found:
            seen = isinstance(message, ToolMessage) and word not in named
            shown.pop(word, None)
            named.pop(word, None)
            (shown if seen else named)[word] = None
    return [*reversed(named), *reversed(shown)]


def _said(message: AnyMessage) -> str:
    text = text_of(message.content)
    if isinstance(message, AIMessage):
        return " ".join((text, *(str(call["args"]) for call in message.tool_calls)))
    return text


def _note(text: str, found: dict[str, None]) -> None:
    for match in _IDENTIFIER.finditer(text):
        word = match.group()
        if _SHORTEST <= len(word) <= _LONGEST:
            found.pop(word, None)
            found[word] = None
