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


def test_a_message_edited_to_another_text_of_the_same_length_has_a_file_of_its_own(
    tmp_path: Path,
) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=None)
    for text in ("a" * 60_000 + "8" + "b" * 60_000, "a" * 60_000 + "9" + "b" * 60_000):
        graph.invoke({"messages": [HumanMessage(text, id="h"), HumanMessage("go")]}, thread())
        path = graph.get_state(thread()).values["evictions"]["h"]["path"]
        assert path in contents(script.requests[-1])[0]
        (file,) = tmp_path.rglob(path.rpartition("/")[2])
        assert file.read_text("utf-8") == text
