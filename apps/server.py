"""The HTTP routes inside LangGraph Server: what `http.app` in `langgraph.json` names.

For an agent of your own, make such a module yourself; alone, under any ASGI server, give
`create_app` a graph with a checkpointer.
"""

from __future__ import annotations

from ..graphs.studio import agent
from .http import create_app

__all__ = ["app", "create_app"]

app = create_app(agent)
"""The routes for the agent that `langgraph.json` serves."""
