"""Finding identifiers: exact, without secrets, and in linear time whatever the text is."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, ToolMessage

from longthread.state.identifiers import identifiers, identifiers_in, nameable, names_in


def called(**arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": "write", "args": arguments, "id": "a"}])


@pytest.mark.parametrize(
    "run", ["-", "a", ".", "/", "_", "a-", "+", "a+", "a.-", "漢", "A_", "aB", "1:"]
)
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


def test_versions_addresses_and_numbers_with_dots_stay_whole() -> None:
    text = (
        "gpt-4.1-mini at 10.0.3.17, Python 3.11; arXiv:2504.19969, v1.2.3; 12.50 of 1234.56. PR-47."
    )
    assert identifiers(text) == [
        "PR-47",
        "1234.56",
        "v1.2.3",
        "2504.19969",
        "arXiv",
        "10.0.3.17",
        "gpt-4.1-mini",
    ]


def test_a_dot_that_ends_a_sentence_is_no_part_of_a_name() -> None:
    text = "Read src/a.py. Ask a@b.com. Or docs/x... Not ../y/.."
    assert identifiers(text) == ["../y/..", "docs/x", "a@b.com", "src/a.py"]


def test_addresses_with_colons_stay_whole_and_times_are_none() -> None:
    text = (
        "fe80::1ff:fe23:4567:890a%eth0 [2001:db8::2]:8443 2001:0db8:85a3:0000:0000:8a2e:0370:7334."
        " 64:ff9b::1.2.3.4, 00:1a:2b:3c:4d:5e at 12:30:45"
    )
    assert identifiers(text) == [
        "00:1a:2b:3c:4d:5e",
        "64:ff9b::1.2.3.4",
        "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
        "8443",
        "2001:db8::2",
        "eth0",
        "fe80::1ff:fe23:4567:890a",
    ]


def test_of_what_results_have_shown_paths_come_first_and_then_what_was_shown_more_often() -> None:
    results = [
        ToolMessage("order_one src/app/old.py", tool_call_id="a"),
        ToolMessage("order_two order_one src/app/new.py", tool_call_id="b"),
        ToolMessage("order_three", tool_call_id="c"),
    ]
    assert names_in(results) == [
        "src/app/new.py",
        "src/app/old.py",
        "order_one",
        "order_three",
        "order_two",
    ]
