from pathlib import Path

from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import ToolMessage


def test_results_whose_id_repeats_are_all_kept(tmp_path: Path) -> None:
    def visit(at: str) -> ToolMessage:
        """Return a message of the tool's own making."""
        return ToolMessage(f"visited {at}", tool_call_id=at, id="msg_1")

    script = Scripted(calls("a", name="visit"), calls("b", name="visit"), "done")
    result = agent(script, tmp_path, [visit]).invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "", "visited a", "", "visited b", "done"]
