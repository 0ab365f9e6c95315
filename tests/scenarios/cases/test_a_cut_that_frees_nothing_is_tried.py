"""The cut counts the newest question as removed, though it is shown again after the cut."""

from pathlib import Path

from agents import Scripted, agent, calls, say, thread


def test_a_long_question_and_short_steps_ask_no_summariser_in_vain(tmp_path: Path) -> None:
    def look(at: str) -> str:
        """Look at something."""
        return f"saw {at} " + "lorem ipsum " * 10

    script = Scripted(*(calls(f"c{i}") for i in range(60)), "done")
    graph = agent(script, tmp_path, [look])  # all defaults
    graph.invoke(say("requirement " * 6_000), thread())
    assert script.asked["summary"] == []
    assert "failures" not in graph.get_state(thread()).values["compaction"]
