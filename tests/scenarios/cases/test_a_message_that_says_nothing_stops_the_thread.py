"""Providers refuse a message with nothing in it, and it is sent with every request from then on.

Seen elsewhere: an answer of thinking alone ("The final block in an assistant message cannot be
`thinking`"), a tool that finds nothing and returns `[]` (langchain #33758), a blank question.
"""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AIMessage, HumanMessage

from longthread.state.validity import violations

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


@pytest.mark.parametrize(
    "content",
    [
        [THINKING],
        [THINKING, {"type": "text", "text": " "}],
        [{"type": "redacted_thinking", "data": "x"}],
        [{"type": "reasoning", "id": "rs_1", "summary": []}],
        [""],
        [{"type": "text", "text": None}],
        [{"type": "text"}],
    ],
)
def test_an_answer_that_says_nothing_is_not_sent_again(tmp_path: Path, content: Any) -> None:
    script = Scripted(AIMessage(content), "done")
    graph = agent(script, tmp_path)
    graph.invoke(say("go"), thread())
    result = graph.invoke(say("again"), thread())
    assert contents(script.requests[-1]) == ["go", "again"]
    assert result["messages"][1].content == content


def test_thinking_before_a_call_stays(tmp_path: Path) -> None:
    first = calls("a").model_copy(update={"content": [THINKING]})
    script = Scripted(first, "done")
    agent(script, tmp_path).invoke(say("go"), thread())
    assert script.requests[-1][1].content == [THINKING]


@pytest.mark.parametrize("content", ["", " \n", [], [""], [{"type": "text", "text": ""}]])
def test_a_question_that_is_blank_is_sent_as_such(tmp_path: Path, content: Any) -> None:
    script = Scripted("done")
    agent(script, tmp_path).invoke({"messages": [HumanMessage(content)]}, thread())
    assert contents(script.requests[-1]) == ["[empty message]"]


def test_a_blank_system_prompt_is_none(tmp_path: Path) -> None:
    script = Scripted("done")
    agent(script, tmp_path, system_prompt=" ").invoke(say("go"), thread())
    assert contents(script.requests[-1]) == ["go"]


def test_a_picture_without_a_word_is_not_blank(tmp_path: Path) -> None:
    picture: list[str | dict[Any, Any]] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    ]
    script = Scripted("done")
    agent(script, tmp_path).invoke({"messages": [HumanMessage(picture)]}, thread())
    assert script.requests[-1][0].content == picture


def test_a_tool_that_finds_nothing_says_so(tmp_path: Path) -> None:
    def find(at: str) -> list[str]:
        """Find something."""
        return []

    script = Scripted(calls("a", name="find"), "done")
    result = agent(script, tmp_path, [find]).invoke(say("go"), thread())
    assert contents(script.requests[-1]) == ["go", "", "[]"]
    assert not violations(script.requests[-1], result["messages"], to_send=True)
