"""The sizes that a provider names when a request does not fit: the limit, the prompt, the total.

Numbers are told apart by the words around them, not by their order: providers put the limit first
as often as last. What is not said stays None, and what contradicts itself counts as not said.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Sizes", "consistent_sizes", "parse_payload", "parse_tokens"]


class Sizes(NamedTuple):
    """What an error says about sizes, in tokens (in bytes or characters, for a payload).

    Attributes:
        limit: The most that may be asked for.
        prompt: What the prompt alone takes.
        requested: All that was asked for: the prompt and the room reserved for the answer.
        at_least: Whether `prompt` and `requested` are lower bounds (the server stopped counting).
    """

    limit: int | None = None
    prompt: int | None = None
    requested: int | None = None
    at_least: bool = False


_N = r"(\d{1,12})\b(?! (?:bytes|char))"
# "limit (2013)" is as likely the number of the error as a limit.
_LIMIT_N = (
    rf"(?<!limit \(){_N}(?! (?:output|completion|new|generated)\b)"
    r"(?!(?: tokens)? (?:requested|given|were|provided)\b)"
)
_TOKENS = r"(?: tokens?)?"
# What may stand between a word and its number; "exceeded by 4" is an excess, "id: 7" a name.
_GAP = r"(?:(?!\b(?:by|id)\b)[^.;\d\[])"
_TO_LIMIT = r"(?:(?!\b(?:by|id|ha[sd]|have|contains?)\b)[^.;\d\[])"

# "195261 + 12288 > 204650", "274468 tokens > 200000 maximum": prompt, output, limit.
_COMPARISON = re.compile(
    rf"{_N}{_TOKENS}(?: ?\+ ?{_N}{_TOKENS})? ?(?:>=?|exceeds?)(?: the)? ?(?:n ctx: ?)?"
    rf"{_N}(?! ?[-+])"
)
# "(1000 > 2048 - 1500)": output, limit, prompt.
_REMAINDER = re.compile(rf"{_N} ?> ?{_N} ?- ?{_N}")

# In each role the first pattern that finds a number not yet taken by an earlier role wins.
_LIMIT = [
    re.compile(pattern)
    for pattern in (
        rf"\b(?:exceed(?:s|ed|ing)?|than)\b(?!:){_TO_LIMIT}{{0,50}}?{_LIMIT_N}",
        rf"\b(?:max(?:imum)?|allowed|available|configured|supported|model(?:'s)?|only)"
        rf"{_TO_LIMIT}{{0,40}}?"
        rf"\b(?:context|input|prompt|sequence|seq|model|total|message|token)s?\b"
        rf"{_TO_LIMIT}{{0,30}}?{_LIMIT_N}",
        rf"\b(?:limit|window|threshold)(?: size)?(?: is| of| was|:| =)? ?(?:only )?{_LIMIT_N}",
        rf"\b(?:limit|window|threshold) \({_N} ?tokens",
        rf"\b(?:must|should|cannot|can)(?: not)?(?: be| have| exceed| contain)*"
        r" (?:<=?|less than|fewer than|at most|smaller than|no more than|under|below)?"
        rf" ?{_LIMIT_N}",
        rf"\bshould be \[\d{{1,12}}, ?{_N}",
        rf"\b(?:supports?|allows?|accepts?) (?:only |up to |at most |a maximum of )+{_LIMIT_N}",
        rf"\b{_N}[ -](?:tokens? )?(?:max(?:imum)?|limit|available|allowed|(?:token )?context)\b",
        rf"\b(?:context|n ctx)\b{_TO_LIMIT}{{0,30}}?{_LIMIT_N}",
        rf"\bmax(?:imum)?\b{_TO_LIMIT}{{0,20}}?{_LIMIT_N}",
    )
]
_PROMPT = [
    re.compile(pattern)
    for pattern in (
        rf"{_N}{_TOKENS} (?:in|from|of|for) (?:the |your )?(?:input |text |chat )*"
        r"(?:messages?|prompt|input)\b",
        rf"{_N} (?:inputs?|prompt|text|context|message)[ -]tokens?\b",
        rf"\b(?:prompt|inputs?|messages?|conversation|text|sequence)\b{_GAP}{{0,40}}?{_N}",
        rf"\brequest(?: \(| has| had| contains| with| is| was| of| takes){_GAP}{{0,20}}?{_N}",
        rf"\bfirst {_N} tokens?\b",
    )
]
_OUTPUT = [
    re.compile(pattern)
    for pattern in (
        rf"{_N}{_TOKENS} (?:in|from|of|for) (?:the |your )?"
        r"(?:completion|output|response|answer)\b",
        rf"{_N} (?:requested )?(?:output|completion|max|new)(?: new| completion| output)?"
        r"[ -]tokens?\b",
        rf"\b(?:output|completion) (?:token )?count:? ?\(?{_N}",
        rf"\bmax (?:new |completion |output )?tokens\b ?[:=(]? ?{_N}",
    )
]
_TOTAL = [
    re.compile(pattern)
    for pattern in (
        rf"\brequested:? (?:about |approximately |a total of |up to )?{_N}"
        r"(?! (?:output|completion|new)\b)",
        rf"\b(?:received|given|actual|got):? {_N}",
        rf"\btotal of (?:at least |about )?{_N}",
        rf"\b(?:current|total) (?:length|size|tokens?)(?: is|:)? {_N}",
        rf"\btokens?(?: count)?(?: in the request)? \({_N}",
        rf"(?<!by )\b{_N} tokens\b",
    )
]

_PAYLOAD = [
    re.compile(pattern)
    for pattern in (
        r"(?P<requested>\d{1,12})(?: \w{1,20})? ?> ?(?P<limit>\d{1,12})\b",
        r"(?P<requested>\d{1,12}) (?:bytes|char\w*)[^\d]{0,20}"
        r"\b(?:max\w*|limit|allowed|than|exceeds?)\b[^\d]{0,20}(?P<limit>\d{1,12})\b",
        r"\b(?:max length|maxlength|maximum length|maximum|limit|at most|max)\b[^\d]{0,30}?"
        r"(?P<limit>\d{1,12})\b(?: (?:bytes|char\w*))?"
        r"(?:[^\d]{0,60}?\b(?:actual|length|received|got|size)\b[^\d]{0,12}(?P<requested>\d{1,12})\b)?",
        r"(?P<limit>\d{1,12}) (?:bytes|char\w*)(?P<requested>(?!))?",
    )
]


def parse_tokens(text: str) -> Sizes:
    """Read the token counts in an error message that was made plain (see `overflow_text`)."""
    taken: set[int] = set()
    limit: int | None
    prompt: int | None
    reserved: int | None
    at_least = False
    if remainder := _REMAINDER.search(text):
        reserved, limit, prompt = (int(number) for number in remainder.groups())
        taken.update(remainder.start(group) for group in (1, 2, 3))
    elif compared := _COMPARISON.search(text):
        taken.update(compared.start(group) for group in (1, 2, 3))
        prompt, limit = int(compared[1]), int(compared[3])
        reserved = int(compared[2]) if compared[2] else _first(_OUTPUT, text, taken)
    else:
        limit = _first(_LIMIT, text, taken)
        others = set(taken)
        prompt = _first(_PROMPT, text, taken)
        at_least = any(text.endswith("at least ", 0, start) for start in taken - others)
        reserved = _first(_OUTPUT, text, taken)
    parts = None if prompt is None else prompt + (reserved or 0)
    total = max(filter(None, (parts, _first(_TOTAL, text, taken))), default=None)
    return consistent_sizes(limit=limit, prompt=prompt, total=total, at_least=at_least)


def parse_payload(text: str) -> Sizes:
    """Read the byte or character counts in an error message that was made plain."""
    for pattern in _PAYLOAD:
        if found := pattern.search(text):
            total = int(found["requested"]) if found["requested"] else None
            return consistent_sizes(limit=int(found["limit"]), prompt=None, total=total)
    return Sizes()


def consistent_sizes(
    *, limit: int | None, prompt: int | None, total: int | None, at_least: bool = False
) -> Sizes:
    """Put sizes together; a request that would fit was misread, so that only the limit is kept."""
    limit = limit or None
    requested = total if total is not None else prompt
    if limit is not None and requested is not None and requested < limit:
        return Sizes(limit)
    return Sizes(limit, prompt, requested, at_least and prompt is not None)


def _first(patterns: list[re.Pattern[str]], text: str, taken: set[int]) -> int | None:
    """Return the first number that no earlier role has taken, and take it."""
    for pattern in patterns:
        for found in pattern.finditer(text):
            if found.start(1) not in taken:
                taken.add(found.start(1))
                return int(found[1])
    return None
