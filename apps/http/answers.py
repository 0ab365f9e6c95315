"""Every answer is JSON, errors too: `Resource`, `HttpError`.

Inside LangGraph Server the routes stand in the server's own application, whose error handlers are
the server's business. So nothing here relies on an application's handlers: each route turns its
errors into answers itself.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from ...state.errors import LongthreadError

__all__ = ["Endpoint", "HttpError", "Nothing", "Resource", "error_answer"]

log = logging.getLogger("longthread")

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

_STATUS = {
    "COMPACTION_DISABLED": 400,
    "SESSION_CLOSED": 400,
    "SESSION_NOT_FOUND": 404,
    "SESSION_BUSY": 409,
    "SUMMARY_REFUSED": 502,
    "SUMMARY_FAILED": 502,
}


class HttpError(LongthreadError):
    """An error that becomes an answer.

    Args:
        status: The HTTP status.
        code: The stable name of the kind of error.
        message: What is wrong and what to do about it.
        headers: Further headers of the answer.
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.headers = dict(headers or {})


class Resource:
    """An ASGI application for one path: an endpoint for each method.

    Args:
        endpoints: The endpoints by lower-case method. The docstring of each ends in its OpenAPI
            description, which LangGraph Server shows beside its own.
    """

    def __init__(self, **endpoints: Endpoint) -> None:
        self.endpoints = {method.upper(): endpoint for method, endpoint in endpoints.items()}
        if "GET" in self.endpoints:
            self.endpoints["HEAD"] = self.endpoints["GET"]
        for method, endpoint in endpoints.items():
            setattr(self, method, endpoint)  # where OpenAPI generators look for them

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            endpoint = self.endpoints.get(request.method)
            if endpoint is None:
                allowed = ", ".join(sorted(self.endpoints))
                raise HttpError(
                    405,
                    "METHOD_NOT_ALLOWED",
                    f"{request.method} is not possible here; use {allowed}",
                    headers={"Allow": allowed},
                )
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:
            return error_answer(error)


class Nothing:
    """An ASGI application for paths where nothing is, whatever the method."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        error = HttpError(404, "NOT_FOUND", f"there is nothing at {scope['path']!r}")
        await error_answer(error)(scope, receive, send)


def error_answer(error: Exception) -> JSONResponse:
    """Return the answer for an error: `{"code": …, "message": …}`."""
    if isinstance(error, HttpError):
        return _answer(error.status, error.code, str(error), error.headers)
    if isinstance(error, LongthreadError) and error.code in _STATUS:
        return _answer(_STATUS[error.code], error.code, str(error))
    # What happened on the disk or at a provider is for the operator: it names paths, even secrets.
    log.error("a request failed", exc_info=error)
    code = error.code if isinstance(error, LongthreadError) else "INTERNAL_ERROR"
    return _answer(500, code, "the request failed; the server's log says why")


def _answer(
    status: int, code: str, message: str, headers: dict[str, Any] | None = None
) -> JSONResponse:
    return JSONResponse({"code": code, "message": message}, status, headers)
