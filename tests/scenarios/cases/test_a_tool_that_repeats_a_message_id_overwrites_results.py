from pathlib import Path

from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call

from longthread.state.journal import append_messages


def test_results_whose_id_repeats_are_all_kept(tmp_path: Path) -> None:
    def visit(at: str) -> ToolMessage:
        """Return a message of the tool's own making."""
        return ToolMessage(f"visited {at}", tool_call_id=at, id="msg_1")

    script = Scripted(calls("a", name="visit"), calls("b", name="visit"), "done")
    result = agent(script, tmp_path, [visit]).invoke(say("go"), thread())
    assert contents(result["messages"]) == ["go", "", "visited a", "", "visited b", "done"]


def test_of_results_of_two_calls_under_one_id_both_are_kept(tmp_path: Path) -> None:
    """Wherever they come from: another loop, or an application that answers for its tools."""
    journal: list[AnyMessage] = [HumanMessage("go", id="h"), calls("a", "b")]
    first = append_messages(journal, [ToolMessage("1", tool_call_id="a", id="m")])
    both = append_messages(first, [ToolMessage("2", tool_call_id="b", id="m")])
    edited = append_messages(both, [ToolMessage("3", tool_call_id="a", id="m")])
    assert contents(edited) == ["go", "", "3", "2"]
    again = append_messages(journal, [*first[2:], ToolMessage("2", tool_call_id="b", id="m")])
    assert [m.id for m in again] == [m.id for m in both]


def test_a_call_that_could_not_be_read_and_was_not_answered_is_told_as_such(tmp_path: Path) -> None:
    wrong = invalid_tool_call(name="look", args="{at", id="b", error=None)
    first = calls("a").model_copy(update={"invalid_tool_calls": [wrong]})
    given = [HumanMessage("go"), first, ToolMessage("saw a", tool_call_id="a"), HumanMessage("?")]
    script = Scripted("done")
    agent(script, tmp_path).invoke({"messages": given}, thread())
    (told,) = [m for m in script.requests[-1] if getattr(m, "tool_call_id", "") == "b"]
    assert "They were: {at" in str(told.content)
