"""Compaction is asked for once holding the old messages has cost as much as it would."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from longthread.state.config import CompactionConfig
from longthread.state.counting import count_text
from longthread.state.cut import compaction_due
from longthread.state.journal import as_journal
from longthread.state.policy import ContextPolicy
from longthread.state.projection import ContextView, view_context
from longthread.state.summary_size import SummarySize

ONLY: dict[str, Any] = {"trigger_messages": 0, "threshold": 1.0, "keep_tokens": 500}


def view(steps: int, *, window: int = 20_000, words: int = 250, **changes: Any) -> ContextView:
    """A thread of so many steps, each with a result of so many words."""
    messages: list[AnyMessage] = [HumanMessage("go")]
    for n in range(steps):
        call = {"name": "look", "args": {}, "id": f"c{n}"}
        result = ToolMessage("word " * words, tool_call_id=f"c{n}", id=f"r{n}")
        messages += [AIMessage("", tool_calls=[call], id=f"a{n}"), result]
    policy = ContextPolicy(window=window, compaction=CompactionConfig(**{**ONLY, **changes}))
    return view_context({"messages": as_journal(messages)}, policy)


def first_due(**changes: Any) -> int:
    """The step at which a thread is compacted."""
    return next(n for n in range(1, 200) if compaction_due(view(n, **changes)) is not None)


def test_it_is_asked_for_long_before_the_window_is_full() -> None:
    step = first_due()
    assert view(step).conversation_tokens < 12_000
    assert first_due(payback=0) > step + 10


def test_who_pays_less_for_it_waits_shorter() -> None:
    assert first_due(payback=0.5) < first_due() < first_due(payback=2)


def test_a_thread_that_grows_slowly_is_compacted_later_in_steps() -> None:
    assert first_due(words=120) > first_due(words=250)


def test_there_is_no_hurry_in_a_large_window() -> None:
    step = first_due(window=80_000)
    assert view(step, window=80_000).conversation_tokens >= 20_000


def test_what_would_make_too_little_progress_is_not_asked_for() -> None:
    step = first_due()
    assert compaction_due(view(step, keep_tokens=20_000)) is None


@given(
    st.integers(200, 400_000),
    st.integers(64, 9_000),
    st.integers(-1, 9_000),
    st.integers(0, 90_000),
)
def test_an_addition_is_a_part_of_what_a_summary_may_take(
    window: int, most: int, names: int, removed: int
) -> None:
    shown = view(0, window=window, max_summary_tokens=most, max_names_tokens=names)
    size = SummarySize.of(shown)
    assert 64 <= size.text <= most
    assert 0 <= size.names <= max(0, shown.budget.conversation // 8)
    assert 0 < size.addition(removed) <= size.text // 3
    assert size.names_added(removed) <= size.names
    assert size.names_left <= size.names
    assert size.rewritten <= size.text


def test_names_can_be_turned_off_and_a_small_window_bounds_both() -> None:
    assert SummarySize.of(view(0, max_names_tokens=0)).names == 0
    size = SummarySize.of(view(0, window=8_000))
    assert size.text < 1_000
    assert size.names < 1_000
    assert count_text("word " * 10) < size.addition(0)
