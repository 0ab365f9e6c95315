"""When nothing is due after `reasoning` and nobody has answered, the model is asked again."""

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from longthread import MemoryConfig


def waiting(tmp_path: Path, script: Scripted) -> Any:
    graph = agent(script, tmp_path, interrupt_before=["tools"])
    graph.invoke(say("go"), thread())
    return graph


def test_the_only_call_can_be_rejected_by_hand(tmp_path: Path) -> None:
    graph = waiting(tmp_path, Scripted(calls("a"), "I see"))
    own = ToolMessage("rejected by the user", tool_call_id="a", name="look")
    graph.update_state(thread(), {"messages": [own]})
    result = graph.invoke(None, thread())
    assert contents(result["messages"]) == ["go", "", "rejected by the user", "I see"]


@pytest.mark.parametrize("edit", ["human", "remove"])
def test_a_waiting_thread_can_be_edited(edit: str, tmp_path: Path) -> None:
    graph = waiting(tmp_path, Scripted(calls("a"), "I see"))
    last: BaseMessage = graph.get_state(thread()).values["messages"][-1]
    message: BaseMessage = HumanMessage("no, stop")
    if edit == "remove":
        message = RemoveMessage(id=str(last.id))
    graph.update_state(thread(), {"messages": [message]})
    result = graph.invoke(None, thread())
    assert result["messages"][-1].content == "I see"


def test_a_system_prompt_that_grows_makes_a_step_due_or_not_but_never_fails(tmp_path: Path) -> None:
    """`reasoning` asks with the new prompt, the edge after it with the size of the last one."""

    def prompt(state: Any, runtime: Any) -> str:
        return "word " * (3_000 if len(state["messages"]) >= 22 else 10)

    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    script = Scripted(*(calls(f"c{i}", name="page") for i in range(20)), "done")
    options: dict[str, Any] = {"memory": MemoryConfig(hooks=False), "masking": None}
    graph = agent(script, tmp_path, [page], system_prompt=prompt, context_window=8_000, **options)
    assert graph.invoke(say("go"), thread())["messages"][-1].content == "done"
