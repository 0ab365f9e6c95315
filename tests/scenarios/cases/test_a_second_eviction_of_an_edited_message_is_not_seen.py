"""A message may be edited into a huge one, before or after it was evicted."""

from pathlib import Path

import pytest
from agents import Scripted, agent, overflow_error, thread
from langchain_core.messages import HumanMessage

from longthread import context_policy, project_context


def test_a_message_edited_into_a_huge_paste_is_evicted(tmp_path: Path) -> None:
    """`oversized` looks only after `usage.covered`; an edited message stands before it."""
    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=None)
    graph.invoke({"messages": [HumanMessage("hello", id="h")]}, thread())
    edited = [HumanMessage("paste " * 40_000, id="h"), HumanMessage("so?", id="h2")]
    graph.invoke({"messages": edited}, thread())
    assert len(str(script.requests[-1][0].content)) < 10_000


def test_a_replaced_eviction_is_seen_in_the_same_call(tmp_path: Path) -> None:
    """`_only_new_evictions` compares lengths; a record replaced under its key goes unnoticed."""
    script = Scripted(overflow_error(limit=50))
    graph = agent(script, tmp_path, memory=None)
    with pytest.raises(type(overflow_error())):
        graph.invoke({"messages": [HumanMessage("paste " * 40_000, id="h")]}, thread())
    script.answers = ["ok"]
    graph.invoke({"messages": [HumanMessage("other " * 50_000, id="h")]}, thread())
    state = graph.get_state(thread()).values
    assert script.requests[-1] == project_context(state, context_policy(graph))[:-1]
    assert len(str(script.requests[-1][0].content)) < 10_000
