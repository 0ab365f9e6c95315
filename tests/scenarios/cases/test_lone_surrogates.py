"""What is not well-formed enters the journal as it is, and the saver then changes it."""

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import HumanMessage

BROKEN = "cut \ud83d here"


@pytest.mark.parametrize("given", [("user", BROKEN), HumanMessage(BROKEN)], ids=["pair", "message"])
def test_a_message_keeps_its_id_and_text_when_the_thread_is_opened_again(
    given: Any, tmp_path: Path
) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path)
    first = graph.invoke({"messages": [given]}, thread())["messages"][0]
    again = graph.get_state(thread()).values["messages"][0]
    assert again.id == first.id
    graph.invoke(say("more"), thread())
    assert script.requests[1][0] == script.requests[0][0]


def test_arguments_of_calls_can_be_encoded(tmp_path: Path) -> None:
    """Models write `\\ud83d` in JSON arguments; every later request then fails in the client."""
    script = Scripted(calls("a", note=BROKEN), "done")
    agent(script, tmp_path).invoke(say("go"), thread())
    sent = [m.model_dump() for m in script.requests[-1]]
    json.dumps(sent, ensure_ascii=False).encode("utf-8")
