"""Which trigrams the search asks for: few of them, and those that rule out most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from longthread.stores.journal.grams import match_expression, trigrams
from longthread.stores.journal.rarity import Rarity
from longthread.stores.matching import compile_query

words = st.lists(st.sampled_from(["the", "tree", "three", "zebra", "xylem"]), min_size=1)
samples = st.lists(words.map(" ".join), max_size=20)


def holding(sample: list[str], grams: list[str]) -> int:
    return sum(all(gram in text for gram in grams) for text in sample)


@given(samples, words)
def test_few_are_asked_for_and_in_the_sample_they_leave_what_all_of_them_would(
    sample: list[str], said: list[str]
) -> None:
    grams = trigrams(" ".join(said))
    chosen = Rarity(sample).rarest(grams)
    assert 1 <= len(chosen) <= 8
    assert set(chosen) <= set(grams)
    if len(chosen) < min(8, len(grams)):
        assert holding(sample, chosen) == 0 or len(chosen) == 8
    one = min(grams, key=lambda gram: holding(sample, [gram]))
    assert holding(sample, chosen) <= holding(sample, [one])


def test_the_rarest_of_all_words_are_asked_for_and_of_each_word_where_any_will_do() -> None:
    sample = ["the cat and the dog"] * 50 + ["a zebra"]
    rarity = Rarity(sample)
    both = match_expression(compile_query("the zebra", "all"), {}, rarity)
    assert both == '("zeb" AND "the" AND "ebr" AND "bra")'
    either = match_expression(compile_query("the zebra", "any"), {}, rarity)
    assert either == '("the") OR ("zeb" AND "ebr" AND "bra")'
