"""`_largest` goes by what a message costs with its images; eviction takes only its text."""

from pathlib import Path
from typing import Any

from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import HumanMessage

from longthread import context_policy
from longthread.state.counting import count_message

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def test_a_question_about_many_images_is_not_evicted(tmp_path: Path) -> None:
    asked: list[Any] = [{"type": "text", "text": "which of these is red?"}, *[IMAGE] * 8]
    script = Scripted("the third")
    graph = agent(script, tmp_path, memory=None, context_window=16_000)
    graph.invoke({"messages": [HumanMessage(asked)]}, thread())
    assert script.requests[0][0].content == asked


def test_the_text_beside_images_is_what_leaves_a_crowded_step(tmp_path: Path) -> None:
    def picture(at: str) -> list[dict[str, Any]]:
        """Return a picture."""
        return [{"type": "text", "text": at}, IMAGE]

    def text(at: str) -> str:
        """Return a long text, not long enough to be evicted alone."""
        return "word " * 990

    step = calls("a", "b", name="picture")
    step.tool_calls.append({**step.tool_calls[0], "name": "text", "id": "c"})
    script = Scripted(step, "done")
    graph = agent(script, tmp_path, [picture, text], memory=None, context_window=4_000)
    graph.invoke(say("go"), thread())
    assert [str(m.content).count("full text at") for m in script.requests[-1][2:]] == [0, 0, 1]
    tools = context_policy(graph).tools_tokens
    assert tools + sum(map(count_message, script.requests[-1])) < 3_420
