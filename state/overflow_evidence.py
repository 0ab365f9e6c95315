"""Collecting what an exception, an error body or a model's message carries about its failure.

Clients keep the provider's answer in different places, and gateways wrap it (JSON in a string in
JSON). Everything is read that can hold a provider's words, and nothing that can hold the user's: a
body may echo the request, so that only fields known to describe an error are followed. Nothing here
raises or waits: a response that was not read stays unread.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from .errors import LongthreadError

__all__ = ["Evidence", "evidence_of_body", "evidence_of_exception", "evidence_of_message", "linked"]

_DEPTH = 8  # nesting of a body
_ITEMS = 400  # fields and strings looked at in a body
_JSON = 262_144  # characters of a text that is read as JSON

# Names of fields, in lower case and without "_".
_TEXTS = {
    *("message", "msg", "error", "errormessage", "errormsg", "statusmsg", "detail", "details"),
    *("description", "errordescription", "raw", "title", "originalmessage"),
}
_CODES = {
    *("code", "type", "errortype", "errorcode", "status", "statuscode", "reason"),
    "httpstatuscode",
}
_STOPS = {"stopreason", "finishreason", "donereason"}
_CONTAINERS = _TEXTS | {
    *("errors", "response", "responsemetadata", "metadata", "innererror", "cause", "data", "body"),
    *("baseresp", "delta", "choices", "messagestop", "incompletedetails", "lasterror"),
}
_PROMPT_SIZES = {"nprompttokens", "prompttokens", "inputtokens"}
_LIMIT_SIZES = {"nctx", "contextlength", "maxcontextlength", "contextwindow", "maxmodellen"}

# These quote what they could not read, or what a tool said.
_QUOTING = {"OutputParserException", "ToolException", "JSONDecodeError"}


@dataclass(slots=True)
class Evidence:
    """What one exception, body or message carries.

    Attributes:
        codes: Codes and types, and the names of an exception's classes.
        statuses: HTTP statuses, wherever they stand (other numeric codes are among them).
        stops: Why a model stopped.
        texts: What the provider says, without repetitions, in the order found.
        prompt: The size of the prompt in tokens, from a field.
        limit: The size of the window in tokens, from a field.
        from_provider: Whether the texts are certainly no plain Python error's.
    """

    codes: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    stops: list[str] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)
    prompt: int | None = None
    limit: int | None = None
    from_provider: bool = True
    _items: int = 0

    def read(self, value: object, depth: int = 0) -> None:
        """Read a body: a mapping, a list, JSON in a string, or plain text."""
        self._items += 1
        if depth > _DEPTH or self._items > _ITEMS:
            return
        if isinstance(value, bytes | bytearray):
            value = bytes(value[:_JSON]).decode("utf-8", "replace")
        if isinstance(value, str):
            parsed = _as_json(value)
            if parsed is not None:
                self.read(parsed, depth + 1)
            elif value.strip():
                self.texts[value] = None
        elif isinstance(value, Mapping):
            for key, item in islice(value.items(), _ITEMS):
                self._read_field(str(key).lower().replace("_", ""), item, depth)
        elif isinstance(value, list | tuple):
            for item in islice(value, _ITEMS):
                self.read(item, depth + 1)

    def read_code(self, value: object) -> None:
        """Read a code: a word, a number, or a number in a string."""
        if isinstance(value, str) and len(value) <= 4 and value.isascii() and value.isdigit():
            value = int(value)
        if isinstance(value, str):
            self.codes.append(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            self.statuses.add(int(value))

    def _read_field(self, key: str, value: object, depth: int) -> None:
        if key in _CODES:
            self.read_code(value)
        if key in _STOPS and isinstance(value, str):
            self.stops.append(value)
        if isinstance(value, int) and not isinstance(value, bool):
            if key in _PROMPT_SIZES:
                self.prompt = int(value)
            elif key in _LIMIT_SIZES:
                self.limit = int(value)
        elif key in _TEXTS or (
            isinstance(value, Mapping | list)
            and (key in _CONTAINERS or key.endswith(("exception", "error")))
        ):
            self.read(value, depth + 1)


def evidence_of_body(body: object) -> Evidence:
    """Read an error body or an event; anything that is neither mapping, list nor text is empty."""
    evidence = Evidence()
    evidence.read(body)
    return evidence


def evidence_of_message(message: object) -> Evidence:
    """Read why a chat model stopped, and nothing of what it said."""
    evidence = Evidence()
    for name in ("response_metadata", "additional_kwargs"):
        metadata = _attribute(message, name)
        if not isinstance(metadata, Mapping):
            continue
        for key, value in islice(metadata.items(), _ITEMS):
            if str(key).lower().replace("_", "") in _STOPS and isinstance(value, str):
                evidence.stops.append(value)
    return evidence


def evidence_of_exception(error: BaseException) -> Evidence:
    """Read one exception, without those that it was raised from (see `linked`)."""
    evidence = Evidence(from_provider=type(error).__module__ != "builtins")
    # `ContextOverflowError` of langchain-core, `RateLimitError` of every client: names are codes.
    evidence.codes.extend(cls.__name__ for cls in type(error).__mro__)
    if not _speaks_for_a_provider(error):
        return evidence
    for name in ("code", "status_code", "http_status", "status", "type"):
        evidence.read_code(_attribute(error, name))
    for name in ("body", "details", "detail", "error", "message"):
        evidence.read(_attribute(error, name))
    _read_response(evidence, _attribute(error, "response"))
    for argument in error.args:
        if isinstance(argument, Mapping | bytes):
            evidence.read(argument)
        elif not isinstance(argument, str | BaseException):  # a client's error object
            evidence.read_code(_attribute(argument, "code"))
            evidence.read(_attribute(argument, "message"))
    try:
        evidence.read(str(error))
    except Exception:  # a broken __str__ says nothing
        return evidence
    return evidence


def linked(error: BaseException) -> Iterable[BaseException]:
    """Yield the exceptions that belong to an exception, the most explicit first."""
    if isinstance(error, BaseExceptionGroup):
        yield from error.exceptions
    if error.__cause__ is not None:
        yield error.__cause__
    yield from (argument for argument in error.args if isinstance(argument, BaseException))
    if error.__context__ is not None and not error.__suppress_context__:
        yield error.__context__


def _read_response(evidence: Evidence, response: object) -> None:
    if isinstance(response, Mapping | str):  # botocore
        evidence.read(response)
        return
    evidence.read_code(_attribute(response, "status_code"))
    if _attribute(response, "_content") is False:  # requests: `.content` would wait for the network
        return
    content = _attribute(response, "content")  # httpx: raises if it was not read
    if isinstance(content, bytes):
        evidence.read(content)


def _speaks_for_a_provider(error: BaseException) -> bool:
    """Say whether an exception can carry a provider's words: not a programming error, not ours."""
    if isinstance(error, LongthreadError | BaseExceptionGroup):
        return False
    cls = type(error)
    if cls.__module__ == "builtins":
        return cls in (Exception, ValueError, RuntimeError)
    if cls.__module__.split(".")[0] in ("pydantic", "pydantic_core"):
        return False
    return _QUOTING.isdisjoint(parent.__name__ for parent in cls.__mro__)


def _attribute(thing: object, name: str) -> object:
    try:
        return getattr(thing, name, None)
    except Exception:  # a property that raises says nothing
        return None


def _as_json(text: str) -> Mapping[object, object] | list[object] | None:
    text = text.strip() if len(text) <= _JSON else ""
    if text[:1] not in ("{", "["):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict | list) else None
