"""What the embedded index keeps in memory: which trigrams are rare, and how far threads are."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from longthread.stores.effects import drive
from longthread.stores.journal.entries import Entry
from longthread.stores.journal.grams import match_expression, trigrams
from longthread.stores.journal.index import Indexed
from longthread.stores.journal.keys import ThreadKey
from longthread.stores.journal.rarity import Rarity
from longthread.stores.journal.sqlite_file import IndexFile
from longthread.stores.journal.sqlite_index import SqliteIndex
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


def test_what_another_process_has_indexed_or_forgotten_is_seen_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "index.sqlite")
    files = [IndexFile(path), IndexFile(path)]  # as in two processes
    indexes = [SqliteIndex(file) for file in files]
    keys = [ThreadKey(f"t{n}") for n in range(6)]
    known: dict[ThreadKey, Indexed] = {}
    for number, key in enumerate(keys):
        entry = Entry(0, "m", "user", f"needle {number}", bytes(16))
        known[key] = Indexed(f"c{number}", 1)
        assert drive(indexes[number % 2].write(key, None, known[key], [entry]))
        for index in indexes:
            assert drive(index.threads()) == known
            assert len(drive(index.search(compile_query("needle", "phrase"), 10, None))) == len(
                known
            )
    for number, key in enumerate(keys):
        drive(indexes[number % 2].forget([key]))
        del known[key]
        for index in indexes:
            assert drive(index.threads()) == known
            assert len(drive(index.search(compile_query("needle", "phrase"), 10, None))) == len(
                known
            )
    for file in files:
        file.close()


def test_what_a_reader_does_with_the_threads_stays_its_own(tmp_path: Path) -> None:
    file = IndexFile(str(tmp_path / "index.sqlite"))
    index = SqliteIndex(file)
    drive(index.write(ThreadKey("t"), None, Indexed("c", 0), []))
    drive(index.threads()).clear()
    assert list(drive(index.threads())) == [ThreadKey("t")]
    file.close()
