"""The whole request is counted, media at a flat cost, and a changed prefix from scratch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from longthread.state.budget import Budget
from longthread.state.counting import FILE_TOKENS, IMAGE_TOKENS, count_message
from longthread.state.errors import ThreadBudgetError
from longthread.state.policy import ContextPolicy
from longthread.state.projection import view_context

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}


def test_an_image_has_a_flat_cost_and_base64_as_text_its_real_one() -> None:
    with_image = count_message(HumanMessage([{"type": "text", "text": "see"}, IMAGE]))
    assert IMAGE_TOKENS <= with_image < IMAGE_TOKENS + 20
    document = {"type": "file", "file": {"file_data": "A" * 1_000_000}}
    assert FILE_TOKENS <= count_message(HumanMessage([document])) < FILE_TOKENS + 20
    assert count_message(HumanMessage("QUFBQkJC" * 10_000)) > 10_000


def test_a_thousand_ideographs_are_about_a_thousand_tokens() -> None:
    text = "这是一个关于上下文窗口的测试文本我们需要知道它有多少个词元" * 36
    assert 0.6 * len(text) < count_message(HumanMessage(text)) < 1.3 * len(text)


def test_arguments_schemas_and_system_prompt_are_counted() -> None:
    call = {"name": "write", "args": {"text": "word " * 1_000}, "id": "1"}
    assert count_message(AIMessage("", tool_calls=[call])) > 1_000
    schema = {"type": "function", "function": {"name": "f", "description": "word " * 500}}
    policy = ContextPolicy(tools=(schema,), system=SystemMessage("word " * 700))
    view = view_context({"messages": [HumanMessage("hi", id="1")]}, policy)
    assert view.parts["tools"] > 500
    assert view.parts["system"] > 700
    assert view.estimated == sum(view.parts.values())


def grown(usage: Any, **more: Any) -> Any:
    messages = [HumanMessage("hi", id="1"), AIMessage("hello", id="2"), HumanMessage("x", id="3")]
    return view_context({"messages": messages, "usage": usage, **more}, ContextPolicy())


def test_the_providers_count_is_the_baseline_until_a_decision_changes_the_prefix() -> None:
    view = view_context({"messages": [HumanMessage("hi", id="1")]}, ContextPolicy())
    usage = view.usage_of_request(1_000)
    assert 1_000 < grown(usage).tokens < 1_100
    compacted = {"summary": "S", "through": "1", "size": 1, "generation": 1}
    after = grown(usage, compaction=compacted)
    assert after.tokens == round(
        after.estimated * 3.0
    )  # corrected by how far off it was, at most 3


@pytest.mark.parametrize("counted", [0, None])
def test_an_answer_without_a_count_keeps_the_last_one(counted: Any) -> None:
    view = view_context({"messages": [HumanMessage("hi", id="1")]}, ContextPolicy())
    later = grown(view.usage_of_request(1_000))
    again = grown(later.usage_of_request(counted))
    assert again.usage["covered"] == "3"
    assert again.tokens == later.tokens > 1_000


@pytest.mark.parametrize("counted", [0, None])
def test_a_provider_that_counts_nothing_leaves_the_estimate(counted: Any) -> None:
    view = view_context({"messages": [HumanMessage("hi", id="1")]}, ContextPolicy())
    assert grown(view.usage_of_request(counted)).tokens == grown({}).estimated


@given(
    st.integers(1, 1_000_000), st.one_of(st.none(), st.integers(1, 10_000)), st.integers(0, 9_000)
)
def test_the_parts_of_a_window_add_up(window: int, reserve: int | None, overhead: int) -> None:
    budget = Budget.of(window, output_reserve=reserve, overhead=overhead)
    assert budget.request_limit + budget.output_reserve + budget.safety == window
    assert budget.conversation + overhead == budget.request_limit
    assert 0 <= budget.keep_tokens(-1) <= max(0, budget.conversation // 2)
    if reserve is None:
        assert budget.output_reserve <= 4_096


@pytest.mark.parametrize(
    ("window", "kept"), [(1_000, 427), (16_000, 1_140), (64_000, 4_885), (200_000, 8_000)]
)
def test_a_compaction_keeps_a_twelfth_of_the_conversations_budget(window: int, kept: int) -> None:
    assert Budget.of(window, output_reserve=None, overhead=0).keep_tokens(-1) == kept


def test_no_room_is_an_error_that_names_the_parts() -> None:
    budget = Budget.of(1_000, output_reserve=None, overhead=900)
    with pytest.raises(ThreadBudgetError, match="tool schemas 800, reserved for the answer 125"):
        budget.check(system=100, tool_schemas=800)


def test_a_message_is_counted_once_while_it_stays_the_same() -> None:
    message = ToolMessage("word " * 10, tool_call_id="1", id="t")
    state = {
        "messages": [AIMessage("", tool_calls=[{"name": "a", "args": {}, "id": "1"}]), message]
    }
    first = view_context(state, ContextPolicy()).estimated
    edited = message.model_copy(update={"content": "word " * 100})
    later = view_context({"messages": [state["messages"][0], edited]}, ContextPolicy()).estimated
    assert later > first + 80
