"""What a model answered, taken apart: nothing to say, the facts, and which of them are new."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longthread.state.facts import facts_of, new_facts, normalised, says_nothing, unwrapped


@pytest.mark.parametrize(
    "text",
    [
        *(
            "NO_REPLY",
            " no_reply. ",
            "```\nNO_REPLY\n```",
            '"NO_REPLY"',
            "**NO REPLY**",
            "no-reply",
        ),
        *("", " \n", "`no-reply`", "- NO_REPLY", "(NO_REPLY)", "None.", "N/A", "Nothing new."),
        *("```text\nNO_REPLY\n```", "~~~\nNO_REPLY\n~~~", "NO_REPLY\nNO_REPLY", "```\n```"),
        "NO_REPLY\n\nThere was nothing durable in this conversation.",
        "<think>hm\n- a fact?</think>\nNO_REPLY",
        "“No_Reply”",
        "No new facts to record.",
        "\r\nNO_REPLY\r\n",
    ],
)
def test_nothing_to_write_in_any_clothing(text: str) -> None:
    assert says_nothing(text)
    assert new_facts(text, []) == "" or "durable" in text


@pytest.mark.parametrize(
    "text",
    [
        "- The sentinel NO_REPLY means that there is nothing to say.",
        "- Kim likes tea.\nNO_REPLY",
        "Nothing beats tea, says Kim.",
        "- None of the servers run Linux.",
        "No reply from Kim since 2026-03-01.",
    ],
)
def test_a_fact_about_nothing_is_a_fact(text: str) -> None:
    assert not says_nothing(text)
    assert new_facts(text, [])


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```markdown\n# M\n- a\n```", "# M\n- a"),
        ("Here is the updated MEMORY.md:\n\n```\n- a\n```\n\nLet me know!", "- a"),
        ("Here is the file:\n\n- a\n- b", "- a\n- b"),
        ("**Updated MEMORY.md:**\n- a", "**Updated MEMORY.md:**\n- a"),
        ("<thinking>\nlet me see\n</thinking>\n\n- a", "- a"),
        ("````md\n# M\n```\ncode\n```\n- b\n````", "# M\n```\ncode\n```\n- b"),
        ("- a\n\n```\ncode\n```\n\n- b", "- a\n\n```\ncode\n```\n\n- b"),
        ("Rules for Kim:\n- a", "Rules for Kim:\n- a"),
        ("```\nnever closed\n- a", "```\nnever closed\n- a"),
        ("Sure:", "Sure:"),
        ("- a\r\n- b\r\n", "- a\n- b"),
    ],
)
def test_what_models_put_around_an_answer_is_taken_off(text: str, inside: str) -> None:
    assert unwrapped(text) == inside


def test_a_fact_is_a_bullet_with_what_is_below_it_or_a_line() -> None:
    text = "# Head\n- one\n  and more\n\n  still\n* two\nthree\n<!-- 2026-03-02 -->\n1. four"
    assert facts_of(text) == ["- one\n  and more\n  still", "* two", "three", "1. four"]


@pytest.mark.parametrize(
    "other",
    [
        "- The Port is  5051.",
        "* the port is 5051",
        "The port is **5051**. <!-- 2026-03-02 -->",
        "3. `The port is 5051`!",
        "The port is\n  5051",
        "Ｔｈｅ port is 5051.",
    ],
)
def test_facts_that_differ_in_their_clothing_are_the_same(other: str) -> None:
    assert normalised(other) == normalised("- The port is 5051.")


@pytest.mark.parametrize("other", ["- The port is 5052.", "- The port is 5051 again.", "- Port"])
def test_facts_that_differ_in_what_they_say_are_not(other: str) -> None:
    assert normalised(other) != normalised("- The port is 5051.")


def test_what_is_known_word_for_word_is_left_out() -> None:
    known = ["# Facts\n- Kim likes tea. <!-- 2026-03-01 -->\n", "<!-- 2026-03-02 -->\nPort 5051\n"]
    text = (
        "## People\n- kim likes tea\n- Kim likes cake\n\n## Ports\n- Port 5051.\n- Kim likes cake"
    )
    assert new_facts(text, known) == "## People\n- Kim likes cake"


@given(st.lists(st.text(alphabet="ab1 #-*`\n.", max_size=12), max_size=8))
def test_what_was_written_is_known_afterwards(lines: list[str]) -> None:
    text = "\n".join(lines)
    first = new_facts(text, [])
    assert new_facts(text, [first]) == ""
    assert "\n\n" not in first
