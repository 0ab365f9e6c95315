"""Match modes: what a query finds in a record, and which part of a long record is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longthread.state.errors import ToolInputError
from longthread.stores.matching import compile_query, excerpt, fold, parse_match_mode

WORDS = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=8)


def found(query: str, text: str, mode: str | None = None) -> bool:
    return compile_query(query, mode).matches(text)


def test_no_mode_means_phrase() -> None:
    assert parse_match_mode(None) == "phrase"
    assert compile_query("a b").mode == "phrase"


@pytest.mark.parametrize("mode", ["", " ", "PHRASE", "regex", "any ", 1, True, ["all"]])
def test_any_other_mode_is_an_error_that_says_what_to_use(mode: object) -> None:
    with pytest.raises(ToolInputError, match=r"use 'phrase', 'all' or 'any'") as caught:
        compile_query("a", mode)
    assert repr(mode) in str(caught.value)
    assert caught.value.code == "INVALID_TOOL_INPUT"


def test_the_modes_of_the_reference() -> None:
    text = "deploy using the blue configuration"
    assert found("deploy blue", text, "all")
    assert found("blue deploy", text, "all")
    assert found("blue green", text, "any")
    assert not found("deploy blue", text)
    assert not found("deploy green", text, "all")
    assert not found("green red", text, "any")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("PORT", "the port"),
        ("straße", "STRASSE 5"),
        ("STRASSE", "die straße"),
        ("ſtraſſe", "Straße"),
        ("istanbul", "İstanbul"),
        ("İSTANBUL", "istanbul"),
        ("i̇stanbul", "İSTANBUL"),
        ("ΟΔΟΣ", "οδος, οδοσ"),
        ("café", "CAFE\u0301"),
        ("CAFE\u0301", "café"),
        ("ǆ", "Ǆ"),
        ("ﬃ", "OFFICE"),
        ("東京", "明日は東京へ行く"),
        ("北京", "北京。"),
        ("서울", "서울에서"),
    ],
)
@pytest.mark.parametrize("mode", ["phrase", "all", "any"])
def test_case_is_ignored_in_every_script(query: str, text: str, mode: str) -> None:
    assert found(query, text, mode)


@pytest.mark.parametrize(
    "query", [".", "a.c", "a*", "(b", "[0-9]", "^a", "c$", "a|b", "\\d", "{1}"]
)
def test_characters_of_regular_expressions_are_literal(query: str) -> None:
    for mode in ("phrase", "all", "any"):
        assert not found(query, "abc aac 1", mode)
        assert found(query, f"x{query}y", mode)


@pytest.mark.parametrize("space", [" ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u3000", "\u0085"])
def test_unicode_white_space_splits_words(space: str) -> None:
    query = f"{space}blue{space}deploy{space}"
    assert compile_query(query, "all").terms == ("blue", "deploy")
    assert found(query, "deploy the blue one", "all")
    assert not found(query, "deploy", "all")


def test_duplicate_words_are_ignored_whatever_their_case() -> None:
    assert compile_query("Blue blue BLUE straße STRASSE", "any").terms == ("blue", "strasse")


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u3000\u00a0"])
def test_a_query_of_white_space_never_matches_by_words(query: str) -> None:
    for mode in ("all", "any"):
        assert compile_query(query, mode).terms == ()
        for text in ("", " ", "a b", query):
            assert not found(query, text, mode)


def test_an_empty_phrase_matches_nothing_and_a_blank_one_is_literal() -> None:
    assert not found("", "text")
    assert found("  ", "a  b")
    assert not found("  ", "a b")


@given(st.lists(WORDS, min_size=1, max_size=4), st.text(max_size=20))
def test_words_are_found_in_any_order_with_anything_around_them(
    words: list[str], other: str
) -> None:
    text = " ".join([other, *reversed(words), other])
    assert found(" ".join(words), text, "all")
    assert found(" ".join(words), text, "any")
    assert all(found(word.swapcase(), word.swapcase()) for word in words)


@given(st.text())
def test_folding_never_makes_or_loses_a_line_end(text: str) -> None:
    assert fold(text).count("\n") == text.count("\n")
    assert fold(fold(text)) == fold(text)


@given(st.text("aßİﬃ e\u0301東", max_size=400), WORDS, st.text("aßİﬃ e\u0301東", max_size=400))
def test_the_span_of_a_hit_is_where_it_stands_in_the_text_itself(
    before: str, word: str, after: str
) -> None:
    text = f"{before} {word} {after}"
    query = compile_query(word)
    span = query.span(text)
    assert span is not None
    # Where a letter and its accent are two characters, the place may be off by one or two.
    assert query.matches(text[max(0, span[0] - 9) : span[1] + 9])


def test_a_short_record_is_shown_whole() -> None:
    assert excerpt("a b", compile_query("b"), 10) == "a b"


@pytest.mark.parametrize("filler", ["x", "ß", "İ", "e\u0301", "東", "👨‍👩‍👧‍👦"])
@pytest.mark.parametrize("place", [0, 500, 20_000, 39_900, 40_000])
def test_a_long_record_is_shown_around_the_hit(filler: str, place: int) -> None:
    text = filler * place + " needle " + filler * (40_000 - place)
    shown = excerpt(text, compile_query("NEEDLE"), 200)
    assert "needle" in shown
    assert len(shown) <= 202
    assert shown.startswith("…") == (place > 0)
    assert shown.encode("utf-8")
    assert not shown.strip("…").startswith("\u200d")


def test_a_hit_longer_than_the_excerpt_is_shown_from_its_start() -> None:
    word = "needle" + "x" * 500
    assert excerpt("y" * 500 + word, compile_query(word), 20).startswith("…needle")
