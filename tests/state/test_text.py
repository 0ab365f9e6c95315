"""Text is cut between visible characters, and what is cut can always be encoded."""

from __future__ import annotations

import regex
from hypothesis import given
from hypothesis import strategies as st

from longthread.state.text import clip_end, clip_start, head_and_tail, visible, well_formed

FAMILY = "👩‍👩‍👧‍👦"
characters = st.sampled_from([*"ab \n漢é\r", FAMILY, "🇳🇴", "👍🏽", "e\u0301"])
texts = st.lists(characters, max_size=40).map("".join)
anything = st.text(st.characters())


def clusters(text: str) -> list[str]:
    return regex.findall(r"\X", text)


@given(texts, st.integers(-2, 80))
def test_both_ends_are_whole_characters_and_not_too_long(text: str, length: int) -> None:
    for clip, end in ((clip_end, False), (clip_start, True)):
        part = clip(text, length)
        assert len(part) <= max(length, 0) or len(text) <= length
        whole = clusters(text)
        some = clusters(part)
        assert some == (whole[len(whole) - len(some) :] if end else whole[: len(some)])


@given(anything, st.integers(0, 80))
def test_head_and_tail_never_overlap(text: str, length: int) -> None:
    head, tail = head_and_tail(text, length)
    assert len(head) + len(tail) <= len(text) // 2 + 1
    assert text.startswith(head)
    assert text.endswith(tail)


@given(st.text(st.characters(exclude_categories=[])))
def test_well_formed_text_can_be_encoded_and_is_otherwise_the_same(text: str) -> None:
    clean = well_formed(text)
    clean.encode("utf-8")
    if "\ud800" not in text:
        encodable = all(not 0xD800 <= ord(c) <= 0xDFFF for c in text)
        assert (clean == text) is encodable


def test_control_characters_are_made_visible() -> None:
    assert visible("a\tb\nc\x1b[2J\0\x85\u2028d é") == "a\tb\\nc\\x1b[2J\\x00\\x85\\u2028d é"
    assert visible("a\r\n\x1b", keep="\n\r") == "a\r\n\\x1b"
