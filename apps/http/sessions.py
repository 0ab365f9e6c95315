"""`POST /sessions/{id}/compact` and `POST /sessions/{id}/close`."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

from pydantic import Field
from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from ...graphs.compaction import CompactionInput, CompactionOutput
from ...graphs.sessions import Session
from .answers import Resource
from .bodies import Fields, fields_of, media_type, read_body

__all__ = ["Sessions", "session_routes"]

_BODY_LIMIT = 100_000
# As the reference names them.
_NAMES = {
    "summary": "compactSummary",
    "size": "compactSize",
    "context_limit": "contextSizeLimit",
}


class Sessions(Protocol):
    """The threads that the routes work on, wherever they are kept.

    Both methods raise a `LongthreadError` with one of the codes of `compact_thread`.
    """

    async def compact(
        self, request: Request, thread_id: str, asked: CompactionInput
    ) -> CompactionOutput:
        """Summarise the next part of a thread."""
        ...

    async def close(self, request: Request, thread_id: str) -> tuple[bool, Session]:
        """End a thread; return whether that was new, and the thread."""
        ...


class CompactFields(Fields):
    """The body of a compaction; it may be left out."""

    instructions: Annotated[str, Field(max_length=20_000)] | None = None
    dry_run: bool = False


def session_routes(sessions: Sessions) -> list[BaseRoute]:
    """Return the routes below `/sessions`."""

    async def compact(request: Request) -> Response:
        """Summarise the next part of a session, from its beginning.

        ---
        summary: Compact a session
        tags: [Sessions]
        requestBody:
          content:
            application/json:
              schema:
                type: object
                properties:
                  instructions: {type: string, description: Added to the summariser's prompt}
                  dryRun: {type: boolean, description: Say what would be done and do nothing}
        responses:
          "200":
            description: sessionId, compactedCount, newSize, alreadyUpToDate, session
          "400": {description: COMPACTION_DISABLED or SESSION_CLOSED}
          "404": {description: SESSION_NOT_FOUND}
          "409": {description: SESSION_BUSY}
        """
        body = await read_body(request, _BODY_LIMIT)
        fields = CompactFields()
        if body:
            media_type(request, "application/json")
            fields = fields_of(body, CompactFields)
        asked = CompactionInput(instructions=fields.instructions, dry_run=fields.dry_run)
        done = await sessions.compact(request, request.path_params["id"], asked)
        return JSONResponse(
            {
                "sessionId": done["thread_id"],
                "compactedCount": done["compacted_count"],
                "newSize": done["new_size"],
                "alreadyUpToDate": done["already_up_to_date"],
                "session": _session(done["session"]),
            }
        )

    async def close(request: Request) -> Response:
        """End a session: it can be read, and nothing can be said in it any more.

        ---
        summary: Close a session
        tags: [Sessions]
        responses:
          "200": {description: "sessionId, alreadyClosed, session"}
          "404": {description: SESSION_NOT_FOUND}
          "409": {description: SESSION_BUSY}
        """
        if body := await read_body(request, _BODY_LIMIT):
            media_type(request, "application/json")
            fields_of(body, Fields)
        new, session = await sessions.close(request, request.path_params["id"])
        return JSONResponse(
            {"sessionId": session["id"], "alreadyClosed": not new, "session": _session(session)}
        )

    # An id may hold slashes: servers hand over `%2F` as one.
    return [
        Route("/sessions/{id:path}/compact", Resource(post=compact)),
        Route("/sessions/{id:path}/close", Resource(post=close)),
    ]


def _session(session: Session) -> dict[str, Any]:
    return {_NAMES.get(key, to_camel(key)): value for key, value in session.items()}
