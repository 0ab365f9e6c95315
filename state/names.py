"""Names that a summary keeps beside its text: copied by code, so that they are exact.

A model that summarises leaves most identifiers out, and writes some of them wrong; each token that
it writes costs as much as several that are read. So the summary's text is the model's, and the
identifiers that it does not mention stand in lines of their own, each after the part of the text
that it belongs to: a summary that is added to stays the same up to the addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .counting import count_text
from .identifiers import nameable

__all__ = ["Names", "is_line_of_names", "names_after", "with_names"]

Names: TypeAlias = Sequence[tuple[int, str]]
"""Lines of names, each with the number of characters of the summary that stand before it."""

_LABEL = "Also named: "
_SHORTEST = 4


def with_names(summary: str, names: Names) -> str:
    """Return a summary with its lines of names, as the model sees it."""
    shown, done = [], 0
    for at, line in names:
        shown += [summary[done:at], f"\n{line}"]
        done = at
    return "".join([*shown, summary[done:]])


def is_line_of_names(line: str) -> bool:
    """Whether a line is one that code has put beside a summary."""
    return line.startswith(_LABEL)


def names_after(
    words: Iterable[str],
    *,
    before: tuple[str, Names],
    summary: str,
    added: int,
    most: int,
    left: int,
) -> list[tuple[int, str]]:
    """Return the names that stand beside a summary after it has been added to or written anew.

    Args:
        words: Names in the messages that it now covers as well, the most useful first.
        before: The summary before, and its names.
        summary: The summary now.
        added: Bound in tokens on the line for those messages.
        most: Bound on all lines.
        left: What the lines are brought down to when they would become more than that, and after
            the summary has been written anew: what it no longer mentions is named, latest first.
    """
    text, lines = before
    if text and f"{summary}\n\n".startswith(f"{text}\n\n"):
        line = _line(words, with_names(summary, lines), min(added, most))
        if _tokens([*lines, (0, line)]) > most:
            # What is named again must not go with the lines that it stood in before.
            lines = _within(lines, left - added)
            line = _line(words, with_names(summary, lines), min(added, most))
        return [*lines, (len(summary), line)] if line else list(lines)
    new = _line(words, summary, min(added, most))
    earlier = [word for _, line in reversed(lines) for word in _words(line)]
    every = dict.fromkeys([*_words(new), *earlier, *nameable(text)])
    line = _line(every, summary, min(max(left, added), most))
    return [(len(summary), line)] if line else []


def _line(words: Iterable[str], shown: str, max_tokens: int) -> str:
    """Return a line of the words that are not shown yet; "" if there are none, or no room."""
    kept: list[str] = []
    left = max_tokens - count_text(_LABEL)
    for word in dict.fromkeys(words):
        if len(word) < _SHORTEST or _stands_in(shown, word):
            continue
        left -= count_text(word) + 1
        if left < 0:
            break
        kept.append(word)
    return _LABEL + ", ".join(kept) if kept else ""


def _stands_in(text: str, word: str) -> bool:
    """Whether a text has a word that is not just part of a longer one, as PR-47 is of PR-471."""
    # Thousands of names are looked for in a text of thousands: a pattern for each takes seconds.
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        before, after = text[max(0, at - 2) : at], text[end : end + 2]
        if not (_goes_on(before[::-1], word[0]) or _goes_on(after, after[1:])):
            return True
        at = text.find(word, at + 1)
    return False


def _goes_on(beside: str, after_dot: str) -> bool:
    """Whether a word goes on with these two characters, read away from it.

    A dot joins only what has a digit behind it: 3.11, and not the end of a sentence.
    """
    if beside[:1] == "." and not after_dot.isdigit():
        return False
    letter = beside[1:] if beside[:1] in ("-", ".") else beside[:1]
    return letter.isalnum() or letter == "_"


def _words(line: str) -> list[str]:
    return line.removeprefix(_LABEL).split(", ") if line else []


def _within(lines: Names, max_tokens: int) -> list[tuple[int, str]]:
    """Return the newest lines that fit."""
    kept = list(lines)
    while kept and _tokens(kept) > max_tokens:
        del kept[0]
    return kept


def _tokens(lines: Names) -> int:
    return sum(count_text(line) for _, line in lines)
