"""`through` is an id only: removed and appended again, it covers all that stands before it."""

from pathlib import Path
from typing import Any

from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.messages import RemoveMessage

from longthread import context_policy, project_context
from longthread.state.validity import violations


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


def compacted(tmp_path: Path) -> tuple[Scripted, Any]:
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(20)), "done")
    graph = agent(script, tmp_path, [page], context_window=5_500, memory=None)
    graph.invoke(say("go"), thread())
    return script, graph


def test_the_kept_tail_stays_visible_when_the_covered_message_is_appended_again(
    tmp_path: Path,
) -> None:
    _script, graph = compacted(tmp_path)
    values = graph.get_state(thread()).values
    covered = next(m for m in values["messages"] if m.id == values["compaction"]["through"])
    tail = values["messages"][-1]
    graph.update_state(
        thread(),
        {"messages": [RemoveMessage(id=str(covered.id)), covered]},
        as_node="consolidation",
    )
    request = project_context(graph.get_state(thread()).values, context_policy(graph))
    assert tail.content in contents(request)


def test_the_newest_question_is_shown_when_a_settled_call_is_settled_again(tmp_path: Path) -> None:
    """`recall` gives a settled result the same id each time; the cut may have been at that id."""
    _script, graph = compacted(tmp_path)
    values = graph.get_state(thread()).values
    settled = "interrupted-x-y"
    moved = {**values["compaction"], "through": settled, "human": values["messages"][0].id}
    state = {**values, "compaction": moved}
    from langchain_core.messages import HumanMessage, ToolMessage

    state["messages"] = [
        *values["messages"],
        HumanMessage("the new question", id="q"),
        ToolMessage("interrupted", tool_call_id="y", id=settled),
    ]
    request = project_context(state, context_policy(graph))
    assert violations(request, state["messages"]) == []
