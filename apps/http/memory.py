"""`GET|PUT /memory/{file}`, `GET|PUT /agents/{name}/memory/{file}` and `GET /memory`."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from ...state.errors import WorkspaceError
from ...stores.paths import check_segment
from ...stores.workspace import Owner, Workspace
from .answers import HttpError, Resource
from .bodies import Fields, decoded, fields_of, media_type, read_body
from .identity import user_of
from .memory_file import Condition, MemoryFolder, etag_of

__all__ = ["memory_routes"]

_ETAG = re.compile(r'(?:W/)?"[^"]*"|\*')
_JSON, _MARKDOWN, _PLAIN = "application/json", "text/markdown", "text/plain"


class FileFields(Fields):
    """The body of a PUT that is JSON."""

    content: str


def memory_routes(workspace: Workspace, agent: str, *, max_bytes: int) -> list[BaseRoute]:
    """Return the routes below `/memory` and `/agents`.

    Args:
        workspace: Where the files live.
        agent: The name of the agent, whose memory is listed with what is shared.
        max_bytes: The largest body of a PUT.
    """

    def folder_of(request: Request) -> MemoryFolder:
        name = request.path_params.get("name")
        if name is not None:
            try:
                check_segment(name, "agent")
            except WorkspaceError as error:
                raise HttpError(400, "INVALID_PATH", str(error)) from None
        return MemoryFolder(workspace.scoped(Owner(user_of(request), name or agent)), name)

    async def everything(request: Request) -> Response:
        """List the memory files: the shared ones and the agent's.

        ---
        summary: List memory files
        tags: [Memory]
        responses:
          "200": {description: "files: scope, agent, file, size and modified of each"}
        """
        shared = folder_of(request)
        own = MemoryFolder(shared.files, agent)
        return JSONResponse({"files": await asyncio.to_thread(lambda: _both(shared, own))})

    async def listed(request: Request) -> Response:
        """List the memory files of an agent.

        ---
        summary: List an agent's memory files
        tags: [Memory]
        responses:
          "200": {description: "files: scope, agent, file, size and modified of each"}
        """
        return JSONResponse({"files": await asyncio.to_thread(folder_of(request).listed)})

    async def get(request: Request) -> Response:
        """Return a memory file, as JSON or, if asked for, as Markdown.

        ---
        summary: Read a memory file
        tags: [Memory]
        responses:
          "200": {description: "scope, agent, file, size, modified and content; an ETag"}
          "304": {description: Not changed since (If-None-Match)}
          "404": {description: MEMORY_NOT_FOUND}
        """
        file = request.path_params["file"]
        found = await asyncio.to_thread(folder_of(request).read, file)
        if found is None:
            raise HttpError(404, "MEMORY_NOT_FOUND", f"there is no memory file {file!r}")
        about, text = found
        headers = {"ETag": etag_of(text), "Cache-Control": "no-cache", "Vary": "Accept"}
        if not replace(_condition(request), match=None).holds(text):
            return Response(status_code=304, headers=headers)
        accept = request.headers.get("accept", "")
        if _JSON not in accept and (_MARKDOWN in accept or _PLAIN in accept):
            kind = _MARKDOWN if _MARKDOWN in accept else _PLAIN
            headers["X-Content-Type-Options"] = "nosniff"
            return PlainTextResponse(text, headers=headers, media_type=kind)
        return JSONResponse({**about, "content": text}, headers=headers)

    async def put(request: Request) -> Response:
        """Replace a memory file by exactly what is sent, or create it.

        ---
        summary: Overwrite a memory file
        tags: [Memory]
        requestBody:
          required: true
          content:
            application/json:
              schema:
                type: object
                required: [content]
                properties:
                  content: {type: string}
            text/markdown:
              schema: {type: string}
        responses:
          "200": {description: "scope, agent, file, size and modified; an ETag"}
          "201": {description: The same, of a new file}
          "400": {description: "INVALID_PATH, INVALID_FIELD, MALFORMED_JSON or NOT_UTF_8"}
          "412": {description: PRECONDITION_FAILED (If-Match, If-None-Match)}
          "413": {description: PAYLOAD_TOO_LARGE}
          "415": {description: UNSUPPORTED_MEDIA_TYPE}
        """
        folder, file = folder_of(request), request.path_params["file"]
        folder.path(file, new=True)  # refused before anything is read
        kind = media_type(request, _MARKDOWN, _PLAIN, _JSON)
        body = await read_body(request, max_bytes)
        text = fields_of(body, FileFields).content if kind == _JSON else decoded(body)
        about, created = await asyncio.to_thread(folder.replace, file, text, _condition(request))
        headers = {"ETag": etag_of(text)}
        return JSONResponse(about, status_code=201 if created else 200, headers=headers)

    return [
        Route("/memory", Resource(get=everything)),
        Route("/memory/{file:path}", Resource(get=get, put=put)),
        Route("/agents/{name}/memory", Resource(get=listed)),
        Route("/agents/{name}/memory/{file:path}", Resource(get=get, put=put)),
    ]


def _both(shared: MemoryFolder, own: MemoryFolder) -> list[dict[str, object]]:
    return [*shared.listed(), *own.listed()]


def _condition(request: Request) -> Condition:
    """Return what a request expects of the file.

    Ours are strong ETags. `If-None-Match` compares weakly (RFC 9110, 13.1.2): caches and proxies
    that compress an answer weaken its ETag. `If-Match` compares strongly.
    """
    none_match = _etags(request, "if-none-match")
    if none_match is not None:
        none_match = [etag.removeprefix("W/") for etag in none_match]
    return Condition(_etags(request, "if-match"), none_match)


def _etags(request: Request, header: str) -> list[str] | None:
    """Return the ETags that a header names, with their quotes, or `*`; None: there is no header."""
    values = request.headers.getlist(header)
    if not values:
        return None
    return [etag for value in values for etag in _ETAG.findall(value)]
