"""Names beside a summary: exact, bounded, and never in the way of what is already cached."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from longthread.state.counting import count_text
from longthread.state.identifiers import identifiers, names_in
from longthread.state.names import Names, names_after, with_names

words = st.lists(st.from_regex(r"[a-z]{2,8}_[a-z]{2,8}", fullmatch=True), max_size=40, unique=True)
texts = st.text(alphabet="abc _\n", min_size=1, max_size=60).filter(str.strip)


def test_what_is_an_identifier() -> None:
    text = (
        "see src/app/main.py, Ada@example.org, os.path.join, MAX_SIZE, OrderBook, PR-4711, plainly"
    )
    assert set(identifiers(text)) == {
        "src/app/main.py",
        "Ada@example.org",
        "os.path.join",
        "MAX_SIZE",
        "OrderBook",
        "PR-4711",
    }


def test_what_user_and_agent_named_comes_before_what_only_a_tool_has_shown() -> None:
    messages: list[AnyMessage] = [
        HumanMessage("fix order_one"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"at": "file_two.py"}, "id": "a"}]),
        ToolMessage("file_two.py calls helper_three and order_one", tool_call_id="a"),
    ]
    named = names_in(messages)
    assert set(named[:2]) == {"order_one", "file_two.py"}
    assert "helper_three" in named[2:]


def test_nothing_that_looks_like_a_secret_is_a_name() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    shown = ToolMessage(f"token {token}, password=hunter2hunter2, host db_main", tool_call_id="a")
    assert names_in([shown]) == ["db_main"]


@given(texts, st.lists(st.tuples(words, texts), min_size=1, max_size=6), st.integers(0, 60))
def test_a_summary_that_is_added_to_begins_as_it_did(
    first: str, additions: list[tuple[list[str], str]], added: int
) -> None:
    summary, names = first, list[tuple[int, str]]()
    for found, text in additions:
        shown = with_names(summary, names)
        before: tuple[str, Names] = (summary, names)
        summary = f"{summary}\n\n{text}"
        names = names_after(
            found, before=before, summary=summary, added=added, most=10_000, left=5_000
        )
        assert with_names(summary, names).startswith(shown)
        line = names[-1][1] if names and names[-1][0] == len(summary) else ""
        assert count_text(line) <= added + 2  # words are counted alone, a line may come out longer


@given(words, words, st.integers(0, 200))
def test_names_are_bounded_and_say_nothing_twice(old: list[str], new: list[str], most: int) -> None:
    lines = names_after(old, before=("", ()), summary="It began.", added=most, most=most, left=most)
    for summary in ("It began.\n\nIt went on with kept_word.", "All anew with kept_word."):
        now = names_after(
            [*new, "kept_word"],
            before=("It began.", lines),
            summary=summary,
            added=most,
            most=most,
            left=most // 2,
        )
        named = [word for _, line in now for word in identifiers(line)]
        assert len(named) == len(set(named))
        assert "kept_word" not in named
        assert sum(count_text(line) for _, line in now) <= most + 2 * len(now)


def test_what_a_rewritten_summary_no_longer_mentions_is_named_latest_first() -> None:
    before = ("Read alpha_file. Then beta_file.", [(32, "Also named: gamma_id, delta_id")])
    lines = names_after(
        ["fresh_id"], before=before, summary="Read beta_file.", added=50, most=100, left=100
    )
    assert lines == [(15, "Also named: fresh_id, gamma_id, delta_id, alpha_file")]
    short = names_after(
        ["fresh_id"], before=before, summary="Read beta_file.", added=50, most=100, left=10
    )
    assert short[0][1].startswith("Also named: fresh_id, gamma_id")


def test_when_the_lines_become_too_many_the_oldest_go() -> None:
    summary, lines = "part 0", list[tuple[int, str]]()
    for n in range(1, 12):
        found = [f"name_{n}_{i}" for i in range(4)]
        before: tuple[str, Names] = (summary, lines)
        summary = f"{summary}\n\npart {n}"
        lines = names_after(found, before=before, summary=summary, added=40, most=120, left=80)
        assert sum(count_text(line) for _, line in lines) <= 120
    shown = with_names(summary, lines)
    assert "name_11_0" in shown
    assert "name_1_0" not in shown


def test_a_word_that_is_only_a_part_of_a_longer_one_is_not_shown_yet() -> None:
    found = ["PR-471", "PR-4711", "job_1", "src/app.py", "app.py", "2504.19", "4.2.0", "v1.30"]
    summary = "PR-4711 broke job_12 in src/app.py of 2504.1969 at 1.4.2.0. It is v1.30."
    lines = names_after(found, before=("", ()), summary=summary, added=60, most=60, left=60)
    assert lines == [(len(summary), "Also named: PR-471, job_1, 2504.19, 4.2.0")]


def test_no_line_is_put_into_a_word_when_a_new_summary_begins_like_the_one_before() -> None:
    before = ("At most 10", [(10, "Also named: gamma_id")])
    now = "At most 100 are left."
    lines = names_after(["fresh_id"], before=before, summary=now, added=50, most=90, left=90)
    assert with_names(now, lines) == f"{now}\nAlso named: fresh_id, gamma_id"


def test_a_secret_in_a_summary_that_is_written_anew_does_not_become_a_name() -> None:
    before = ("Log in with password=hunter2hunter2 on db_main.", ())
    lines = names_after([], before=before, summary="All anew.", added=50, most=90, left=90)
    assert lines == [(9, "Also named: db_main")]


pieces = st.lists(st.sampled_from(["PR-47", "-", "_", " ", ".", "é", "1", "a"]), max_size=6)


def test_what_is_named_again_does_not_go_with_the_line_that_it_stood_in() -> None:
    before = ("One.", [(4, "Also named: used_id, unused_id")])
    lines = names_after(
        ["used_id", "new_id"], before=before, summary="One.\n\nTwo.", added=12, most=12, left=12
    )
    assert lines == [(10, "Also named: used_id, new_id")]


@given(pieces)
@example(["PR-47", ".", "1"])
@example(["PR-47", "1", " ", "PR-47"])
@example(["PR-47", "-", " "])
@example(["a", "-", "PR-47"])
def test_a_name_stands_in_a_text_where_it_is_no_part_of_a_longer_one(given: list[str]) -> None:
    text = "".join(given)
    whole = re.search(r"(?<!\w)(?<!\w-)PR-47(?!-?\w)(?!\.\d)", text) is not None
    named = names_after(["PR-47"], before=("", []), summary=text, added=50, most=50, left=50)
    assert bool(named) == (not whole)
