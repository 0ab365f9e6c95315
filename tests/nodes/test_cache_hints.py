"""Markers for Anthropic's prompt cache stand at the stable places, and nowhere for others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from longthread import create_agent_graph
from longthread.graphs.scripted import ScriptedModel
from longthread.nodes.cache_hints import with_cache_hints
from longthread.state.counting import text_of
from longthread.state.reference import reference_blocks, reference_message


class Anthropic(ScriptedModel):
    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"


def marked(request: list[BaseMessage]) -> list[int]:
    return [
        at
        for at, message in enumerate(request)
        if isinstance(message.content, list)
        and any("cache_control" in block for block in message.content if isinstance(block, dict))
    ]


def look(at: str) -> str:
    """Look."""
    return f"saw {at}"


def requests(model: type[ScriptedModel], tmp_path: Path) -> list[list[BaseMessage]]:
    script = Scripted(calls("a"), calls("b", "c"), "done")
    graph = create_agent_graph(
        model(script=script),
        [look],
        system_prompt="Be brief.",
        reference=["Rules."],
        workspace=tmp_path,
        checkpointer=InMemorySaver(),
    )
    graph.invoke(say("go"), thread())
    return script.requests


def test_system_prompt_reference_last_request_and_end_are_marked(tmp_path: Path) -> None:
    first, second, third = requests(Anthropic, tmp_path)
    assert marked(first) == [0, 1, 2]
    # system, reference, human | call, result
    assert marked(second) == [0, 1, 2, 4]
    assert marked(third) == [0, 1, 4, 7]
    assert third[4].content == [
        {"type": "text", "text": "saw a", "cache_control": {"type": "ephemeral"}}
    ]


def test_providers_that_cache_by_themselves_get_no_markers(tmp_path: Path) -> None:
    assert [marked(request) for request in requests(ScriptedModel, tmp_path)] == [[], [], []]


contents: st.SearchStrategy[Any] = st.one_of(
    st.text(max_size=5),
    st.lists(
        st.sampled_from(
            [
                {"type": "text", "text": "x"},
                {"type": "text", "text": " "},
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "image", "source": {}},
            ]
        ),
        max_size=3,
    ),
)


@given(st.lists(contents, max_size=6), st.integers(0, 3))
def test_at_most_four_markers_and_nothing_else_changes(given: list[Any], head: int) -> None:
    kinds = (SystemMessage, HumanMessage, AIMessage)
    request: list[Any] = [kinds[min(i, 2)](c, id=str(i)) for i, c in enumerate(given)]
    hinted = with_cache_hints(request, min(head, len(request)))
    assert len(marked(list(hinted))) <= 4
    for before, after in zip(request, hinted, strict=True):
        assert text_of(after.content) == text_of(before.content)
        assert type(after) is type(before)
        assert after.id == before.id
    assert all("cache_control" not in str(m.content) for m in request)


def test_a_summary_that_was_added_to_begins_with_the_blocks_that_were_marked() -> None:
    def sent(summary: str, size: int) -> list[Any]:
        reference = reference_message("<item>Rules.\n\nMore.</item>", summary, size)
        assert reference is not None
        request = with_cache_hints([SystemMessage("s"), reference, HumanMessage("go")], 2)
        content: Any = request[1].content
        assert isinstance(content, list)
        assert "".join(block["text"] for block in content) == reference.content
        assert all(block["text"].strip() for block in content)
        return content

    first, second = sent("One.\n\nTwo.", 12), sent("One.\n\nTwo.\n\nThree.\n\n ", 20)
    marks = [
        [at for at, block in enumerate(c) if "cache_control" in block] for c in (first, second)
    ]
    assert marks == [[1], [2]], "at the end of the summary, once"
    assert [b["text"] for b in second[:2]] == [b["text"] for b in first[:2]]


def test_reference_material_without_a_summary_is_one_block() -> None:
    reference = reference_message("<item>Rules.\n\nMore.</item>", "", 0)
    assert reference is not None
    assert reference_blocks(str(reference.content)) == ([reference.content], "")


def test_an_applications_own_markers_count_towards_the_four(tmp_path: Path) -> None:
    own = {"type": "ephemeral", "ttl": "1h"}
    rules = {"type": "text", "text": "Rules.", "cache_control": own}
    script = Scripted(calls("a"), calls("b", "c"), "done")
    graph = create_agent_graph(
        Anthropic(script=script),
        [look],
        system_prompt=SystemMessage([rules, {"type": "text", "text": "Be brief."}]),
        reference=["More rules."],
        workspace=tmp_path,
        checkpointer=InMemorySaver(),
    )
    question = HumanMessage([{"type": "text", "text": "go", "cache_control": own}])
    graph.invoke({"messages": [question]}, thread())
    for request in script.requests:
        blocks: list[Any] = [b for m in request for b in m.content if isinstance(b, dict)]
        marks = [block["cache_control"] for block in blocks if "cache_control" in block]
        assert len(marks) <= 4
        assert marks.count(own) == 2, "what the application has marked stays as it is"
        assert marks[:2] == [own, own], "one that holds longer may not follow one of ours"
    assert marked(script.requests[-1])[-1] == len(script.requests[-1]) - 1


@pytest.mark.parametrize("many", range(7))
def test_the_end_is_marked_as_long_as_there_is_room(many: int) -> None:
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    request: list[Any] = [SystemMessage("s"), HumanMessage([block] * many or "q")]
    request += [AIMessage("a"), HumanMessage("go on")]
    hinted = with_cache_hints(request, 1)
    assert (len(request) - 1 in marked(list(hinted))) == (many < 4)
    assert sum(str(m.content).count("cache_control") for m in hinted) == max(many, min(4, many + 3))
