"""A summary is added to until it is full, and only then written anew."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from longthread import DEFAULT_ADDITION_PROMPT, DEFAULT_SUMMARY_PROMPT
from longthread.nodes.summary_answers import bounded_summary
from longthread.nodes.summary_task import SummaryTask
from longthread.state.config import CompactionConfig
from longthread.state.counting import count_text
from longthread.state.journal import as_journal
from longthread.state.policy import ContextPolicy
from longthread.state.projection import ContextView, view_context

OWN = "Mine: {summary} {messages}"


def view(**changes: Any) -> ContextView:
    policy = ContextPolicy(window=20_000, compaction=CompactionConfig(**changes))
    return view_context({"messages": as_journal([])}, policy)


def task(
    previous: str = "", removed: int = 6_000, instructions: str | None = None, **changes: Any
) -> SummaryTask:
    return SummaryTask.of(view(**changes), previous, removed, 20_000, instructions)


def test_it_is_added_to_while_there_is_room_and_then_written_anew_shorter() -> None:
    first = task()
    assert (first.template, first.adds, first.limit) == (DEFAULT_ADDITION_PROMPT, True, 200)
    assert task("It began.").joined("It went on.") == "It began.\n\nIt went on."
    full = task("word " * 2_000)
    assert (full.template, full.adds) == (DEFAULT_SUMMARY_PROMPT, False)
    assert full.limit < 1_000
    assert full.joined("All of it.") == "All of it."


def test_a_little_more_than_was_asked_for_is_not_cut_up_and_there_is_room_again() -> None:
    full = task("word " * 2_000)
    longer = "word " * (full.limit * 3 // 2)
    assert full.joined(longer) == longer
    assert task(full.joined("word " * 9_000)).adds


def test_with_a_prompt_of_ones_own_it_is_written_anew_unless_both_are() -> None:
    assert (task(summary_prompt=OWN).template, task(summary_prompt=OWN).adds) == (OWN, False)
    both = task(summary_prompt=OWN, addition_prompt="Add: {messages}")
    assert (both.template, both.adds) == ("Add: {messages}", True)
    assert not task(addition_prompt=None).adds
    assert task(addition_prompt=None).limit == 2_048


def test_instructions_hold_for_the_whole_summary_and_are_no_template() -> None:
    asked = task("It began.", instructions=" keep {messages} and {summary} ")
    assert not asked.adds
    prompt = asked.prompt("[user]\nhello")
    assert prompt.endswith("Additional instructions:\nkeep {messages} and {summary}\n")
    assert prompt.count("[user]\nhello") == 1


def test_one_token_is_added_for_so_many_that_go() -> None:
    assert task(removed=9_000).limit == 300
    assert task(removed=9_000, tokens_per_added=20).limit == 450
    assert task(removed=10).limit == 128
    assert task(removed=90_000).limit == 2_048 // 3


@given(st.integers(64, 3_000), st.lists(st.integers(1, 900), min_size=1, max_size=12))
def test_however_often_it_is_added_to_it_stays_within_its_bound(
    most: int, answers: list[int]
) -> None:
    summary = ""
    for length in answers:
        asked = task(summary, max_summary_tokens=most)
        summary = asked.joined("word " * length)
        assert count_text(summary) <= most
        assert summary.startswith(asked.previous) or not asked.adds


def test_an_addition_is_one_part_whatever_blank_lines_it_has() -> None:
    added = task("One.").joined("## Facts\n\n- a\n \n\n- b")
    assert added.split("\n\n") == ["One.", "## Facts\n- a\n- b"]


def test_an_addition_that_repeats_the_whole_summary_is_what_it_adds() -> None:
    previous = "## Facts\n- a\n\n## Facts\n- b"
    shown = "## Facts\n- a\nAlso named: id_1\n\n## Facts\n- b\nAlso named: id_2"
    for repeated in (previous, shown):
        assert (
            task(previous).joined(f"{repeated}\n\n## Facts\n- c") == f"{previous}\n\n## Facts\n- c"
        )
        assert task(previous).joined(repeated) == previous
    assert task(previous).joined("## Facts\n- c") == f"{previous}\n\n## Facts\n- c"


def test_what_is_cut_out_of_the_middle_begins_and_ends_between_words() -> None:
    text = " ".join(f"module_{n}.py" for n in range(10_000, 14_000))
    head, tail = bounded_summary(text, 200).split("\n[…]\n")
    assert set(f"{head} {tail}".split()) <= set(text.split())
    unspaced = "摘要： " + "漢" * 4_000
    assert len(bounded_summary(unspaced, 400)) > 200
    assert bounded_summary("word", 0)
    for blank in (" " * 9_000, "a" * 9_000):
        assert count_text(bounded_summary(blank, 20)) <= 20
