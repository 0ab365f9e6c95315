"""Making an error text plain before it is read: its own words on one line, its quotations gone.

An error can quote anything: the prompt it complains about, a tool's answer, the value of a field.
Those words are not the provider's, so they are removed. When the error itself stands in quotation
marks (JSON in the text, a Python literal, a gateway that quotes what it was told), it is followed.
"""

from __future__ import annotations

import re

__all__ = ["plain_statement"]

_SCANNED = 16_384  # characters of a text that are read: providers say it at the start
_NESTING = 4  # how deep an error quoted in an error is followed
_LOOK_BACK = 120  # characters before a quotation that say what it is
_LONGEST_NAME = 40  # characters of a `name` in backquotes

_QUOTED = re.compile(
    r'"((?:[^"\\]|\\.)*+)(?:"|\\?$)'
    r"|(?<!\w)'((?:[^'\\]|\\.|'(?=\w))*+)(?:'|\\?$)"
    r"|“([^”]*+)(?:”|$)|`([^`]*+)(?:`|$)",
    re.DOTALL,
)
# {"message": "…"}, {'error': '…'}, message='…'
_ERROR_FIELD = re.compile(
    r"""(?:["'](?:error[ _]?)?"""
    r"""(?:message|msg|details?|errors?|raw|code|type|reason|description)["']\s*:\s*"""
    r"""|\b(?:message|code|type|detail)=)[bu]?$""",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"[\"']\s*:\s*$|=\s*$")
# Upstream error for request 7: "…"
_PREAMBLE = re.compile(r"\b(?:errors?|exception|failed|failure)\b[^\"'“]{0,80}:\s*$", re.IGNORECASE)
_ABOUT_A_VALUE = re.compile(
    r"valid|pars|value|input|content|argument|param|field|message|prompt|query|text|user|tool"
    r"|string|document",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?:messages|inputs?|contents?|prompt)[\w.\[\]]{0,80}\Z")


def plain_statement(text: str) -> str:
    """Return the words of an error itself: no quotations, one line, lower case, plain numbers.

    At most the first 16,384 characters of `text` are read. `_` becomes a space (`max_tokens` is
    "max tokens"), and thousands are joined (200,000 is 200000).
    """
    text = text[:_SCANNED]
    if '\\"' in text and not re.search(r'(?<!\\)"', text):  # escaped as a whole
        text = text.replace('\\"', '"')
    text = _without_quotations(text, _NESTING).lower().replace("’", "'").replace("`", "")
    text = re.sub(r"(?<=\d)[,_](?=\d{3}(?!\d))", "", text)
    return re.sub(r"[\s_]+", " ", text).strip()


def _without_quotations(text: str, depth: int) -> str:
    def replacement(found: re.Match[str]) -> str:
        content = found[found.lastindex or 0]
        if len(content) < 2:
            return " "
        if _PATH.match(content) or (found[4] is not None and len(content) <= _LONGEST_NAME):
            return content
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()]
        if depth and _is_the_error(before, content):
            return f" {_without_quotations(_unescaped(content), depth - 1)} "
        return " "

    return _QUOTED.sub(replacement, text)


def _is_the_error(before: str, content: str) -> bool:
    if _ERROR_FIELD.search(before):
        return True
    if content.lstrip()[:1] in ("{", "["):
        return not _OTHER_FIELD.search(before)
    return bool(_PREAMBLE.search(before)) and not _ABOUT_A_VALUE.search(before)


def _unescaped(content: str) -> str:
    return re.sub(r"\\([\s\S])", lambda found: " " if found[1] in "nrt" else found[1], content)
