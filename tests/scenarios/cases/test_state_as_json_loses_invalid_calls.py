import json
from pathlib import Path

from agents import Scripted, agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call

from longthread import context_policy, project_context
from longthread.state.journal import as_journal


def test_messages_that_come_back_as_json_are_the_same_messages(tmp_path: Path) -> None:
    bad = invalid_tool_call(name="look", args="{at:", id="x", error="not JSON")
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    messages = [
        HumanMessage("go", id="h"),
        AIMessage("", invalid_tool_calls=[bad], usage_metadata=usage, id="a"),
        ToolMessage("Error", tool_call_id="x", id="t", status="error"),
    ]
    again = json.loads(json.dumps([m.model_dump() for m in messages]))
    policy = context_policy(agent(Scripted(), tmp_path))
    assert project_context({"messages": again}, policy) == project_context(
        {"messages": messages}, policy
    )
    assert list(as_journal(again)) == messages
