"""Identifiers: the words of a text that nobody can guess, and that must be copied exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from .counting import text_of
from .redaction import redact_secrets

__all__ = ["identifiers", "identifiers_in", "nameable", "names_in"]

# Every alternative takes linear time on any text: it begins only where its run of characters does,
# and gives nothing back that it could not use anyway. A line of 80,000 dashes is no rarity.
_IDENTIFIER = re.compile(
    r"""
      (?<![\w.+-])[\w.+-]++@[\w-]++\.[\w.]+    # an address
    | (?<![\w./-])[\w.-]*+(?:/++[\w.-]++)++    # a path
    | \b[A-Za-z_]\w*(?:\.\w+)+\b               # a.dotted.name
    | (?<![\w:.])(?=[0-9:]*+[A-Fa-f]|[0-9]++(?::[0-9]++)*+::)(?:::[fF]{4}:|[0-9A-Fa-f]{1,4}+:)
      (?:[0-9A-Fa-f]{0,4}+:){1,6}+(?:(?:[0-9]++\.){3}[0-9]++|[0-9A-Fa-f]{1,4}+)?+(?![\w:]|\.\d)
                                              # an IPv6 or hardware address: no time of day
    | (?<!\w)(?<!\w-)(?=(?:[^\W\d]|(?<=\w)-(?=\w))*+\d)\w++(?:-\w++|\.\d\w*+)*+
                                              # anything with a digit: hyphens, versions
    | \b[A-Za-z]\w*_\w+\b                      # a snake_case name
    | \b[A-Z]?[a-z]+(?:[A-Z][a-z0-9]+)+\b      # a CamelCase name
    """,
    re.VERBOSE,
)
_DECIMAL = re.compile(r"\d{1,3}\.\d{1,3}")
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
        for _, text in _said(message):
            _note(text, found)
    return list(reversed(found))


def nameable(text: str) -> list[str]:
    """Return the identifiers in a text, each once, the last mentioned first; no secrets.

    What looks like a secret is left out: nobody has decided that it is worth keeping.
    """
    return identifiers(_REDACTED.sub(" ", redact_secrets(text)))


def names_in(messages: Iterable[AnyMessage]) -> list[str]:
    """Return the same, the likeliest to be needed again first.

    What the user or the agent has named; then what results of tools have shown: paths before all
    else, since they can be opened again, and what was shown more often before the rest. What looks
    like a secret is left out: nobody has decided that it is worth keeping.
    """
    named: dict[str, None] = {}
    shown: dict[str, int] = {}
    for message in messages:
        found: dict[str, None] = {}
        for label, text in _said(message):
            # Beside its name, a value is more telling; the name itself is the tool's.
            clean = redact_secrets(f"{label}{text}").removeprefix(label)
            _note(_REDACTED.sub(" ", clean), found)
        for word in found:
            times = shown.pop(word, 0)
            if isinstance(message, ToolMessage) and word not in named:
                shown[word] = times + 1
            else:
                named.pop(word, None)
                named[word] = None
    latest = list(reversed(shown))
    latest.sort(key=lambda word: ("/" in word, shown[word]), reverse=True)  # equals: latest first
    return [*reversed(named), *latest]


def _said(message: AnyMessage) -> Iterator[tuple[str, str]]:
    """Yield the texts of a message as they are, each with the label before it or ""."""
    yield "", text_of(message.content)
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            yield from _arguments(call["args"])


def _arguments(args: Any) -> Iterator[tuple[str, str]]:
    """Yield the values of a call's arguments, nested ones too, each after its name.

    Not as they would be printed: an escaped line break would become part of the word after it.
    """
    left: list[tuple[str, Any]] = [("", args)]
    while left:
        label, value = left.pop()
        if isinstance(value, dict):
            left += [(f"{key}: ", value[key]) for key in reversed(value)]
        elif isinstance(value, (list, tuple)):
            left += [(label, item) for item in reversed(value)]
        else:
            yield label, str(value)


def _note(text: str, found: dict[str, None]) -> None:
    for match in _IDENTIFIER.finditer(text):
        word = match.group()
        if word[-1] == "." and (bare := word.rstrip("."))[-1:].isalnum():
            word = bare  # the dot ends the sentence
        if _SHORTEST <= len(word) <= _LONGEST and not _DECIMAL.fullmatch(word):
            found.pop(word, None)
            found[word] = None
