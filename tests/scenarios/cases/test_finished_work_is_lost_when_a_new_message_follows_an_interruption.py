"""What a task has stored but the next checkpoint has not is dropped when new input arrives.

LangGraph keeps it as pending writes and applies them on `invoke(None)`; `get_state` shows it too.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from longthread import LongthreadError, compact_thread


def test_a_finished_parallel_result_survives_an_interrupt_and_a_new_message(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask, when it is b."""
        return f"did {at}" if at == "a" else str(interrupt("?"))

    script = Scripted(calls("a", "b", name="ask"), "done")
    graph = agent(script, tmp_path, [ask])
    graph.invoke(say("go"), thread())
    before = contents(graph.get_state(thread()).values["messages"])
    assert before == ["go", "", "did a"]
    result = graph.invoke(say("never mind"), thread())
    assert "did a" in contents(result["messages"])


async def test_a_finished_parallel_result_survives_a_cancellation(tmp_path: Path) -> None:
    async def work(at: str) -> str:
        """Work, forever when it is b."""
        await asyncio.sleep(0 if at == "a" else 60)
        return f"did {at}"

    graph = agent(Scripted(calls("a", "b", name="work"), "done"), tmp_path, [work])
    run = asyncio.create_task(graph.ainvoke(say("go"), thread()))
    while "did a" not in contents((await graph.aget_state(thread())).values.get("messages", [])):
        await asyncio.sleep(0.01)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    result = await graph.ainvoke(say("never mind"), thread())
    assert "did a" in contents(result["messages"])


class Dying(InMemorySaver):
    """Dies in the n-th commit: the writes of the step are stored, its checkpoint is not."""

    commits = 0
    fatal = 0

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self.commits += 1
        if self.commits == self.fatal:
            raise KeyboardInterrupt
        return super().put(*args, **kwargs)


def killed(tmp_path: Path, commit: int) -> Any:
    saver = Dying()
    saver.fatal = commit
    script = Scripted(calls("a"), "the answer", "later")
    graph = agent(script, tmp_path, checkpointer=saver, memory=None)
    try:
        graph.invoke(say("go"), thread())
    except KeyboardInterrupt:
        return graph
    raise AssertionError("nothing was killed")


def test_an_answer_that_was_stored_survives_a_kill_and_a_new_message(tmp_path: Path) -> None:
    lost: dict[int, set[str | None]] = {}
    for commit in range(3, 7):
        graph = killed(tmp_path, commit)
        state = graph.get_state(thread())
        seen = [m.id for m in state.values["messages"]]
        after = graph.invoke(say("and now?"), thread())["messages"]
        missing = set(seen) - {m.id for m in after}
        lost |= {commit: missing} if missing else {}
    assert lost == {}


def test_a_compaction_on_demand_drops_no_stored_answer(tmp_path: Path) -> None:
    graph = killed(tmp_path, 6)
    assert contents(graph.get_state(thread()).values["messages"])[-1] == "the answer"
    with pytest.raises(LongthreadError) as caught:
        compact_thread(graph, thread())
    assert caught.value.code == "SESSION_BUSY"
    assert contents(graph.get_state(thread()).values["messages"])[-1] == "the answer"
