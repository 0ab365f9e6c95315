"""`reasoning` sends what it is given; `violations` looks at open calls only before another turn.

OpenAI and Anthropic refuse a request whose last assistant message has calls without results.
"""

from pathlib import Path

import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage


def test_a_result_removed_before_a_resume_is_made_again_or_stood_in_for(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b"), ConnectionError("lost"), "done")
    graph = agent(script, tmp_path, memory=None)
    with pytest.raises(ConnectionError):
        graph.invoke(say("go"), thread())
    result = graph.get_state(thread()).values["messages"][-1]
    # As `tools`, or after an eviction, a mask or a compaction: their edges do not look for calls.
    graph.update_state(thread(), {"messages": [RemoveMessage(id=result.id)]}, as_node="tools")
    graph.invoke(None, thread())
    last = script.requests[-1]
    called = [c["id"] for m in last if isinstance(m, AIMessage) for c in m.tool_calls]
    assert called == [m.tool_call_id for m in last if isinstance(m, ToolMessage)]
