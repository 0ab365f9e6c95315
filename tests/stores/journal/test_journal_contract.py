"""What the thread journal promises, on every kind of checkpointer, in sync and async code."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from notebooks import Notebook

from longthread import LongthreadError
from longthread.stores import Owner
from longthread.stores.journal import ThreadJournal


def human(text: str, id: str | None = None) -> HumanMessage:
    return HumanMessage(text, id=id)


def hits(notebook: Notebook, query: str, mode: str = "phrase", limit: int = 100) -> list[str]:
    found = notebook.journal.search(query, mode, limit)  # type: ignore[arg-type]
    return [f"{hit.thread_id}:{hit.position}" for hit in found]


def test_threads_are_listed_with_the_one_that_moved_last_first(notebook: Notebook) -> None:
    notebook.write("t1", [human("Deploy the   blue\nservice, please.")])
    notebook.write("t2", [human("What is for lunch?"), AIMessage("Soup.")])
    notebook.write("t1", [AIMessage("Done.")])
    first, second = notebook.journal.threads()
    assert (first.thread_id, first.messages, second.thread_id, second.messages) == (
        "t1",
        2,
        "t2",
        2,
    )
    assert first.user == "ann"
    assert first.agent == "agent"
    assert first.updated is not None
    assert second.updated is not None
    assert first.updated > second.updated


def test_history_is_the_whole_journal_in_pages(notebook: Notebook) -> None:
    notebook.write("t", [human(f"message {i}", id=f"m{i}") for i in range(7)])
    history = notebook.journal.history
    assert [m.id for m in history("t", 3)] == ["m4", "m5", "m6"]
    assert [m.id for m in history("t", 3, "m4")] == ["m1", "m2", "m3"]
    assert [m.id for m in history("t", 3, 1)] == ["m0"]
    assert history("t", 3, "m0") == []
    assert len(history("t", 100)) == 7
    with pytest.raises(LongthreadError, match="no message with this id"):
        history("t", 3, "nobody")
    with pytest.raises(LongthreadError, match="last_n=0"):
        history("t", 0)
    with pytest.raises(LongthreadError, match="positions count from 0"):
        history("t", 1, -1)


def test_every_mode_finds_what_it_should(notebook: Notebook) -> None:
    notebook.write("t1", [human("Deploy using the BLUE configuration"), human("deploy blue")])
    notebook.write("t2", [human("The sky is blue"), human("100% of C:\\a_b (really?)")])
    assert sorted(hits(notebook, "deploy blue")) == ["t1:1"]
    assert sorted(hits(notebook, "Deploy Blue", "all")) == ["t1:0", "t1:1"]
    assert sorted(hits(notebook, "deploy sky", "any")) == ["t1:0", "t1:1", "t2:0"]
    assert hits(notebook, "100% of c:\\A_B (") == ["t2:1"]
    assert hits(notebook, "a.b") == []
    assert hits(notebook, "a%b") == []
    assert hits(notebook, "", "all") == hits(notebook, "  ", "any") == hits(notebook, "") == []
    with pytest.raises(LongthreadError, match="match_mode='fuzzy'"):
        hits(notebook, "x", "fuzzy")


@pytest.mark.parametrize(
    "query", ["数据", "据", "我喜欢", "Ñu", "st", "s", "ße", "ssE", "🚀", "a\0"]
)
def test_short_queries_and_all_scripts_find_what_is_there(notebook: Notebook, query: str) -> None:
    notebook.write(
        "t",
        [
            human("我喜欢数据库"),
            human("un ñu"),
            human("Straße"),
            human("go 🚀"),
            human("A\0b"),
            human("x"),
        ],
    )
    found = {"数据": [0], "据": [0], "我喜欢": [0], "Ñu": [1], "st": [2], "s": [2], "ße": [2]}
    found |= {"ssE": [2], "🚀": [3], "a\0": [4]}
    assert hits(notebook, query) == [f"t:{at}" for at in found[query]]


def test_results_are_the_newest_and_no_more_than_asked_for(notebook: Notebook) -> None:
    notebook.write("t", [human(f"common word {i}") for i in range(30)])
    assert hits(notebook, "common", limit=3) == ["t:29", "t:28", "t:27"]
    assert hits(notebook, "wo", limit=2) == ["t:29", "t:28"]
    assert hits(notebook, "d 0") == ["t:0"]


def test_a_hit_says_who_said_it_and_shows_the_place(notebook: Notebook) -> None:
    call = {"name": "look", "args": {"path": "src/Needle.py"}, "id": "c1"}
    notebook.write(
        "t",
        [
            human("Find it.", id="h"),
            AIMessage("", tool_calls=[call], id="a"),
            ToolMessage(
                "x" * 5_000 + " the needle is here " + "y" * 5_000,
                name="look",
                tool_call_id="c1",
                id="r",
            ),
        ],
    )
    result, answer = notebook.journal.search("needle")
    assert (result.role, result.message_id, answer.role, answer.message_id) == (
        "tool look",
        "r",
        "assistant",
        "a",
    )
    assert "the needle is here" in result.excerpt
    assert len(result.excerpt) < 310
    assert len(result.text) > 10_000
    assert "src/Needle.py" in answer.text


def test_a_search_can_be_kept_to_one_thread(notebook: Notebook) -> None:
    notebook.write("t1", [human("here")])
    notebook.write("t2", [human("here too")])
    assert [h.thread_id for h in notebook.journal.search("here", thread_id="t1")] == ["t1"]
    with pytest.raises(LongthreadError) as error:
        notebook.journal.search("here", thread_id="t3")
    assert error.value.code == "SESSION_NOT_FOUND"


def test_edits_removals_and_new_messages_are_found_at_once(notebook: Notebook) -> None:
    notebook.write(
        "t", [human("alpha one", "a"), human("beta two", "b"), human("gamma three", "c")]
    )
    assert hits(notebook, "beta") == ["t:1"]
    notebook.write("t", [human("delta two", "b"), human("epsilon four", "d")])
    assert hits(notebook, "beta") == []
    assert hits(notebook, "delta") == ["t:1"]
    assert hits(notebook, "epsilon") == ["t:3"]
    notebook.write("t", [RemoveMessage("a")])
    assert hits(notebook, "alpha") == []
    assert hits(notebook, "gamma") == ["t:1"]
    notebook.write("t", [RemoveMessage("__remove_all__"), human("anew", "e")])
    assert hits(notebook, "gamma") == []
    assert hits(notebook, "anew") == ["t:0"]


def test_only_the_newest_branch_of_a_thread_is_searched(notebook: Notebook) -> None:
    notebook.write("t", [human("common past", "a")])
    fork = notebook.checkpoint("t")
    notebook.write("t", [human("first branch", "b")])
    assert hits(notebook, "branch") == ["t:1"]
    notebook.write("t", [human("second branch", "c")], at=fork)
    assert [h.text for h in notebook.journal.search("branch")] == ["second branch"]
    assert [m.content for m in notebook.journal.history("t")] == ["common past", "second branch"]


def test_a_thread_that_was_deleted_is_gone(notebook: Notebook) -> None:
    notebook.write("t", [human("secret")])
    assert hits(notebook, "secret") == ["t:0"]
    notebook.saver.delete_thread("t")
    assert hits(notebook, "secret") == []
    assert notebook.journal.threads() == []
    with pytest.raises(LongthreadError, match="no thread 't'"):
        notebook.journal.history("t")


def test_another_users_and_another_agents_threads_are_never_visible(
    notebook: Notebook, tmp_path: Path
) -> None:
    root = tmp_path / "workspace"
    notebook.write("ann-1", [human("shared word")])
    others = [
        Notebook(notebook.saver, root, owner)
        for owner in (Owner("bob", "agent"), Owner("ann", "coder"), Owner(None, "agent"))
    ]
    for number, other in enumerate(others):
        other.write(f"other-{number}", [human("shared word")])
    for number, book in enumerate([*others, notebook]):
        mine = "ann-1" if book is notebook else f"other-{number}"
        assert [h.thread_id for h in book.journal.search("shared", max_results=99)] == [mine]
        assert [t.thread_id for t in book.journal.threads()] == [mine]
        for foreign in {"ann-1", "other-0", "other-1", "other-2"} - {mine}:
            with pytest.raises(LongthreadError, match="no thread"):
                book.journal.history(foreign)
            with pytest.raises(LongthreadError, match="no thread"):
                book.journal.search("shared", thread_id=foreign)


def test_a_thread_whose_id_another_user_takes_over_is_not_shown_to_the_first(
    notebook: Notebook, tmp_path: Path
) -> None:
    bob = Notebook(notebook.saver, tmp_path / "workspace", Owner("bob", "agent"))
    notebook.write("t", [human("what ann said")])
    assert hits(notebook, "said") == ["t:0"]
    notebook.saver.delete_thread("t")
    bob.write("t", [human("what bob said")])
    assert hits(notebook, "said") == []
    assert notebook.journal.threads() == []
    assert hits(bob, "said") == ["t:0"]


def test_registry_and_index_can_be_built_anew_from_the_checkpointer(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.write("t1", [human("first words of mine"), AIMessage("hm")])
    Notebook(notebook.saver, tmp_path / "other", Owner("bob", "agent")).write("t2", [human("mine")])
    before = notebook.journal.threads()
    elsewhere = ThreadJournal(notebook.saver, tmp_path / "empty", user="ann")
    done = elsewhere.reindex()
    assert (done.threads, done.messages) == (1, 2)
    (info,) = elsewhere.threads()
    assert info.first_words == "first words of mine"
    assert info.created is not None
    assert info.updated == before[0].updated
    assert [h.thread_id for h in elsewhere.search("mine")] == ["t1"]


async def test_asynchronous_twins_do_the_same(anotebook: Notebook) -> None:
    await anotebook.awrite("t", [human("first words"), AIMessage("数据 and more", id="a")])
    journal = anotebook.journal
    assert [t.messages for t in await journal.athreads()] == [2]
    assert [m.id for m in await journal.ahistory("t", 1)] == ["a"]
    assert (await journal.apage("t", 1)).start == 1
    assert [h.position for h in await journal.asearch("数据")] == [1]
    await anotebook.awrite("t", [AIMessage("changed", id="a")])
    assert await journal.asearch("数据") == []
    assert (await journal.areindex()).messages == 2
    with pytest.raises(LongthreadError, match="no thread"):
        await journal.ahistory("t", user="bob")
