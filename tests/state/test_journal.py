"""The journal: append by id, batching-invariant, never changed in place."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    RemoveMessage,
    messages_to_dict,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages

from longthread.state.journal import Journal, append_messages, as_journal

ids = st.sampled_from([None, "a", "b", "c", "d"])
texts = st.text(max_size=5)
messages: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda t, i: HumanMessage(t, id=i), texts, ids),
    st.builds(lambda t, i: AIMessage(t, id=i), texts, ids),
    st.sampled_from(["a", "b", "gone"]).map(lambda i: RemoveMessage(id=i)),
    st.just(RemoveMessage(id=REMOVE_ALL_MESSAGES)),
    st.tuples(st.just("user"), texts),
    texts.map(lambda t: {"role": "user", "content": t}),
    texts,
)
writes = st.lists(st.one_of(messages, st.lists(messages, max_size=4)), max_size=6)


def seen(journal: Any) -> list[tuple[str, str, str | None]]:
    return [(m.type, str(m.content), m.id) for m in journal]


@given(writes, writes)
def test_it_does_not_matter_how_writes_are_batched(first: list[Any], second: list[Any]) -> None:
    once = append_messages([], [*first, *second])
    twice = append_messages(append_messages([], first), second)
    one_by_one = Journal()
    for write in (*first, *second):
        one_by_one = append_messages(one_by_one, [write])
    assert seen(once) == seen(twice) == seen(one_by_one)


@given(writes, writes)
def test_a_journal_is_never_changed_in_place(first: list[Any], second: list[Any]) -> None:
    journal = append_messages([], first)
    before = seen(journal)
    append_messages(journal, second)
    assert seen(journal) == before
    assert len(journal) == len(before)


@given(writes, writes, writes)
def test_branches_do_not_disturb_each_other(
    trunk: list[Any], left: list[Any], right: list[Any]
) -> None:
    base = append_messages([], trunk)
    one, other = append_messages(base, left), append_messages(base, right)
    for branch, more in ((one, left), (other, right)):
        alone = append_messages(append_messages([], trunk), more)
        assert seen(branch) == seen(alone)
        for at, message in enumerate(branch):
            assert branch.position(message.id) == at
    for message_id in {m.id for m in other} - {m.id for m in one}:
        assert one.position(message_id) is None


@given(writes)
def test_every_message_has_an_id_of_its_own_and_is_found_by_it(given_writes: list[Any]) -> None:
    journal = append_messages(None, given_writes)
    assert all(m.id for m in journal)
    assert len({m.id for m in journal}) == len(journal)
    assert [journal.position(m.id) for m in journal] == list(range(len(journal)))


@given(writes)
def test_replaying_what_was_stored_gives_the_same_ids(given_writes: list[Any]) -> None:
    serde = JsonPlusSerializer()
    stored = [serde.loads_typed(serde.dumps_typed(write)) for write in given_writes]
    assert seen(append_messages([], stored)) == seen(append_messages([], given_writes))


@given(st.lists(st.builds(lambda t, i: HumanMessage(t, id=i), texts, st.sampled_from("abc"))))
def test_it_appends_as_add_messages_does(batch: list[HumanMessage]) -> None:
    theirs: Any = []
    for message in batch:
        one: Any = [message]
        theirs = add_messages(theirs, one)
    assert seen(append_messages([], [list(batch)])) == seen(theirs)


def test_a_known_id_replaces_the_message_in_its_place() -> None:
    journal = append_messages([], [HumanMessage("a", id="1"), AIMessage("b", id="2")])
    edited = append_messages(journal, [AIMessage("B", id="2"), HumanMessage("c", id="3")])
    assert seen(edited) == [("human", "a", "1"), ("ai", "B", "2"), ("human", "c", "3")]


def test_state_that_comes_back_as_dicts_is_read_again() -> None:
    journal = append_messages([], [HumanMessage("a", id="1"), AIMessage("b", id="2")])
    dicts = [{**d["data"], "role": d["type"]} for d in messages_to_dict(list(journal))]
    again = append_messages(dicts, [HumanMessage("c", id="3")])
    assert [(m.type, m.content) for m in again] == [("human", "a"), ("ai", "b"), ("human", "c")]


def test_chunks_become_whole_messages() -> None:
    [message] = append_messages([], [AIMessageChunk(content="a", id="1")])
    assert type(message) is AIMessage


def test_a_copy_and_a_pickle_are_the_same_journal() -> None:
    journal = append_messages([], [HumanMessage("a", id="1")])
    for twin in (copy.copy(journal), pickle.loads(pickle.dumps(journal)), as_journal(journal)):
        assert isinstance(twin, Journal)
        assert seen(twin) == seen(journal)
        assert twin.position("1") == 0
    changed = copy.copy(journal)
    changed.append(HumanMessage("b", id="2"))
    assert len(journal) == 1


@given(writes, writes, writes)
def test_what_is_read_ahead_and_then_written_is_the_same_as_what_is_written_at_once(
    first: list[Any], ahead: list[Any], second: list[Any]
) -> None:
    """An edge reads the state as it will be: LangGraph copies the journal and appends to that."""
    journal = append_messages([], first)
    before, plain = seen(journal), append_messages(append_messages([], first), second)
    append_messages(copy.copy(journal), ahead)
    read = append_messages(copy.copy(journal), second)
    written = append_messages(journal, second)
    again = append_messages(journal, second)
    assert seen(read) == seen(written) == seen(again) == seen(plain)
    assert seen(journal) == before


def test_what_an_edge_has_read_becomes_the_journal_once() -> None:
    journal = append_messages([], [HumanMessage("a", id="1")])
    message = AIMessage("b", id="2")
    read = append_messages(copy.copy(journal), [message])
    assert append_messages(journal, [message]) is read
    # An old journal that somebody has kept does not keep all that came after it.
    assert append_messages(journal, [message]) is not read


def test_what_was_read_ahead_with_another_message_or_id_is_not_taken() -> None:
    journal = append_messages([], [HumanMessage("a", id="1")])
    message = AIMessage("b", id="2")
    read = append_messages(copy.copy(journal), [message])
    message.id = "3"
    assert seen(append_messages(journal, [message]))[-1] == ("ai", "b", "3")
    assert seen(read)[-1][1] == "b"
    append_messages(copy.copy(journal), [AIMessage("c", id="4")])
    assert seen(append_messages(journal, [AIMessage("d", id="4")]))[-1] == ("ai", "d", "4")
    changed = copy.copy(journal)
    changed.append(HumanMessage("x", id="5"))
    append_messages(changed, [message])
    assert [m.id for m in append_messages(journal, [message])] == ["1", "3"]
