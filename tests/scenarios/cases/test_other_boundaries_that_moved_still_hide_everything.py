"""Only the cut has a position beside its id; mask, arguments, shedding and usage have none."""

from pathlib import Path
from typing import Any

from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from longthread import MaskingConfig, context_policy, project_context


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


def moved(graph: Any, message_id: str) -> None:
    values = graph.get_state(thread()).values
    message = next(m for m in values["messages"] if m.id == message_id)
    update = {"messages": [RemoveMessage(id=message_id), message]}
    graph.update_state(thread(), update, as_node="consolidation")


def test_recent_results_stay_visible_when_the_mask_moved(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(8)), "done")
    masking = MaskingConfig(turns=3, batch=1)
    graph = agent(script, tmp_path, [page], memory=None, masking=masking)
    graph.invoke(say("go"), thread())
    moved(graph, graph.get_state(thread()).values["masked_through"])
    request = project_context(graph.get_state(thread()).values, context_policy(graph))
    results = [str(m.content) for m in request if isinstance(m, ToolMessage)]
    assert results[-1].startswith("c7 lorem")


def test_a_huge_paste_is_evicted_when_the_last_covered_message_moved(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=None)
    graph.invoke(say("hello"), thread())
    covered = graph.get_state(thread()).values["usage"]["covered"]
    paste: list[Any] = [HumanMessage("paste " * 40_000), AIMessage("I see")]
    graph.update_state(thread(), {"messages": paste}, as_node="consolidation")
    moved(graph, covered)
    graph.invoke(say("more"), thread())
    assert sum(len(str(m.content)) for m in script.requests[-1]) < 20_000
