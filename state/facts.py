"""The facts in a text: its bullets and lines one by one, and which of them are new.

A fact is a top-level bullet with what is indented below it, or a line of its own. Two facts are the
same when nothing but their clothing differs: bullet, case, white space, emphasis, a final full
stop, a date comment.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from .fences import fenced

__all__ = ["facts_of", "new_facts", "normalised", "says_nothing", "unwrapped"]

# Thinking that never ends is all there is: no answer came of it.
_THINKING = re.compile(r"\A\s*<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.DOTALL | re.I)
_FENCE = re.compile(
    r"^(`{3,}|~{3,})[ \t]*([\w+-]*)[ \t]*\n(.*?)\n?^\1`*~*[ \t]*$", re.DOTALL | re.MULTILINE
)
_FENCE_LINE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_BULLET = re.compile(r"(?:[-*+•]|\d{1,9}[.)])(?:\s+|$)")
_HEADING = re.compile(r"#{1,6}\s")
_DATE_COMMENT = re.compile(r"<!--[ \t]*\d{4}-\d\d-\d\d[ \t]*-->", re.ASCII)
# An introduction says of what follows only that it is the answer. "The new deploy window is:" and
# "Here are Kim's preferences:" say what the lines below are about: they are part of the facts.
_OPENING = r"(?:sure|certainly|of course|absolutely|okay|ok|got it|done)"
_INTRODUCTION = re.compile(
    rf"(?:{_OPENING}[,.!:]*\s*)?(?:(?:here(?:['’]s| is| are)|below (?:is|are))\s+)?"
    r"(?:the |your |an? |my |all )?"
    r"(?:(?:new|updated|consolidated|complete|completed|merged|revised|shortened|full|final|durable"
    r"|extracted|requested|resulting|following|curated|long-term)[, ]+(?:and )?)*"
    r"(?:memory\.md|memory(?: file)?|facts|entries|file|bullets|bullet points|memory entries)"
    r"(?: file)?(?: (?:to (?:remember|record|add|save)|from (?:the|this) conversation|as requested"
    r"|you asked for|below))?\s*[:：]"
    r"|(?:sure|certainly|of course|okay|ok)[,.!]*\s*(?:here you (?:go|are)[:!.]?|[!.])",
    re.IGNORECASE,
)
# What is left to say after the answer is about the answer.
_FAREWELL = re.compile(
    r"(?:let me know\b|feel free\b|i(?:['’]ve| have)? (?:merged|kept|added|removed|updated|dropped"
    r"|consolidated|combined|preserved|left out|shortened|made|did not|didn['’]t)\b|hope this\b"
    r"|(?:the )?(?:memory\.md|memory file|file|entries) (?:is|are|has|have|was|were) (?:now )?"
    r"(?:updated|complete|merged|consolidated|been)\b)",
    re.IGNORECASE,
)
# Why there is nothing to write.
_EXPLANATION = re.compile(
    r"\b(?:nothing|no (?:new|durable|further|other|additional|facts?|information)|not? (?:\w+ )?"
    r"(?:durable|worth|new)|already (?:known|recorded|in|covered|stated)|small talk|greetings?)\b",
    re.IGNORECASE,
)
_SHORT = 200  # characters of a line of talk at most
# What a model says when it has nothing to say, its clothing taken off.
_NOTHING = re.compile(
    r"(?:no reply(?: (?:is )?needed)?|none|nothing(?: new)?(?: to (?:add|record|remember|report"
    r"|save|write))?|no (?:new )?(?:durable )?facts(?: to (?:add|record|remember|save))?|n/a)?",
    re.IGNORECASE,
)


def unwrapped(text: str) -> str:
    """Return what a model was asked for, without what models like to put around it.

    Taken off: thinking at the beginning; an introduction in one line that says nothing of its own;
    one code fence around all the rest, and a line of farewell behind it. What could be a fact
    stays, and so does a fence that does not clearly stand around the answer.
    """
    text = _THINKING.sub("", text.replace("\r\n", "\n")).strip()
    first, _, rest = text.partition("\n")
    rest = rest.strip("\n")
    introduced = bool(rest.strip()) and _is_introduction(first)
    if introduced:
        text = rest
    fence = _FENCE.match(text)
    if fence is None:
        return text
    after = text[fence.end() :].strip()
    if not after or (_is_farewell(after) and (introduced or _is_document(fence))):
        return fence[3].strip("\n").rstrip()
    return text


def says_nothing(text: str) -> bool:
    """Whether an extraction means "nothing to write": blank, NO_REPLY in any clothing, or none.

    NO_REPLY was asked to stand alone. Beside it, only what explains it is no fact.
    """
    bare = unwrapped(text)
    if _is_nothing(bare):
        return True
    lines = [line for line in bare.split("\n") if line.strip()]
    others = [line for line in lines if not _is_nothing(line)]
    sentinel = any("REPLY" in line.upper() for line in lines if line not in others)
    return sentinel and all(_is_explanation(line) for line in others)


def facts_of(text: str) -> list[str]:
    """Return the facts in a text, each as it stands there; headings and date comments are none."""
    return [part for heading, part in _parts(text) if not heading]


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
    kept: list[str] = []
    above: list[str] = []  # headings that are not written yet, each a level below the one before
    parts = _parts(unwrapped(text))
    # Where there is nothing else, headings are the facts: here, and where they were written.
    only_headings = all(heading for heading, _ in parts)
    seen = {
        normalised(reading)
        for other in known
        for heading, part in _parts(other)
        if only_headings or not heading
        for reading in _readings(part)
    }
    for heading, part in parts:
        if heading and not only_headings:
            above = [other for other in above if _level(other) < _level(part)] + [part]
            continue
        name = normalised(part)
        if name and name not in seen and not _is_nothing(part):
            kept += [*above, _apart(part, (kept + above)[-1:])]
            above = []
            seen.add(name)
    return "\n".join(kept)


def _level(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#"))


def _parts(text: str) -> list[tuple[bool, str]]:
    """Return facts and headings in their order, and which of them are headings.

    A code block is a fact, or part of the one that it stands right below.
    """
    parts: list[tuple[bool, list[str]]] = []
    lines = text.split("\n")
    code = fenced(lines)
    goes_on = False  # what is indented belongs to the fact above
    for index, line in enumerate(lines):
        within = code[index] and index > 0 and code[index - 1]
        below = index > 0 and bool(lines[index - 1].strip())
        if not line.strip():
            continue
        if within or (code[index] and parts and not parts[-1][0] and (below or goes_on)):
            parts[-1][1].append(line)
            continue
        if not code[index] and _HEADING.match(line):
            parts.append((True, [line]))
            goes_on = False
        elif not _DATE_COMMENT.sub("", line).strip():
            goes_on = False
        elif goes_on and line[0] in " \t":
            parts[-1][1].append(line)
        else:
            parts.append((False, [line]))
            goes_on = _BULLET.match(line) is not None
    return [(heading, "\n".join(block)) for heading, block in parts]


def _readings(part: str) -> Iterator[str]:
    """Yield a fact, and a line and the code block below it as two: that is what they were if a
    blank line stood between them, which is not written.
    """
    yield part
    lines = part.split("\n")
    fence = next((at for at, line in enumerate(lines) if at and _FENCE_LINE.match(line)), 0)
    if fence:
        yield "\n".join(lines[:fence])
        yield "\n".join(lines[fence:])


def _apart(part: str, above: list[str]) -> str:
    """Return a fact so that it does not become a part of the bullet that it now stands below."""
    indented = part[0] in " \t" and not part.lstrip().startswith(("```", "~~~"))
    return f"- {part.lstrip()}" if indented and above and _BULLET.match(above[0]) else part


def _without_bullet(text: str) -> str:
    text = text.strip()
    bullet = _BULLET.match(text)
    return text[bullet.end() :] if bullet else text


def _is_nothing(text: str) -> bool:
    bare = _without_bullet(text)
    bare = re.sub(r"[`'\"*_.!()\[\]{}<>~“”‘’-]+", " ", bare.removeprefix("```text"))
    return _NOTHING.fullmatch(" ".join(bare.split())) is not None


def _is_introduction(line: str) -> bool:
    return len(line) <= _SHORT and _INTRODUCTION.fullmatch(line.strip().lstrip("*_ ")) is not None


def _is_farewell(text: str) -> bool:
    return "\n" not in text and len(text) <= _SHORT and _FAREWELL.match(text) is not None


def _is_document(fence: re.Match[str]) -> bool:
    """Whether a fence says that a whole document is in it."""
    return fence[2].lower() in ("markdown", "md")


def _is_explanation(line: str) -> bool:
    if _BULLET.match(line) or _HEADING.match(line) or len(line) > _SHORT:
        return False
    return _EXPLANATION.search(line) is not None
