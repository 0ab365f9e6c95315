"""Which part of a thread was said by guests, or for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from longthread.state.guests import as_guests, guest_positions
from longthread.state.journal import Journal


def said(turns: list[tuple[bool, int]]) -> tuple[Journal, set[int]]:
    """Make a journal of turns: whether a guest began it, and how many answers it had."""
    messages: list[AnyMessage] = []
    guests: set[int] = set()
    for number, (guest, answers) in enumerate(turns):
        begins = len(messages)
        human = HumanMessage("hi", id=f"h{number}", additional_kwargs={"kept": 1})
        messages.append(as_guests(human) if guest else human)
        messages += [AIMessage("ok", id=f"a{number}-{n}") for n in range(answers)]
        guests.update(range(begins, len(messages)) if guest else ())
    return Journal(messages), guests


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=8), st.data())
def test_a_turn_is_the_guests_from_any_place_in_it(
    turns: list[tuple[bool, int]], data: st.DataObject
) -> None:
    journal, guests = said(turns)
    start = data.draw(st.integers(0, len(journal)))
    end = data.draw(st.integers(start, len(journal)))
    found = guest_positions(journal, start, end)
    assert found == {at for at in guests if start <= at < end}


def test_a_mark_changes_nothing_else() -> None:
    message = HumanMessage("hi", id="h", additional_kwargs={"kept": 1})
    marked = as_guests(message)
    assert (marked.content, marked.id, marked.additional_kwargs["kept"]) == ("hi", "h", 1)
    assert "longthread_guest" not in message.additional_kwargs
