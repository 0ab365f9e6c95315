"""What a model answered, taken apart: nothing to say, the facts, and which of them are new."""

from __future__ import annotations

import pytest
from hypothesis import example, given
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
        "Ann prefers tea.\nNO_REPLY",
        "NO_REPLY\nAnn prefers tea.",
        "# Ann prefers tea",
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
        ("Sure! Here are the facts to remember:\n- a", "- a"),
        ("Deploy with:\n```\nmake deploy\n```", "Deploy with:\n```\nmake deploy\n```"),
        ("```\nmake\n```\nAnn prefers tea.", "```\nmake\n```\nAnn prefers tea."),
        ("```md\n- a\n```\nAnn prefers tea.", "```md\n- a\n```\nAnn prefers tea."),
        ("Here are the facts:\n```\n- a\n```\nAnd: b.", "```\n- a\n```\nAnd: b."),
        ("Here is the deploy command:\n```\nx\n```", "Here is the deploy command:\n```\nx\n```"),
        ("The new deploy window is:\nMondays", "The new deploy window is:\nMondays"),
        ("Here are Kim's preferences:\n- tea", "Here are Kim's preferences:\n- tea"),
        ("Done:\n- the move", "Done:\n- the move"),
        ("<think>\nnever ends\n- a", ""),
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


def test_a_code_block_stays_whole_and_its_comments_are_no_headings() -> None:
    text = "## Deploy\nDeploy with:\n```\n# first\nmake a\n}\n# last\nmake b\n}\n```\nThen check."
    assert new_facts(text, []) == text
    assert facts_of(text)[1:] == ["Then check."]
    assert new_facts(text, ["Then check."]) == text.removesuffix("\nThen check.")


def test_a_fact_keeps_all_the_headings_above_it() -> None:
    text = "# Staging\n## Hosts\n- a\n## Ports\n- b\n# Production\n- c"
    assert new_facts(text, []) == text
    assert new_facts(text, ["a", "c"]) == "# Staging\n## Ports\n- b"


said = st.sampled_from(
    [
        "Ann prefers tea {}.",
        "- Kim is a baker {}",
        "The window {} is:",
        "```",
        "```md",
        "~~~",
        "",
        "# About {}",
        "    make {}",
        "<!-- 2026-03-02 -->",
        "Here is what {} said:",
        "{}: no",
    ]
)


@given(st.lists(said, max_size=9))
def test_nothing_that_was_said_is_lost_with_what_is_around_it(shapes: list[str]) -> None:
    lines = [shape.format(f"x{n}y") for n, shape in enumerate(shapes)]
    words = [f"x{n}y" for n, shape in enumerate(shapes) if "{}" in shape]
    bare = unwrapped("\n".join(lines))
    assert [word for word in words if word in bare] == words
    written = new_facts("\n".join(lines), [])
    heads = [f"x{n}y" for n, shape in enumerate(shapes) if shape.startswith("#")]
    assert [w for w in words if w not in heads and w in written] == [
        w for w in words if w not in heads
    ]
    assert not (words and says_nothing("\n".join([*lines, "NO_REPLY"])))


@example(lines=["# 1"])
@example(lines=["1", "- 11", "1", " a"])
@given(st.lists(st.text(alphabet="ab1 #-*`\n.", max_size=12), max_size=8))
def test_what_was_written_is_known_afterwards(lines: list[str]) -> None:
    text = "\n".join(lines)
    first = new_facts(text, [])
    assert new_facts(text, [first]) == ""
    assert "\n\n" not in first
