"""`_prepared` gives fresh ids only when the content is a string."""

from pathlib import Path

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import AIMessage, ToolMessage


@pytest.mark.parametrize("call_id", [None, "d"])
def test_every_call_gets_a_result(call_id: str | None, tmp_path: Path) -> None:
    asked = [{"name": "look", "args": {"at": at}, "id": call_id} for at in ("1", "2")]
    script = Scripted(AIMessage([{"type": "text", "text": "both"}], tool_calls=asked), "done")
    result = agent(script, tmp_path).invoke(say("go"), thread())
    results = [m.content for m in result["messages"] if isinstance(m, ToolMessage)]
    assert results == ["saw 1", "saw 2"]
