"""Each trigger alone: a pure function of state and policy."""

from __future__ import annotations

from typing import Any

import pytest
from histories import POLICY
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Send

from longthread import CompactionConfig, MaskingConfig, MemoryConfig, RollingCompactionConfig
from longthread.graphs.triggers import (
    ANSWERED,
    COMPACT,
    COMPACTED,
    EVICT,
    FLUSHED,
    MASK,
    OVERFLOWED,
    Triggers,
)
from longthread.state.policy import ContextPolicy
from longthread.state.rolling import rolling_record


def call(*ids: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": i} for i in ids], id=ids[0])


def result(call_id: str, text: str = "seen") -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="look", id=f"r{call_id}")


HUMAN = HumanMessage("go", id="h")
DONE = AIMessage("done", id="z")
QUIET = Triggers(ContextPolicy())
REMEMBERING = Triggers(ContextPolicy(memory=MemoryConfig(), compaction=CompactionConfig()))


def steps(count: int, words: int) -> list[Any]:
    pairs = [(call(f"c{i}"), result(f"c{i}", "word " * words)) for i in range(count)]
    return [HUMAN, *(message for pair in pairs for message in pair)]


def test_nothing_due_goes_straight_to_reasoning() -> None:
    for ask in (QUIET.recalled, QUIET.evicted, QUIET.masked, QUIET.results_in):
        assert ask({"messages": [HUMAN]}) == "ready"


def test_an_oversized_result_comes_first() -> None:
    state = {"messages": [HUMAN, call("a"), result("a", "word " * 200)]}
    assert Triggers(POLICY).results_in(state) == "oversized result"
    assert Triggers(POLICY).evicted(state) != "oversized result"


def test_the_mask_comes_before_compaction() -> None:
    policy = ContextPolicy(
        window=4_000, masking=MaskingConfig(turns=1), compaction=CompactionConfig()
    )
    state = {"messages": steps(40, 90)}
    assert Triggers(policy).results_in(state) == "masking pays"
    assert Triggers(policy).masked(state) == "compaction due"


def test_compaction_is_flushed_first_when_there_is_memory() -> None:
    policy = ContextPolicy(window=4_000, compaction=CompactionConfig(), memory=MemoryConfig())
    assert Triggers(policy).masked({"messages": steps(40, 90)}) == "flush first"
    off = CompactionConfig(flush_before_compact=False)
    policy = ContextPolicy(window=4_000, compaction=off, memory=MemoryConfig())
    assert Triggers(policy).masked({"messages": steps(40, 90)}) == "compaction due"


def test_the_edge_of_one_parallel_result_leaves_the_question_to_reasoning() -> None:
    state = {"messages": [HUMAN, call("a", "b"), result("a", "word " * 2_000)]}
    assert Triggers(POLICY).results_in(state) == "ready"


def test_every_open_call_is_sent_as_a_task() -> None:
    state = {"messages": [HUMAN, call("a", "b", "c"), result("b")]}
    sends = QUIET.answered(state)
    assert isinstance(sends, list)
    assert [(s.node, s.arg[0]["id"]) for s in sends if isinstance(s, Send)] == [
        ("tools", "a"),
        ("tools", "c"),
    ]


def test_an_answer_ends_the_call_through_memory_if_there_is_one() -> None:
    assert QUIET.answered({"messages": [HUMAN, DONE]}) == "memory off"
    assert REMEMBERING.answered({"messages": [HUMAN, DONE]}) == "done, or flush first"


def test_an_overflow_is_retried_by_what_did_not_fit() -> None:
    state: dict[str, Any] = {"messages": steps(5, 50), "overflow": {"attempts": 1}}
    assert QUIET.answered(state) == "overflow"
    assert QUIET.overflowed(state) == "retry"
    state["overflow"]["pending"] = True
    assert QUIET.overflowed(state) == "compaction due"
    assert REMEMBERING.overflowed(state) == "flush first"
    crowded = {"messages": steps(2, 2_000), "overflow": {"pending": True, "limit": 3_000}}
    assert Triggers(POLICY).overflowed(crowded) == "large results"


def test_flush_leaves_by_where_it_came_from() -> None:
    assert REMEMBERING.flushed({"messages": steps(2, 5)}) == "compaction due"
    assert REMEMBERING.flushed({"messages": [HUMAN, DONE]}) == "end"
    assert (
        REMEMBERING.flushed({"messages": [HUMAN, DONE], "maintenance": True}) == "maintenance due"
    )


def test_rolling_compaction_is_asked_about_after_the_last_answer() -> None:
    rolling = rolling_record(RollingCompactionConfig(auto_threshold=1))
    state = {"messages": [HUMAN, AIMessage("word " * 2_000, id="z")], "rolling": rolling}
    assert QUIET.answered(state) == "compaction due"
    assert REMEMBERING.flushed(state) == "compaction due"
    assert QUIET.compacted(state) == "end"
    assert QUIET.compacted({"messages": steps(1, 1)}) == "ready"


@pytest.mark.parametrize("paths", [ANSWERED, COMPACT, COMPACTED, EVICT, FLUSHED, MASK, OVERFLOWED])
def test_a_pair_of_nodes_has_one_label(paths: dict[Any, str]) -> None:
    assert len(set(paths.values())) == len(paths)
    assert END not in paths
