"""Messages of finished tools were kept when a new message followed; their other writes were not."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.types import Command, interrupt

from longthread import ThreadState, agent_node


class Desk(ThreadState, total=False):
    notes: Annotated[list[str], operator.add]
    last: str


@tool
def note(at: str, runtime: ToolRuntime[Any, Any]) -> Any:
    """Take a note, or ask, when it is b."""
    if at == "b":
        return str(interrupt("?"))
    result = ToolMessage(f"noted {at}", tool_call_id=runtime.tool_call_id or "")
    return Command(update={"messages": [result], "notes": [at]})


@tool
def mark(at: str, runtime: ToolRuntime[Any, Any]) -> Any:
    """Mark a place, or ask, when it is b."""
    if at == "b":
        return str(interrupt("?"))
    result = ToolMessage(f"noted {at}", tool_call_id=runtime.tool_call_id or "")
    return Command(update={"messages": [result], "last": at})


def parent_of(
    script: Scripted,
    tmp_path: Path,
    seen: list[Any],
    *,
    wrap: Callable[[Any], Any] = lambda built: built.compile(checkpointer=InMemorySaver()),
    **options: Any,
) -> Any:
    def output(result: dict[str, Any]) -> dict[str, Any]:
        seen.append({k: v for k, v in result.items() if k != "messages"})
        return {"messages": result["messages"]}

    desk = agent(script, tmp_path, [note, mark], state_schema=Desk, memory=None)
    builder = StateGraph(MessagesState)
    builder.add_node("desk", agent_node(desk, output=output, **options))
    builder.add_edge(START, "desk")
    return wrap(builder)


def inside_another(builder: Any) -> Any:
    outer = StateGraph(MessagesState)
    outer.add_node("office", builder.compile(checkpointer=True))
    outer.add_edge(START, "office")
    return outer.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize(
    "options", [{}, {"thread": lambda _: "about it"}, {"wrap": inside_another}]
)
def test_what_they_wrote_to_own_channels_survives_a_new_message(
    options: dict[str, Any], tmp_path: Path
) -> None:
    seen: list[Any] = []
    script = Scripted(calls("a", "b", "c", name="note"), "done", "later")
    parent = parent_of(script, tmp_path, seen, **options)
    assert "__interrupt__" in parent.invoke(say("go"), thread())
    result = parent.invoke(say("never mind"), thread())
    assert contents(result["messages"])[-1] == "done"
    assert [sorted(each["notes"]) for each in seen] == [["a", "c"]]
    told = contents(script.requests[-1])
    assert [told.count(text) for text in ("noted a", "noted c", "never mind")] == [1, 1, 1]
    parent.invoke(say("and now?"), thread())
    assert sorted(seen[-1]["notes"]) == ["a", "c"]


async def test_so_it_does_asynchronously(tmp_path: Path) -> None:
    seen: list[Any] = []
    script = Scripted(calls("a", "b", "c", name="note"), "done")
    parent = parent_of(script, tmp_path, seen)
    assert "__interrupt__" in await parent.ainvoke(say("go"), thread())
    await parent.ainvoke(say("never mind"), thread())
    assert [sorted(each["notes"]) for each in seen] == [["a", "c"]]
    place: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "desk"}}
    stored = [s async for s in parent.checkpointer.alist(place)]
    assert {s.metadata["source"] for s in stored} == {"input", "loop", "update"}
    assert len({s.metadata["longthread_call"] for s in stored}) == 2
    assert [s.metadata["step"] for s in stored] == list(range(len(stored) - 2, -2, -1))


def test_a_resume_applies_them_once_and_going_back_goes_back_before_them(tmp_path: Path) -> None:
    seen: list[Any] = []
    script = Scripted(calls("a", "b", "c", name="note"), "done", calls("d", name="note"), "end")
    parent = parent_of(script, tmp_path, seen)
    parent.invoke(say("go"), thread())
    parent.invoke(say("never mind"), thread())
    parent.invoke(say("one more"), thread())
    assert [sorted(each["notes"]) for each in seen] == [["a", "c"], ["a", "c", "d"]]
    first = [s for s in parent.get_state_history(thread()) if s.metadata["step"] == -1][-1]
    script.answers = [calls("e", name="note"), "anew"]
    branch = parent.update_state(first.config, say("otherwise"), as_node="__start__")
    parent.invoke(None, branch)
    assert sorted(seen[-1]["notes"]) == ["e"]


def test_a_resume_after_all_applies_what_was_written_once(tmp_path: Path) -> None:
    seen: list[Any] = []
    script = Scripted(calls("a", "b", "c", name="note"), "done")
    parent = parent_of(script, tmp_path, seen)
    parent.invoke(say("go"), thread())
    parent.invoke(Command(resume="yes"), thread())
    assert [sorted(each["notes"]) for each in seen] == [["a", "c"]]


def test_writes_that_cannot_stand_side_by_side_do_not_stop_the_parent(tmp_path: Path) -> None:
    seen: list[Any] = []
    script = Scripted(calls("a", "b", "c", name="mark"), "done")
    parent = parent_of(script, tmp_path, seen)
    parent.invoke(say("go"), thread())
    parent.invoke(say("never mind"), thread())
    told = contents(script.requests[-1])
    assert [told.count(text) for text in ("noted a", "noted c", "never mind")] == [1, 1, 1]
