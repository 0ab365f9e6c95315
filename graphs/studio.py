"""Entry points for LangGraph Studio and Server: they work without a key and without network.

`LONGTHREAD_MODEL`, as in `openai:gpt-5-mini`, puts a real model in the place of the scripted one.
The server brings its own checkpointer and store; a graph compiled with one is refused there. The
graph is made once, when this module is imported: a factory would be called in the server's event
loop, for every read of a state.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from .agent import create_agent_graph
from .compaction import create_compaction_graph
from .compiled import AgentGraph
from .maintenance import create_maintenance_graph
from .scripted import ScriptedModel

__all__ = ["agent", "compaction", "maintenance"]


def clock() -> str:
    """Say what time it is, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _agent() -> AgentGraph:
    named = os.environ.get("LONGTHREAD_MODEL")
    return create_agent_graph(
        named or ScriptedModel(script=_answer),
        [clock],
        system_prompt="You are a helpful assistant. Use your tools when they help.",
        name="studio",
        workspace=os.environ.get("LONGTHREAD_WORKSPACE", ".longthread"),
    )


def _answer(messages: list[BaseMessage]) -> AIMessage:
    """Answer without a model: tell the time once, then say what the context holds."""
    last = messages[-1]
    if "<previous_summary>" in str(last.content):
        said = str(last.content).partition("<messages>")[2].strip()
        return AIMessage(f"## Facts\nThis was said: {said[:200]}")
    if isinstance(last, HumanMessage) and "time" in str(last.content).lower():
        return AIMessage("", tool_calls=[{"name": "clock", "args": {}, "id": f"clock-{last.id}"}])
    if isinstance(last, ToolMessage):
        return AIMessage(f"It is {last.content}.")
    system = messages[0].content if messages[0].type == "system" else ""
    if "NO_REPLY" in str(system):
        return AIMessage("NO_REPLY")
    if "MEMORY.md" in str(system):
        return AIMessage(str(last.content))
    return AIMessage(
        f"This is the scripted model: it was sent {len(messages)} messages. Ask it for the time, "
        "or set LONGTHREAD_MODEL to talk to a real one."
    )


agent = _agent()
"""The agent that `langgraph.json` names."""

compaction = create_compaction_graph(agent)
"""Compacts a thread of the agent on demand."""

maintenance = create_maintenance_graph(agent)
"""Maintains a user's memory on demand, or by a cron."""
