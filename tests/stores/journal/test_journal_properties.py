"""Whatever is said, edited, removed and forked: a search finds what a look at everything finds."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, RemoveMessage
from notebooks import Notebook, naive, opened
from postgres_server import postgres_database

from longthread.stores.journal.grams import trigrams
from longthread.stores.journal.rarity import Rarity

LETTERS = "ab A.ßİ数据é\"'%_\\\0\n*(-🚀"
TEXTS = st.text(alphabet=LETTERS, max_size=12) | st.sampled_from(
    ["the quick brown fox", "The Quick", "数据库", "NEAR(a b)", 'say "a b"', "x" * 40 + "needle"]
)
IDS = st.sampled_from(["m1", "m2", "m3", "m4"])
THREADS = ("t1", "t2", "T1")
SAYING = st.builds(
    lambda text, name: HumanMessage(text, id=name), TEXTS, IDS | st.none()
) | st.builds(lambda text: ("user", text), TEXTS)
OPERATIONS = st.one_of(
    st.tuples(st.just("say"), st.lists(SAYING, min_size=1, max_size=3)),
    st.tuples(st.just("remove"), IDS),
    st.tuples(st.just("clear"), st.none()),
    st.tuples(st.just("fork"), SAYING),
    st.tuples(st.just("delete"), st.none()),
    st.tuples(st.just("search"), st.none()),
)
STEPS = st.lists(st.tuples(st.sampled_from(THREADS), OPERATIONS), min_size=1, max_size=12)
QUERIES = st.lists(TEXTS | st.text(alphabet=LETTERS, min_size=1, max_size=4), max_size=6)

_folders = itertools.count()


@pytest.fixture(params=["memory", "sqlite", "postgres"], scope="module")
def saver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    with ExitStack() as stack:
        url = None
        if request.param == "postgres":
            server = request.getfixturevalue("postgres")
            url = stack.enter_context(postgres_database(server))
        yield stack.enter_context(opened(request.param, tmp_path_factory.mktemp("saver"), url))


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS, queries=QUERIES)
def test_a_search_finds_what_a_look_at_every_message_finds(
    saver: Any, steps: list[Any], queries: list[str]
) -> None:
    run = f"run{next(_folders)}-"
    with tempfile.TemporaryDirectory() as folder:
        book = Notebook(saver, Path(folder))
        for thread, (kind, what) in steps:
            _do(book, run + thread, kind, what)
        threads = [run + thread for thread in THREADS]
        for mode in ("phrase", "all", "any"):
            for query in [*queries, "a", "数据", "fox"]:
                found = book.journal.search(query, mode, 1_000)
                seen = {(h.thread_id, h.position, h.text) for h in found}
                wanted = {
                    (t, at, text)
                    for t, at, text in naive(book, threads, query, mode)
                    if text.strip()
                }
                assert seen == wanted
        for thread in threads:
            if messages := book.messages(thread):
                assert book.journal.history(thread, 1_000) == messages
            saver.delete_thread(thread)


def _do(book: Notebook, thread: str, kind: str, what: Any) -> None:
    if kind == "say":
        book.write(thread, what)
    elif kind == "search":
        book.journal.search("fox")
    elif kind == "delete":
        book.saver.delete_thread(thread)
    elif not book.messages(thread):
        return
    elif kind == "remove":
        book.write(thread, [RemoveMessage(what)])
    elif kind == "clear":
        book.write(thread, [RemoveMessage("__remove_all__")])
    else:
        past = list(book.graph.get_state_history({"configurable": {"thread_id": thread}}))
        book.write(thread, [what], at=past[-1].config["configurable"]["checkpoint_id"])


@given(st.text(alphabet="abc\0", min_size=3, max_size=80), st.text(max_size=5), st.text(max_size=5))
def test_every_text_that_holds_a_term_holds_its_trigrams(
    term: str, before: str, after: str
) -> None:
    text = (before + term + after).replace("\0", "\x01")
    assert all(gram in text for gram in trigrams(term))
    assert set(Rarity().rarest(trigrams(term))) <= set(trigrams(term))
