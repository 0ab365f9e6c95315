"""What a LangGraph Server of the tests serves: graphs, routes, and who may do what.

The model waits where it is told to: "wait for NAME" holds its answer back until there is a file of
that name in the folder `GATES`. It looks into past threads when it is told to "find WORDS" or to
"read THREAD", and says what it was shown.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import interrupt
from langgraph_sdk import Auth

from longthread import FlushTrigger, MemoryConfig, create_agent_graph
from longthread.apps.http import create_app
from longthread.graphs.compaction import create_compaction_graph
from longthread.graphs.scripted import ScriptedModel

GATES = Path(os.environ["GATES"])

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    """Believe everybody who says a name."""
    scheme, _, name = (authorization or "").partition(" ")
    if scheme != "Bearer" or not name:
        raise Auth.exceptions.HTTPException(status_code=401, detail="say who you are")
    return name


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """A thread is for whoever has made it."""
    owner = {"owner": ctx.user.identity}
    if ctx.action in ("create", "create_run"):
        value.setdefault("metadata", {}).update(owner)
    return owner


def ask(question: str) -> str:
    """Ask the user."""
    return str(interrupt(question))


_LOOKS = {"find": ("thread_search", "query"), "read": ("thread_history", "thread_id")}


def answer(messages: list[BaseMessage]) -> AIMessage | str:
    """Play every part."""
    first, last = str(messages[0].content), str(messages[-1].content)
    for name in re.findall(r"wait for ([a-z-]+)", last):
        (GATES / f"{name}-reached").touch()
        while not (GATES / name).exists():
            time.sleep(0.01)
    if "<previous_summary>" in last:
        if "break down" in last:
            raise ValueError("the key sk-123 is wrong")
        return "SUM"
    if first.startswith("You extract what is worth remembering"):
        return "- A fact."
    if isinstance(messages[-1], ToolMessage) and str(messages[-1].name).startswith("thread_"):
        return f"I was shown: {last}"
    if told := re.fullmatch(r"(find|read) (.+)", last):
        name, argument = _LOOKS[told[1]]
        return AIMessage("", tool_calls=[{"name": name, "args": {argument: told[2]}, "id": "l"}])
    if "ask me" in last:
        return AIMessage("", tool_calls=[{"name": "ask", "args": {"question": "?"}, "id": "a"}])
    return f"{len(messages)} messages: {first}"


agent = create_agent_graph(
    ScriptedModel(script=answer),
    [ask],
    memory=MemoryConfig(flush_trigger=FlushTrigger.never()),
    workspace=os.environ["WORKSPACE"],
)
compaction = create_compaction_graph(agent)
app = create_app(agent)
