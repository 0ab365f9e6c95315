"""`create_app`: the routes as an application, alone or inside LangGraph Server."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from ...graphs.agent import context_policy
from ...graphs.compiled import AgentGraph
from ...nodes.background import EXIT_TIMEOUT, adrain
from .answers import Nothing
from .memory import memory_routes
from .own_sessions import OwnSessions
from .served_sessions import ServedSessions
from .sessions import Sessions, session_routes

__all__ = ["create_app"]

log = logging.getLogger("longthread")


def create_app(
    graph: AgentGraph,
    *,
    graph_id: str = "agent",
    compaction_id: str = "compaction",
    max_memory_bytes: int = 1_000_000,
) -> Starlette:
    """Make the HTTP routes for an agent.

    Args:
        graph: What `create_agent_graph` returned. With a checkpointer of its own, its threads are
            found there; without one, the application is for LangGraph Server (`http.app` in
            `langgraph.json`) and works on the server's threads.
        graph_id: What `langgraph.json` calls the agent graph. Only inside the server.
        compaction_id: What it calls the compaction graph. Only inside the server.
        max_memory_bytes: The largest memory file that can be put.

    Returns:
        An application for any ASGI server. It authenticates nobody: whoever the server or a
        middleware has authenticated (`request.user`) is the user, else the default user. When it is
        shut down, it waits for memory work that is not done yet, for up to 20 seconds.

    Raises:
        ConfigurationError: The graph is not an agent graph.
    """
    context_policy(graph)
    alone = isinstance(graph.checkpointer, BaseCheckpointSaver)
    sessions: Sessions = (
        OwnSessions(graph) if alone else ServedSessions(graph, graph_id, compaction_id)
    )
    recall: Any = graph.builder.nodes["recall"].runnable
    routes: list[BaseRoute] = [
        *session_routes(sessions),
        *memory_routes(recall.workspace, recall.agent, max_bytes=max_memory_bytes),
    ]
    # Inside the server all other paths are the server's.
    roots = ("",) if alone else ("/sessions", "/memory", "/agents")
    for root in roots:
        routes += [Route(root or "/", Nothing()), Route(f"{root}/{{rest:path}}", Nothing())]
    return Starlette(routes=routes, lifespan=_lifespan)


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    """Finish what calls have left to the background while stores and checkpointers are still open.

    The exit of the process would be too late: a server that is told to stop by a signal ends by
    that signal, and nothing that Python has registered for its exit is called.
    """
    yield
    if not await adrain(EXIT_TIMEOUT):
        log.warning(
            "memory work is not done after %g seconds: later calls make up for it", EXIT_TIMEOUT
        )
