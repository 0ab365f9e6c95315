from pathlib import Path

import pytest
from agents import Scripted, agent, refusal, say, thread

from longthread.state.counting import count_message


def test_a_retry_is_shorter_or_is_not_made(tmp_path: Path) -> None:
    """The extract is not held against what it replaces, and the limit "learned" is the request."""
    too_long = refusal("prompt is too long", code="context_length_exceeded")
    script = Scripted("hello", too_long, "done", summary=RuntimeError("down"))
    graph = agent(script, tmp_path, memory=None)
    graph.invoke(say("a"), thread())
    with pytest.raises(type(too_long)):
        graph.invoke(say("b"), thread())
    sizes = [sum(map(count_message, request)) for request in script.requests]
    assert sizes[2:] == [] or sizes[2] < sizes[1]
    assert graph.invoke(say("c"), thread())["messages"][-1].content == "done"
