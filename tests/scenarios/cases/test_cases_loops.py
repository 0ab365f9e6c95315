"""Loops: nothing is tried again and again, and nothing runs for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, overflow_error, refusal, say, thread
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import GraphRecursionError

from longthread import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    RollingCompactionConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
    context_policy,
)
from longthread.state.counting import count_message


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


LOW = CompactionConfig(
    trigger_messages=1,
    trigger_tokens=1,
    threshold=0.1,
    keep_messages=1,
    keep_tokens=1,
    min_progress=0,
    max_summary_tokens=64,
    max_failures=1,
    truncate_args=TruncateArgsConfig(
        max_arg_length=1, keep_chars=0, truncation_text="", trigger_messages=1, keep_messages=1
    ),
)
HIGH = CompactionConfig(
    trigger_messages=10**9,
    trigger_tokens=10**9,
    threshold=1,
    keep_messages=10**9,
    keep_tokens=10**9,
    min_progress=1,
    max_summary_tokens=10**9,
    max_failures=10**9,
)


@pytest.mark.parametrize("compaction", [LOW, HIGH], ids=["low", "high"])
@pytest.mark.parametrize("edge", ["low", "high"])
def test_bounds_of_every_field_end_and_ask_once_a_step(
    compaction: CompactionConfig, edge: str, tmp_path: Path
) -> None:
    low = edge == "low"
    script = Scripted(*(calls(f"c{i}", f"d{i}", name="page") for i in range(12)), "done")
    graph = agent(
        script,
        tmp_path,
        [page],
        context_window=6_000,
        compaction=compaction,
        masking=MaskingConfig(turns=1, placeholder="x", batch=1, payback=0)
        if low
        else MaskingConfig(turns=10**9, batch=10**9, min_chars=10**9),
        eviction=ToolResultEvictionConfig(max_chars=1, max_window_share=1e-9, preview_chars=0)
        if low
        else ToolResultEvictionConfig(max_chars=10**12, max_window_share=1, preview_chars=10**12),
        rolling=RollingCompactionConfig(compaction_count=1, auto_threshold=1)
        if low
        else RollingCompactionConfig(compaction_count=99, auto_threshold=99),
        memory=MemoryConfig(consolidation_max_tokens=1, max_reference_tokens=1),
    )
    result = graph.invoke(say("go"), {**thread(), "recursion_limit": 200})
    assert result["messages"][-1].content == "done"
    assert len(script.asked["summary"]) <= len(script.requests)
    tools = context_policy(graph).tools_tokens
    assert all(tools + sum(map(count_message, r)) <= 6_000 for r in script.requests)


def test_a_summariser_that_is_down_for_good_never_lets_the_context_outgrow_the_window(
    tmp_path: Path,
) -> None:
    script = Scripted(
        *(calls(f"c{i}", name="page") for i in range(40)), "done", summary=RuntimeError("down")
    )
    graph = agent(script, tmp_path, [page], context_window=6_000, masking=None, memory=None)
    result = graph.invoke(say("go"), {**thread(), "recursion_limit": 400})
    assert result["messages"][-1].content == "done"
    tools = context_policy(graph).tools_tokens
    assert all(tools + sum(map(count_message, r)) <= 6_000 for r in script.requests)
    assert graph.get_state(thread()).values["compaction"]["generation"] >= 1


@pytest.mark.parametrize("named", [True, False])
def test_a_window_smaller_than_believed_costs_one_refused_request(
    named: bool, tmp_path: Path
) -> None:
    count = 0

    def model(messages: list[BaseMessage]) -> AIMessage:
        nonlocal count
        tokens = sum(map(count_message, messages)) + 256
        if tokens > 3_000:
            if named:
                raise overflow_error(limit=3_000, requested=tokens)
            raise refusal("prompt is too long", code="context_length_exceeded")
        count += 1
        return calls(f"c{count}", name="page") if count < 40 else AIMessage("done")

    script = Scripted(model)
    result = agent(script, tmp_path, [page], memory=None).invoke(say("go"), thread())
    assert result["messages"][-1].content == "done"
    assert len(script.requests) == 41


def test_tokens_that_only_the_provider_counts_do_not_compact_every_step(tmp_path: Path) -> None:
    count = 0

    def model(messages: list[BaseMessage]) -> AIMessage:
        nonlocal count
        count += 1
        tokens = sum(map(count_message, messages)) + 6_500  # of 8,000, hidden from us
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        answer = calls(f"c{count}") if count < 60 else AIMessage("done")
        return answer.model_copy(update={"usage_metadata": usage})

    script = Scripted(model)
    agent(script, tmp_path, context_window=8_000, memory=None).invoke(say("go"), thread())
    assert len(script.asked["summary"]) <= 10  # six steps and more between them


def test_masking_that_frees_nothing_is_not_repeated(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{i}") for i in range(40)), "done")
    masking = MaskingConfig(turns=1, batch=1, placeholder="a placeholder longer than any result")
    graph = agent(script, tmp_path, masking=masking, memory=None)
    ran = [
        name for chunk in graph.stream(say("go"), thread(), stream_mode="updates") for name in chunk
    ]
    assert "masking" not in ran


def test_the_recursion_limit_leaves_a_thread_that_goes_on(tmp_path: Path) -> None:
    script = Scripted(calls("a"))
    graph = agent(script, tmp_path, memory=None)
    with pytest.raises(GraphRecursionError):
        graph.invoke(say("go"), {**thread(), "recursion_limit": 20})
    script.answers = ["done"]
    assert graph.invoke(None, thread())["messages"][-1].content == "done"


def test_a_huge_question_of_an_earlier_call_does_not_stay_in_the_way(tmp_path: Path) -> None:
    pages = [calls(f"c{i}", name="page") for i in range(16)]
    script = Scripted(*pages[:8], "done", *pages[8:], "done")
    options: dict[str, Any] = {"eviction": None, "memory": None, "context_window": 6_000}
    graph = agent(script, tmp_path, [page], **options)
    graph.invoke(say("paste " * 3_000), thread())
    graph.invoke(say("short"), thread())
    graph.invoke(say("shorter"), thread())
    assert sum(map(count_message, script.requests[-1])) < 3_000
