"""Finding identifiers: exact, without secrets, and in linear time whatever the text is."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from longthread.state.identifiers import identifiers, identifiers_in, nameable, names_in


def called(**arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "write", "args": arguments, "id": "a"}])


@pytest.mark.parametrize("run", ["-", "a", ".", "/", "_", "a-", "+", "a+", "a.-", "漢", "A_", "aB"])
def test_a_long_run_of_characters_is_read_in_linear_time(run: str) -> None:
    # Where every place is tried to the end of the run, this takes hours.
    assert len(identifiers(run * 300_000 + " module_a.py")) <= 2


def test_what_stands_around_an_identifier_does_not_hide_it() -> None:
    text = (
        "- see https://host/a-b/c_1.py, (x@y.org) v1.2 --flag-2 abc--def `my-pod-7f` /etc/hosts/."
    )
    assert set(identifiers(text)) == {
        "//host/a-b/c_1.py",
        "x@y.org",
        "v1.2",
        "flag-2",
        "my-pod-7f",
        "/etc/hosts/.",
    }


def test_the_arguments_of_calls_are_read_as_they_are_not_as_they_are_printed() -> None:
    message = called(file_path="x", content="first\nmodule_a.py\tticket_9", more=[{"deep": "id_7"}])
    assert set(names_in([message])) == {"module_a.py", "ticket_9", "id_7"}
    assert set(identifiers_in([message])) == {"module_a.py", "ticket_9", "id_7"}


def test_a_secret_is_known_by_the_name_of_its_argument() -> None:
    message = called(password="hunter2hunter2", nested=[{"api_key": "abcdef123456"}], host="db_1")
    assert names_in([message]) == ["db_1"]
    assert nameable("with password=hunter2hunter2 on db_1") == ["db_1"]
