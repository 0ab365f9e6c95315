from pathlib import Path

import pytest
from agents import Scripted, agent, calls, say, thread
from langgraph.checkpoint.memory import InMemorySaver

from longthread.state.errors import ThreadBudgetError


def test_overhead_that_leaves_no_room_asks_no_other_model_first(tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    saver = InMemorySaver()
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(8)), "done")
    first = agent(script, tmp_path, [page], context_window=8_000, checkpointer=saver)
    first.invoke(say("go"), thread())
    script = Scripted()
    graph = agent(
        script,
        tmp_path,
        [page],
        context_window=8_000,
        checkpointer=saver,
        system_prompt="word " * 7_800,
    )
    with pytest.raises(ThreadBudgetError):
        graph.invoke(say("go"), thread())
    assert script.asked["summary"] == []
    assert script.asked["facts"] == []
