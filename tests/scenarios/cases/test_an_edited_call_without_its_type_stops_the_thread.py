from pathlib import Path

from agents import Scripted, agent, calls, contents, say, thread
from langgraph.checkpoint.memory import InMemorySaver


def test_calls_edited_with_model_copy_run(tmp_path: Path) -> None:
    """`type` is optional in LangChain's `ToolCall`; `model_copy` does not add it."""
    graph = agent(
        Scripted(calls("a"), "done"),
        tmp_path,
        interrupt_before=["tools"],
        checkpointer=InMemorySaver(),
    )
    graph.invoke(say("go"), thread())
    answer = graph.get_state(thread()).values["messages"][-1]
    edited = [{"name": "look", "args": {"at": "elsewhere"}, "id": "a"}]
    update = answer.model_copy(update={"tool_calls": edited})
    graph.update_state(thread(), {"messages": [update]})
    result = graph.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "saw elsewhere", "done"]
