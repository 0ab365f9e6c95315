"""What a task has stored but the next checkpoint has not is dropped when new input arrives.

LangGraph keeps it as pending writes and applies them on `invoke(None)`; `get_state` shows it too.
"""

import asyncio
import operator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt

from longthread import LongthreadError, ThreadState, compact_thread


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


class Desk(ThreadState, total=False):
    notes: Annotated[list[str], operator.add]
    last: str


def interrupted(tmp_path: Path, *channels: str) -> Any:
    """Stop in one of three tools; the others have written to channels of the application."""

    @tool
    def note(at: str, runtime: ToolRuntime[Any, Any]) -> Any:
        """Take a note, or ask, when it is b."""
        if at == "b":
            return str(interrupt("?"))
        result = ToolMessage(f"noted {at}", tool_call_id=runtime.tool_call_id or "")
        own = {"notes": [at], "last": at}
        return Command(update={"messages": [result]} | {name: own[name] for name in channels})

    script = Scripted(calls("a", "b", "c", name="note"), "done")
    graph = agent(script, tmp_path, [note], state_schema=Desk)
    with suppress(InvalidUpdateError):  # two have written to `last`
        graph.invoke({**say("go"), "notes": ["first"]}, thread())
    return graph


def test_what_finished_tools_wrote_to_own_channels_survives_a_new_message(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "notes")
    result = graph.invoke({**say("never mind"), "notes": ["new"]}, thread())
    assert sorted(result["notes"]) == ["a", "c", "first", "new"]
    assert result["notes"][-1] == "new"
    told = contents(result["messages"])
    assert [told.count(text) for text in ("noted a", "noted c", "never mind")] == [1, 1, 1]
    assert told[-1] == "done"


async def test_so_it_does_asynchronously_and_when_only_own_channels_are_given(
    tmp_path: Path,
) -> None:
    graph = interrupted(tmp_path, "notes")
    result = await graph.ainvoke({"notes": ["new"]}, thread())
    assert sorted(result["notes"]) == ["a", "c", "first", "new"]
    assert contents(result["messages"]).count("noted a") == 1


def test_writes_that_cannot_stand_side_by_side_do_not_stop_the_thread(tmp_path: Path) -> None:
    graph = interrupted(tmp_path, "last")
    told = contents(graph.invoke(say("never mind"), thread())["messages"])
    assert [told.count(text) for text in ("noted a", "noted c", "never mind")] == [1, 1, 1]


def test_a_finished_result_survives_input_without_messages(tmp_path: Path) -> None:
    def ask(at: str) -> str:
        """Ask, when it is b."""
        return f"did {at}" if at == "a" else str(interrupt("?"))

    script = Scripted(calls("a", "b", name="ask"), "done")
    graph = agent(script, tmp_path, [ask], state_schema=Desk)
    graph.invoke(say("go"), thread())
    result = graph.invoke({"last": "x"}, thread())
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
