"""Whose fault an error is: a provider's, so that another one is asked, or the request's."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import httpx
import openai
import pytest
from agents import overflow_error
from langchain_core.exceptions import ContextOverflowError, OutputParserException
from pydantic import BaseModel, ValidationError

from longthread.state.errors import AnswerCutOff, ConfigurationError
from longthread.state.outage import is_outage

REQUEST = httpx.Request("POST", "http://127.0.0.1/v1/chat/completions")


def status(code: int, body: Any = None) -> openai.APIStatusError:
    """What an OpenAI client raises for an answer with this status."""
    response: Any = httpx.Response(code, json=body, request=REQUEST)
    classes: dict[int, type[openai.APIStatusError]] = {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        403: openai.PermissionDeniedError,
        404: openai.NotFoundError,
        409: openai.ConflictError,
        422: openai.UnprocessableEntityError,
        429: openai.RateLimitError,
    }
    kind = classes.get(code, openai.InternalServerError if code >= 500 else openai.APIStatusError)
    return kind("Error", response=response, body=body)


def in_stream(**error: Any) -> openai.APIError:
    """What an OpenAI client raises for an error inside a stream: it has no status."""
    request: Any = REQUEST
    return openai.APIError("An error occurred", request=request, body=error)


def raised_from(outer: Exception, cause: BaseException) -> Exception:
    outer.__cause__ = cause
    return outer


def raised_while_handling(outer: Exception, context: BaseException) -> Exception:
    outer.__context__ = context
    return outer


class ClientError(Exception):
    """As botocore's."""

    def __init__(self, code: str, http_status: int) -> None:
        super().__init__(f"An error occurred ({code})")
        self.response = {
            "Error": {"Code": code, "Message": "…"},
            "ResponseMetadata": {"HTTPStatusCode": http_status},
        }


class ServiceUnavailable(Exception):
    """As google.api_core's: the status is its code."""

    code = 503


class SomeClientError(Exception):
    """Of a client that wraps whatever happens."""


def invalid_output() -> ValidationError:
    class Shape(BaseModel):
        number: int

    with pytest.raises(ValidationError) as caught:
        Shape(number="x")  # type: ignore[arg-type]
    return caught.value


OUTAGES = [
    *map(status, (408, 429, 500, 502, 503, 504, 529)),
    status(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}),
    openai.APIConnectionError(request=REQUEST),  # type: ignore[arg-type]
    openai.APITimeoutError(request=REQUEST),  # type: ignore[arg-type]
    in_stream(type="server_error", message="The server had an error"),
    in_stream(type="overloaded_error", message="Overloaded"),
    in_stream(code=502, message="Provider returned error"),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("slow"),
    httpx.PoolTimeout("slow"),
    httpx.RemoteProtocolError("peer closed connection"),
    httpx.ReadError("reset"),
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(),
    BrokenPipeError(),
    TimeoutError(),
    TimeoutError(),
    socket.gaierror(-2, "Name or service not known"),
    json.JSONDecodeError("Expecting value", "", 0),
    AnswerCutOff("the answer ended in the middle"),
    ClientError("ThrottlingException", 400),
    ClientError("ServiceUnavailableException", 503),
    ClientError("InternalServerException", 500),
    ServiceUnavailable(),
    raised_from(SomeClientError("failed"), httpx.ConnectError("refused")),
    raised_while_handling(SomeClientError("failed"), TimeoutError()),
    raised_from(RuntimeError("failed"), raised_from(SomeClientError(), status(503))),
    SomeClientError(ConnectionResetError()),
    ExceptionGroup("one of", [SomeClientError(), httpx.ConnectError("refused")]),
]

FAULTS = [
    *map(status, (400, 401, 402, 403, 404, 409, 413, 422)),
    status(400, {"error": {"code": 503, "message": "Unknown parameter"}}),
    overflow_error(),
    ContextOverflowError("too long"),
    status(500, {"error": {"message": "This model's maximum context length is 4000 tokens. "
                           "However, your messages resulted in 5000 tokens."}}),
    status(413, {"error": {"message": "Payload too large"}}),
    in_stream(type="invalid_request_error", message="Unknown parameter"),
    in_stream(code="context_length_exceeded", message="too long"),
    in_stream(code=401, message="No auth credentials found"),
    httpx.LocalProtocolError("Illegal header value"),
    httpx.UnsupportedProtocol("Request URL is missing a protocol"),
    ClientError("AccessDeniedException", 403),
    ClientError("ValidationException", 400),
    raised_from(SomeClientError("failed"), status(401)),
    raised_from(SomeClientError("failed"), raised_from(status(400), ConnectionResetError())),
    raised_from(OutputParserException("no JSON"), json.JSONDecodeError("Expecting value", "", 0)),
    raised_while_handling(TypeError("'NoneType'"), ConnectionResetError()),
    raised_while_handling(KeyError("choices"), TimeoutError()),
    invalid_output(),
    ConfigurationError("model=None"),
    raised_from(ConfigurationError("x"), ConnectionResetError()),
    ValueError("connection error"),  # words are no evidence
    RuntimeError("429 rate limit"),
    SomeClientError(),
]  # fmt: skip


def said(error: BaseException) -> str:
    return f"{type(error).__name__} {getattr(error, 'status_code', '')}"


@pytest.mark.parametrize("error", OUTAGES, ids=said)
def test_a_providers_trouble_is_an_outage(error: Exception) -> None:
    assert is_outage(error)


@pytest.mark.parametrize("error", FAULTS, ids=said)
def test_the_requests_own_trouble_is_none(error: Exception) -> None:
    assert not is_outage(error)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), SystemExit()])
def test_who_is_interrupted_asks_nobody_else(error: BaseException) -> None:
    assert not is_outage(error)


def test_an_exception_that_is_its_own_cause_comes_to_an_end() -> None:
    error = SomeClientError()
    error.__context__ = SomeClientError(error)
    assert not is_outage(error)


class APIStatusError(Exception):
    """As anthropic's: an error inside a stream has the status of the stream."""

    status_code = 200

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.body = {"type": "error", "error": {"type": kind, "message": "…"}}


def test_an_error_inside_a_stream_is_judged_by_what_it_says() -> None:
    assert is_outage(APIStatusError("overloaded_error"))
    assert is_outage(APIStatusError("rate_limit_error"))
    assert not is_outage(APIStatusError("invalid_request_error"))
    assert not is_outage(APIStatusError("authentication_error"))
