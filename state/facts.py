"""The facts in a text: its bullets and lines one by one, and which of them are new.

A fact is a top-level bullet with what is indented below it, or a line of its own. Two facts are the
same when nothing but their clothing differs: bullet, case, white space, emphasis, a final full
stop, a date comment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["facts_of", "new_facts", "normalised", "says_nothing", "unwrapped"]

_THINKING = re.compile(r"\A\s*<(think|thinking|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*[\w+-]*[ \t]*\n(.*?)\n?^\1`*~*[ \t]*$", re.DOTALL | re.M)
_BULLET = re.compile(r"(?:[-*+•]|\d{1,9}[.)])(?:\s+|$)")
_HEADING = re.compile(r"#{1,6}\s")
_DATE_COMMENT = re.compile(r"<!--[ \t]*\d{4}-\d\d-\d\d[ \t]*-->", re.ASCII)
_PREAMBLE = re.compile(
    r"(?:here(?:['’]s| is| are)|sure\b|certainly\b|of course\b|okay\b|ok[,.! ]|below (?:is|are)"
    r"|(?:the |an? )?(?:new|updated|consolidated|complete|merged|revised|shortened)\b)",
    re.IGNORECASE,
)
# What a model says when it has nothing to say, its clothing taken off.
_NOTHING = re.compile(
    r"(?:no reply(?: (?:is )?needed)?|none|nothing(?: new)?(?: to (?:add|record|remember|report"
    r"|save|write))?|no (?:new )?(?:durable )?facts(?: to (?:add|record|remember|save))?|n/a)?",
    re.IGNORECASE,
)


def unwrapped(text: str) -> str:
    """Return what a model was asked for, without what models like to put around it.

    Taken off: thinking at the beginning, one code fence around the whole or around everything but
    a few words of introduction and farewell, and an introduction in one line that ends in a colon.
    """
    text = _THINKING.sub("", text.replace("\r\n", "\n")).strip()
    fence = _FENCE.search(text)
    if fence is not None and _stands_for_all(text, fence):
        text = fence[2].strip("\n").rstrip()
    first, _, rest = text.partition("\n")
    if rest.strip() and first.rstrip().endswith(":") and _PREAMBLE.match(first.lstrip("*_ ")):
        text = rest.strip("\n")
    return text


def says_nothing(text: str) -> bool:
    """Whether an extraction means "nothing to write": blank, NO_REPLY in any clothing, or none."""
    bare = unwrapped(text)
    if _is_nothing(bare):
        return True
    # NO_REPLY with an explanation: it was asked to stand alone, and there is no fact beside it.
    lines = [line for line in bare.split("\n") if line.strip()]
    sentinel = any("REPLY" in line.upper() and _is_nothing(line) for line in lines)
    return sentinel and not any(_BULLET.match(line) and not _is_nothing(line) for line in lines)


def facts_of(text: str) -> list[str]:
    """Return the facts in a text, each as it stands there; headings and date comments are none."""
    facts: list[list[str]] = []
    goes_on = False
    for line in text.split("\n"):
        if not line.strip():
            continue
        if _HEADING.match(line) or not _DATE_COMMENT.sub("", line).strip():
            goes_on = False
        elif goes_on and line[0] in " \t":
            facts[-1].append(line)
        else:
            facts.append([line])
            goes_on = _BULLET.match(line) is not None
    return ["\n".join(lines) for lines in facts]


def normalised(fact: str) -> str:
    """Return what a fact is compared by."""
    text = _DATE_COMMENT.sub(" ", fact)
    text = unicodedata.normalize("NFKC", _without_bullet(text)).casefold()
    text = re.sub(r"[*_`\"'“”‘’]+", "", text)
    return " ".join(text.split()).rstrip(".;,!… ")


def new_facts(text: str, known: Iterable[str]) -> str:
    """Return an extraction without what is known already, word for word.

    Headings stay where something is left below them. There are no blank lines in the result.

    Args:
        text: What the model answered.
        known: Texts that say what is known.

    Returns:
        The lines to write, or "" if nothing is new.
    """
    seen = {normalised(fact) for other in known for fact in facts_of(other)}
    kept: list[str] = []
    headings: list[str] = []
    for part in _parts(unwrapped(text)):
        if _HEADING.match(part):
            headings = [part]
            continue
        name = normalised(part)
        if name and name not in seen and not _is_nothing(part):
            kept += [*headings, part]
            headings = []
            seen.add(name)
    return "\n".join(kept)


def _parts(text: str) -> list[str]:
    """Return facts and headings in their order."""
    parts: list[str] = []
    block: list[str] = []
    for line in [*text.split("\n"), "# "]:
        if _HEADING.match(line):
            parts += [*facts_of("\n".join(block)), line]
            block = []
        else:
            block.append(line)
    return parts[:-1]


def _without_bullet(text: str) -> str:
    text = text.strip()
    bullet = _BULLET.match(text)
    return text[bullet.end() :] if bullet else text


def _is_nothing(text: str) -> bool:
    bare = _without_bullet(text)
    bare = re.sub(r"[`'\"*_.!()\[\]{}<>~“”‘’-]+", " ", bare.removeprefix("```text"))
    return _NOTHING.fullmatch(" ".join(bare.split())) is not None


def _stands_for_all(text: str, fence: re.Match[str]) -> bool:
    """Whether a fence holds the answer, and what is around it is talk."""
    before, after = text[: fence.start()].strip(), text[fence.end() :].strip()
    if not before and not after:
        return True
    talk = [*before.split("\n"), *after.split("\n")]
    if any(_BULLET.match(line) or _HEADING.match(line) for line in talk):
        return False
    return len(before) + len(after) <= max(200, len(fence[2]) // 2)
