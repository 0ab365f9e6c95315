"""Reading the body of a request: bounded, and either JSON or text."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from starlette.requests import Request

from .answers import HttpError

__all__ = ["Fields", "decoded", "fields_of", "media_type", "read_body"]

T = TypeVar("T", bound="Fields")

_DRAINED = 100_000_000
"""Bytes of a body too large that are read and thrown away. Closing a connection while its client
still sends resets it, and most clients then never see the answer."""

_UTF_8 = ("utf-8", "utf8", "us-ascii")


class Fields(BaseModel):
    """What a JSON body holds; names in camelCase or in snake_case, nothing else."""

    model_config = ConfigDict(
        extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True
    )


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body.

    Args:
        request: The request.
        limit: The most bytes that are taken. What arrives is counted: the length that a client
            announces can be a lie.

    Raises:
        HttpError: It is larger, or encoded so that nobody knows how large it is.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise _unsupported(f"Content-Encoding: {encoding}: send the body as it is")
    if _asks_first(request) and _announced(request) > limit:
        raise _too_large(limit, close=True)
    body, arrived = bytearray(), 0
    async for chunk in request.stream():
        arrived += len(chunk)
        if arrived <= limit:
            body += chunk
            continue
        body.clear()
        if arrived > limit + _DRAINED:
            raise _too_large(limit, close=True)
    if arrived > limit:
        raise _too_large(limit, close=False)
    return bytes(body)


def media_type(request: Request, *accepted: str) -> str:
    """Return the media type of the body in lower case; the first accepted one if none is named.

    Raises:
        HttpError: It is not among the accepted ones, or not in UTF-8.
    """
    named, *parameters = request.headers.get("content-type", "").split(";")
    kind = named.strip().lower() or accepted[0]
    if kind not in accepted:
        raise _unsupported(f"Content-Type: {kind}: send {' or '.join(accepted)}")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in _UTF_8:
            raise _unsupported(f"charset={value.strip()}: send UTF-8")
    return kind


def fields_of(body: bytes, kind: type[T]) -> T:
    """Return the fields of a JSON body.

    Raises:
        HttpError: It is not JSON, or not what it should hold.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise HttpError(400, "MALFORMED_JSON", f"the body: {first['msg']}") from None
        field = ".".join(map(str, first["loc"])) or "the body"
        raise HttpError(400, "INVALID_FIELD", f"{field}: {first['msg']}") from None


def decoded(body: bytes) -> str:
    """Return the text of a body.

    Raises:
        HttpError: It is not UTF-8.
    """
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise HttpError(400, "NOT_UTF_8", f"the body: {error.reason} at {error.start}") from None


def _asks_first(request: Request) -> bool:
    """Whether the client waits to be asked for the body."""
    return request.headers.get("expect", "").strip().lower() == "100-continue"


def _announced(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) < 20 else 0


def _too_large(limit: int, *, close: bool) -> HttpError:
    return HttpError(
        413,
        "PAYLOAD_TOO_LARGE",
        f"the body is larger than {limit:,} bytes",
        headers={"Connection": "close"} if close else None,
    )


def _unsupported(message: str) -> HttpError:
    return HttpError(415, "UNSUPPORTED_MEDIA_TYPE", message)
