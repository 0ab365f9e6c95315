from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, refusal, thread

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
ASKED: dict[str, Any] = {
    "messages": [{"role": "user", "content": [{"type": "text", "text": "what is this?"}, IMAGE]}]
}


def too_big() -> Exception:
    return refusal("Request payload size exceeds the limit: 20971520 bytes.", status=400)


def test_what_is_shown_again_loses_its_attachments_too(tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    script = Scripted(*(calls(f"c{i}", name="page") for i in range(12)), too_big(), "done")
    graph = agent(script, tmp_path, [page], context_window=6_000, memory=None, masking=None)
    graph.invoke(ASKED, thread())
    assert script.asked["summary"]  # the cut has passed the question
    assert IMAGE not in script.requests[-1][1].content


def test_what_cannot_shrink_is_not_sent_a_second_time(tmp_path: Path) -> None:
    script = Scripted(too_big())
    with pytest.raises(type(too_big())):
        agent(script, tmp_path, memory=None).invoke(ASKED, thread())
    assert len(script.requests) == 1
