"""Threads that LangGraph Server keeps: what is done to them is asked of the server itself.

The requests do not leave the process, and they carry what the client sent to prove who it is: the
server decides as for a request of the client's own. (The loopback client of `langgraph_sdk` goes
past authentication: anybody could compact anybody's thread, and its facts would go to nobody's
memory.)
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from starlette.requests import Request

from ...graphs.agent import context_policy
from ...graphs.compaction import CompactionInput, CompactionOutput
from ...graphs.compiled import AgentGraph
from ...graphs.sessions import Session, session_of
from ...state.errors import LongthreadError

__all__ = ["ServedSessions"]

log = logging.getLogger("longthread")

_OF_THE_CONNECTION = {
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "if-match",
    "if-none-match",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}


class ServedSessions:
    """The threads of a LangGraph Server, for the routes inside it.

    Args:
        graph: The agent graph.
        graph_id: What `langgraph.json` calls it.
        compaction_id: What it calls the compaction graph.
    """

    def __init__(self, graph: AgentGraph, graph_id: str, compaction_id: str) -> None:
        self._graph = graph
        self._graph_id = graph_id
        self._compaction_id = compaction_id

    async def compact(
        self, request: Request, thread_id: str, asked: CompactionInput
    ) -> CompactionOutput:
        """Run the compaction graph on a thread, unless something runs on it already."""
        async with _client(request) as client:
            thread = await self._thread(client, thread_id)
            found = str(thread["thread_id"])
            try:
                done: Any = await client.runs.wait(
                    found,
                    self._compaction_id,
                    input=asked,
                    multitask_strategy="reject",
                    raise_error=False,
                )
            except httpx.HTTPStatusError as error:
                raise _refused(error, thread_id) from error
            finally:
                await self._give_back(client, thread)
        failure = (done or {}).get("error") or (done or {}).get("__error__")
        if failure:
            raise LongthreadError(failure["message"], code=failure.get("code", "SUMMARY_FAILED"))
        if "thread_id" not in (done or {}):
            raise LongthreadError(
                f"the compaction of thread {thread_id!r} was cancelled: nothing was written",
                code="SESSION_BUSY",
            )
        result: CompactionOutput = done
        return result

    async def close(self, request: Request, thread_id: str) -> tuple[bool, Session]:
        """Write to the state of a thread that it is closed, unless something runs on it."""
        async with _client(request) as client:
            thread = await self._thread(client, thread_id)
            found = str(thread["thread_id"])
            try:
                snapshot: Any = await client.threads.get_state(found)
                state = snapshot["values"] or {}
                if not state.get("messages"):
                    raise _unknown(thread_id)
                new = not state.get("closed")
                if new:
                    await client.threads.update_state(
                        found, {"closed": True}, as_node="consolidation"
                    )
                    snapshot = await client.threads.get_state(found)
            except httpx.HTTPStatusError as error:
                raise _refused(error, thread_id) from error
        policy, name = context_policy(self._graph), self._graph.get_name()
        return new, session_of(found, snapshot["values"], "closed", policy, agent=name)

    async def _thread(self, client: LangGraphClient, thread_id: str) -> dict[str, Any]:
        """Return a thread of the agent that rests."""
        try:
            # Also because the client puts ids into addresses as they are.
            thread: Any = await client.threads.get(str(uuid.UUID(thread_id)))
        except ValueError:
            raise _unknown(thread_id) from None
        except httpx.HTTPStatusError as error:
            raise _refused(error, thread_id) from error
        if thread["metadata"].get("graph_id") not in (self._graph_id, self._compaction_id):
            raise _unknown(thread_id)
        if thread["status"] == "busy":
            raise _busy(thread_id)
        return dict(thread)

    async def _give_back(self, client: LangGraphClient, thread: dict[str, Any]) -> None:
        """Note again whose thread it is: the server notes the graph of each run."""
        try:
            await client.threads.update(thread["thread_id"], metadata={"graph_id": self._graph_id})
        except httpx.HTTPError as error:
            # Until its next call the thread is the compaction graph's, which speaks for the agent.
            log.warning("thread %s stays noted as compacted: %s", thread["thread_id"], error)


def _client(request: Request) -> LangGraphClient:
    """Return a client of the server that this request came to, with the same credentials."""
    headers = [(k, v) for k, v in request.headers.items() if k not in _OF_THE_CONNECTION]
    root = request.scope.get("root_path", "")
    transport = httpx.ASGITransport(
        app=request.app,
        raise_app_exceptions=False,
        # The server's own sign that a request comes from inside; no client can send it.
        root_path="/noauth" if root == "/noauth" or root.startswith("/noauth/") else "",
        client=request.client or ("127.0.0.1", 0),
    )
    inner = httpx.AsyncClient(
        transport=transport, base_url="http://api", headers=headers, timeout=None
    )
    return LangGraphClient(inner)


def _refused(error: httpx.HTTPStatusError, thread_id: str) -> Exception:
    """Say in our terms what the server has answered."""
    if error.response.status_code == 409:
        return _busy(thread_id)
    if error.response.status_code in (401, 403, 404, 422):
        return _unknown(thread_id)
    return error


def _busy(thread_id: str) -> LongthreadError:
    return LongthreadError(
        f"thread {thread_id!r} is in the middle of a call: let it finish first",
        code="SESSION_BUSY",
    )


def _unknown(thread_id: str) -> LongthreadError:
    return LongthreadError(f"there is no thread {thread_id!r}", code="SESSION_NOT_FOUND")
