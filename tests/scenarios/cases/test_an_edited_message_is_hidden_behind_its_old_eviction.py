"""An eviction is found by message id alone, whatever text the message has now."""

from pathlib import Path

from agents import Scripted, agent, contents, say, thread
from langchain_core.messages import HumanMessage


def test_a_message_edited_after_its_eviction_is_shown_as_edited(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=None)
    graph.invoke({"messages": [HumanMessage("paste " * 40_000, id="h")]}, thread())
    edited = HumanMessage("a short question", id="h")
    graph.update_state(thread(), {"messages": [edited]}, as_node="consolidation")
    graph.invoke(say("more"), thread())
    assert contents(script.requests[-1])[0] == "a short question"
