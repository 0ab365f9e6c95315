"""Models whose chat template takes user and assistant only in turn."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from longthread import CompactionConfig
from longthread.nodes.alternation import must_alternate, with_merged_humans

REFUSAL = "Conversation roles must alternate user/assistant/user/assistant/..."


def strict(answer: AIMessage | str) -> Callable[[list[BaseMessage]], AIMessage | str]:
    """A model that refuses two human messages in a row, as a strict template does."""

    def answered(messages: list[BaseMessage]) -> AIMessage | str:
        kinds = [m.type for m in messages]
        if any(a == b == "human" for a, b in pairwise(kinds)):
            raise ValueError(f"Error code: 400 - {{'message': '{REFUSAL}'}}")
        return answer

    return answered


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a", "b", "a\n\nb"),
        ("a", [{"type": "text", "text": "b"}], [{"type": "text", "text": t} for t in "ab"]),
        ([{"type": "text", "text": "a"}], "b", [{"type": "text", "text": t} for t in "ab"]),
    ],
)
def test_adjacent_human_messages_become_one(first: Any, second: Any, expected: Any) -> None:
    request: list[AnyMessage] = [
        HumanMessage(first, id="1"),
        HumanMessage(second, id="2"),
        AIMessage("x"),
        HumanMessage("c"),
    ]
    merged = with_merged_humans(request)
    assert [m.type for m in merged] == ["human", "ai", "human"]
    assert merged[0].content == expected
    assert request[0].content == first


def test_a_refusal_about_roles_counts_only_where_merging_changes_something() -> None:
    error = ValueError(REFUSAL)
    assert must_alternate(error, [HumanMessage("a"), HumanMessage("b")])
    assert not must_alternate(error, [HumanMessage("a"), AIMessage("b"), HumanMessage("c")])
    assert not must_alternate(ValueError("quota"), [HumanMessage("a"), HumanMessage("b")])


def test_a_strict_template_is_learned_from_its_first_refusal(tmp_path: Path) -> None:
    script = Scripted(strict("ok"))
    graph = agent(script, tmp_path, reference=["A rule."], memory=None)
    assert graph.invoke(say("hi"), thread())["messages"][-1].content == "ok"
    graph.invoke(say("again"), thread("other"))
    kinds = [[m.type for m in request] for request in script.requests]
    assert kinds == [["human", "human"], ["human"], ["human"]]
    assert "A rule." in str(script.requests[1][0].content)
    assert str(script.requests[1][0].content).endswith("hi")


def test_a_compacted_thread_suits_a_strict_template(tmp_path: Path) -> None:
    answers = [strict(calls(f"c{n}")) for n in range(8)]
    script = Scripted(*answers, strict("ok"))
    graph = agent(
        script,
        tmp_path,
        memory=None,
        compaction=CompactionConfig(trigger_messages=6, keep_messages=2, keep_tokens=0),
    )
    assert graph.invoke(say("hi"), thread())["messages"][-1].content == "ok"
    assert graph.get_state(thread()).values["compaction"]["generation"] >= 1
