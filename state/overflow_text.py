"""What the text of a provider's error says: too many tokens, too many bytes, or something else.

Providers share no code for "this does not fit" and many give none at all, so that their wording
has to be read. The patterns are kinds of wording ("<input> exceeds <window>"), not a list of
messages. They see plain text: what an error merely quotes (the user's own words, a tool's answer, a
field's value) was taken out before. A statement that is hypothetical, negated, or about the room
for the answer alone does not count.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from .overflow_plain import plain_statement
from .overflow_sizes import Sizes, parse_payload, parse_tokens

__all__ = ["TextReading", "is_overflow_code", "is_unrelated_code", "read_text", "sizes_in"]

# A limit of fewer bytes or characters belongs to a field (a name, an id), not to a payload.
_SMALLEST_PAYLOAD = 4_096


class TextReading(NamedTuple):
    """What did not fit according to a text, and the sizes it names."""

    about: Literal["tokens", "bytes"]
    sizes: Sizes


def read_text(text: str) -> TextReading | None:
    """Say what an error text states to be too long; None if it states nothing of the kind.

    Args:
        text: A provider's error message, or an exception's text, of any length and content.
    """
    statement = plain_statement(text)
    if _UNRELATED.search(statement):
        return None
    if "token" not in statement and any(pattern.search(statement) for pattern in _PAYLOAD):
        payload = parse_payload(statement)
        small = payload.limit is not None and payload.limit < _SMALLEST_PAYLOAD
        return None if small or _UPLOAD.search(statement) else TextReading("bytes", payload)
    sizes = parse_tokens(statement)
    if _says_so(statement) or _shows_so(statement, sizes):
        return TextReading("tokens", sizes)
    return None


def sizes_in(text: str) -> Sizes:
    """Return the token counts in a text that is already known to report an overflow."""
    return parse_tokens(plain_statement(text))


# --- Codes: what a provider says in one word -----------------------------------------------------

_OVERFLOW_CODE = re.compile(
    r"context(?:window|length|size|limit|tokens?)?(?:is)?(?:exceed|overflow|toolong|toolarge)"
    r"|exceed(?:s|ed)?(?:max|model|the)*context"
    r"|(?:prompt|input|messages?)(?:is|s|tokens?|length)*(?:toolong|exceeded)"
    r"|(?:prompt|input)tokens?(?:limit)?(?:exceeded|reached)|^tokenslimitreached"
)
_UNRELATED_CODE = re.compile(
    r"ratelimit|toomanyrequests|throttl|quota|billing|insufficient(?:balance|funds|credit)|payment"
    r"|resourceexhausted|overloaded|authentication|permissiondenied|unauthorized|apikey"
    r"|contentfilter|contentpolicy|timeout|timedout|deadlineexceeded"
)


def is_overflow_code(code: str) -> bool:
    """Say whether a code, type or class name (`context_length_exceeded`) means "too long"."""
    return bool(_OVERFLOW_CODE.search(_squashed(code)))


def is_unrelated_code(code: str) -> bool:
    """Say whether a code, type or class name (`rate_limit_exceeded`) names another cause."""
    return bool(_UNRELATED_CODE.search(_squashed(code)))


def _squashed(code: str) -> str:
    return re.sub(r"[^a-z]", "", code[:200].lower())


# --- Other causes, in words that a long prompt could be described with ---------------------------

_UNRELATED = re.compile(
    r"rate[ -]?limit|tokens? (?:per|/) ?(?:min|hour|day|sec|month)|per (?:minute|hour|day|month)\b"
    r"|\b[io]?(?:tpm|tpd|rpm|rpd)\b|too many requests|throttl|quota|please wait|monthly limit"
    r"|\bcredits?\b|billing|can only afford|insufficient (?:balance|funds)|频率|配额|余额|限流"
)
_UPLOAD = re.compile(
    r"request body|body size|entity|content-length|upload|attachment|\bfile\b|image"
)

# --- Words ---------------------------------------------------------------------------------------

_INPUT = re.compile(
    r"\b(?:prompts?|inputs?|messages?|conversation|history|contexts?|requests?|requested|tokens?"
    r"|texts?|sequence|quer(?:y|ies)|documents?|total|sum)\b"
)
_AT_MOST = r"(?:<=?|≤|less than|fewer than|smaller than|at most|no more than|within|below|under)"
_EXCEEDS = (
    r"\b(?:exceed(?:s|ed|ing)?|surpass(?:es|ed)?|overflow(?:s|ed)?"
    r"|(?:longer|larger|greater|bigger|more) than|too (?:long|large|big) (?:for|to)"
    r"|(?:is|are) (?:over|above|beyond)|no longer fits?"
    r"|(?:must|should|can)(?: ?not|n't)? (?:exceed|fit)"
    rf"|(?:must|should) (?:be|have|contain) {_AT_MOST}"
    r"|(?:does|do|will)(?: not|n't) fit|(?:cannot|can't|won't) fit)"
)
_LENGTH = r"(?:length|len|limit|tokens?|size|embeddings)"
# The room for everything: names that a limit of the answer never has.
_CONTEXT = (
    r"\b(?:(?:context|n ctx)[ -]?(?:window|length|len|size|limit|budget)"
    r"|max(?:imum)?[ -](?:\w{1,20}[ -]){0,3}?"
    rf"(?:model|sequence|seq|prompt|input|context|position|message)s?[ -]{_LENGTH}"
    r"|(?:model|prompt|input)(?:'s)? (?:max(?:imum)? )?(?:tokens? limit|length)"
    r"|model's context|context(?= (?:of )?\(?\d))\b"
)
# Names that mean the same after "<input> exceeds", and only there.
_WINDOW = (
    rf"(?:{_CONTEXT}|\b(?:prompt|input|context) limit\b|\btotal tokens? limit\b"
    r"|\bmax(?:imum)? (?:(?:allowed|supported|num|number of|input|prompt|total) )+tokens\b"
    r"|\bmax(?:imum)? tokens allowed\b)"
)

_NAMES_A_LIMIT = re.compile(
    rf"{_CONTEXT}|\b(?:prompt|input|messages)\b[^.]{{0,80}}\btokens?\b[^.]{{0,60}}\bmodel\b"
)

# --- Statements ----------------------------------------------------------------------------------

# "<input> exceeds <window>"; whose words "<input>" are is looked at separately.
_EXCEEDS_WINDOW = re.compile(rf"{_EXCEEDS}\b(?P<gap>[^.;]{{0,60}}?){_WINDOW}")
_STATEMENTS = [
    re.compile(pattern)
    for pattern in (
        # "context length exceeded", "context size has been exceeded", "context of 4096 exceeded"
        r"\b(?:context[ -]?(?:window|length|size|limit)?|max (?:seq|model) len)"
        r"(?: of \d{1,12})?(?: tokens?)?(?: has| have| was| is)?(?: been)?"
        r" ?(?:exceeded|overflow(?:ed|s)?|exhausted|full)(?: ?error)?"
        r"(?= ?(?:$|[.:;,!)(\]}\-]|by\b|for\b|while\b|with\b|at\b))",
        # "context window exceeds limit"
        r"\bcontext (?:window|length|size)(?: of [\w -]{1,40})? (?:exceeds?|exceeded|is over)"
        r"(?: the| model| model's| its| max| maximum| allowed)* (?:limit|length|size|window)\b",
        r"\bexceed context size error\b",
        # "prompt is too long", "input is too long for this model", "too many input tokens"
        r"\bprompt(?: is| was)? too (?:long|large)\b(?= ?(?:$|[.:;,!(\-]|for\b|\d))",
        r"\b(?:inputs?|prompt|context|conversation|messages?|history|request)"
        r"(?: tokens?| length| token length| text)?(?: is| are| was)? too (?:long|large|big)\b"
        r"[^.]{0,60}\b(?:model|tokens?|context|maximum length)\b",
        r"\b(?:inputs?|prompt|context) tokens?(?: length)?(?: is| are)? too (?:long|large|many)\b",
        r"\btoo many (?:input|prompt|context|total) tokens\b",
        r"\btoo many tokens\b[^.]{0,20}\b(?:size limit exceeded|total number of tokens"
        r"|in (?:the|your) (?:prompt|request|input|messages?|conversation))",
        r"\b(?:input|prompt|context|model)(?:'s)? tokens? (?:count |limit |length |count limit )?"
        r"exceeded\b",
        # "prompt exceeds max length": a weak name of the limit, after a strong name of the input
        r"\b(?:prompt|input (?:length|tokens?)|number of (?:input |prompt )?tokens)\b[^.;a-z]{0,20}"
        r"(?:tokens?\)? )?exceeds?(?: the| its)? max(?:imum)?(?: allowed)? (?:length|limit|size)\b",
        r"\b(?:inputs?|prompts?|messages|conversation)\b[^.;]{0,40}\btokens?\b[^.;]{0,40}"
        rf"{_EXCEEDS}\b[^.;]{{0,40}}?\b(?:limit|maximum|length)\b",
        rf"\b(?:token count|number of tokens)\b[^.;]{{0,30}}{_EXCEEDS}\b[^.;]{{0,20}}\bmodel\b",
        # "inputs must have less than 1024 tokens", "total number of tokens cannot exceed 2048"
        r"\b(?:inputs?|prompts?|messages|conversation)\b[^.;]{0,40}"
        rf"\b(?:must|should) (?:be|have|contain) {_AT_MOST} ?\d{{2,12}} tokens\b",
        r"\b(?:inputs?|prompts?)\b[^.;]{0,10}\btokens\b[^.;]{0,40}"
        rf"\b(?:must|should) be {_AT_MOST} ?\d{{2,12}}\b",
        r"\b(?:total|number of|requested|all) tokens\b[^.;]{0,60}\bcannot exceed \d",
        r"\brange of input length should be\b",
        # advice that fits nothing else
        r"\breduce (?:the |your )?(?:total )?(?:length|size|number of tokens) (?:of|in)"
        r" (?:the |your )?(?:input |chat )?"
        r"(?:messages?|prompts?|inputs?|conversation|context|history)\b",
        r"(?:上下文|输入|提示词|prompt|tokens?)[^。]{0,24}(?:超长|超出|超过|过长)",
    )
]
_PAYLOAD = [
    re.compile(pattern)
    for pattern in (
        r"\btoo many (?:total )?(?:text |input |prompt )?(?:bytes|characters|chars)\b",
        r"\bexpected max ?length: ?\d{1,12}[^a-z\d]{1,4}actual: ?\d",
        r"\b(?:messages|inputs?|contents?|prompt)(?:\[\d{1,5}\])?"
        r"(?:\.(?:contents?|text|input|output|arguments)(?:\[\d{1,5}\])?){0,3}: string too long\b",
        r"\b(?:payload|prompt|input|request|conversation|messages?)\b[^.;]{0,60}"
        r"\b(?:exceed(?:s|ed)?|larger than|longer than|too (?:long|large|big))\b[^.;]{0,60}"
        r"(?:\b(?:bytes|characters|chars)\b|\d ?[km]i?b\b)",
    )
]

# --- Whether a statement is meant ----------------------------------------------------------------

# "if the prompt exceeds", "to avoid exceeding": of what may happen, not of what did.
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|whether|when|whenever|once|until|may|might|could|avoid|prevent|before|without)"
    r"(?: \w{1,20})? ?(?:the |your |an? |any |this )?$"
)
_NEGATED = re.compile(r"\b(?:not|never|without)(?: been| yet)? $|n't(?: been| yet)? $")
# The provider quotes without quotation marks: "Failed to parse input: <whatever it was>".
_ECHO = re.compile(
    r"(?:\bpars(?:e|ing)\b|\bdecod|deserial|unexpected (?:token|char)|(?:invalid|not valid) json"
    r"|flagged|moderation|jinja|tool call|could not understand"
    r"|\b(?:user|tool|assistant) said)[^:]{0,80}:"
)
_ANSWER = re.compile(
    r"\bmax(?:imum)? (?:new |completion |output |generated )*tokens\b"
    r"|\b(?:output|completion|generation)\b"
)
_MORE_THAN_THE_ANSWER = re.compile(
    r"\b(?:prompts?|inputs?|messages?|conversation|context|sum|plus|total)\b|\+"
)


def _says_so(statement: str) -> bool:
    for found in _EXCEEDS_WINDOW.finditer(statement):
        before = statement[max(0, found.start() - 160) : found.start()]
        clause = re.split(r"[.;!?] ", before)[-1].strip(" :-")
        subject = _INPUT.search(clause)
        if clause and subject is None:
            continue
        if subject and _HYPOTHETICAL.search(clause[: subject.start()]):
            continue
        if not _about_the_answer_only(clause + found["gap"]) and _meant(statement, found.start()):
            return True
    return any(
        _meant(statement, found.start())
        for pattern in _STATEMENTS
        for found in pattern.finditer(statement)
    )


def _shows_so(statement: str, sizes: Sizes) -> bool:
    """Say whether a context limit is named together with a prompt that does not fit in it."""
    if sizes.limit is None or sizes.requested is None or "token" not in statement:
        return False
    window = _NAMES_A_LIMIT.search(statement)
    return window is not None and _meant(statement, window.start())


def _meant(statement: str, start: int) -> bool:
    before = statement[max(0, start - 400) : start]
    return not (_NEGATED.search(before) or _HYPOTHETICAL.search(before) or _ECHO.search(before))


def _about_the_answer_only(clause: str) -> bool:
    return bool(_ANSWER.search(clause)) and not _MORE_THAN_THE_ANSWER.search(
        _ANSWER.sub(" ", clause)
    )
