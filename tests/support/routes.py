"""Clients of the HTTP routes, without a socket in between."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import httpx
from starlette.authentication import BaseUser
from starlette.types import ASGIApp, Receive, Scope, Send

from longthread.apps.http import create_app
from longthread.graphs.compiled import AgentGraph

__all__ = ["User", "client_of", "raw_answer"]


class User(BaseUser):
    """Whom a server has authenticated."""

    def __init__(self, identity: str) -> None:
        self._identity = identity

    @property
    def is_authenticated(self) -> bool:
        """Yes."""
        return True

    @property
    def identity(self) -> str:
        """Who it is."""
        return self._identity


class Authenticated:
    """What a server's authentication does before the routes are reached."""

    def __init__(self, app: ASGIApp, user: BaseUser) -> None:
        self.app, self.user = app, user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its user."""
        await self.app({**scope, "user": self.user}, receive, send)


def client_of(
    graph: AgentGraph, *, user: str | BaseUser | None = None, **options: Any
) -> httpx.AsyncClient:
    """Return a client of the routes of an agent.

    Args:
        graph: The agent.
        user: Who is authenticated; None: nobody.
        options: Further arguments of `create_app`.
    """
    app: ASGIApp = create_app(graph, **options)
    if user is not None:
        app = Authenticated(app, User(user) if isinstance(user, str) else user)
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://routes")


async def raw_answer(
    app: ASGIApp, method: str, url: str, body: bytes = b"evil"
) -> tuple[int, bytes]:
    """Send a request whose path nobody has tidied up; return status and body.

    Args:
        app: The routes.
        method: The method.
        url: The path as it would stand in the request line.
        body: The body.
    """
    sent: list[Any] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(url),
        "raw_path": url.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"routes")],
        "client": ("127.0.0.1", 1),
        "server": ("routes", 80),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
