"""Reading recordings: what is accepted, how it is put in order, what is refused and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longthread.apps.replay.sessions import (
    Session,
    SessionError,
    find_sessions,
    parse_session,
    read_session,
)

PATH = Path("session.jsonl")


def call(call_id: str, name: str = "look", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(text: Any = "do it") -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: Any = "done", *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls) or None}


def result(call_id: str, text: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call_id, "name": "look"}


def session(*messages: dict[str, Any]) -> Session:
    return parse_session("\n".join(map(json.dumps, messages)), PATH)


def shape(read: Session) -> list[tuple[list[str], Any, list[str]]]:
    """For each step: texts of its inputs, text of its answer, call ids of its results."""
    return [
        (
            [str(m.content) for m in step.inputs],
            step.answer.content,
            [r.tool_call_id for r in step.results],
        )
        for step in read.steps
    ]


def test_each_answer_is_a_step_with_what_came_before_it_and_after_it() -> None:
    read = session(
        {"role": "system", "content": "be kind"},
        user("first"),
        said("", call("a"), call("b")),
        result("b"),
        result("a"),
        said("done"),
        user("second"),
        user("third"),
        said("well"),
    )
    assert shape(read) == [
        (["be kind", "first"], "", ["b", "a"]),
        ([], "done", []),
        (["second", "third"], "well", []),
    ]
    assert read.recorded == 9
    assert read.tool_names == ["look"]
    assert (read.duplicates, read.strays, read.unanswered, read.leftover) == (0, 0, 0, 0)


def test_ids_of_messages_say_the_line_and_blank_lines_count() -> None:
    text = "\ufeff" + json.dumps(user()) + "\r\n\r\n \n" + json.dumps(said())
    (step,) = parse_session(text.removeprefix("\ufeff"), PATH).steps
    assert [step.inputs[0].id, step.answer.id] == ["line-1", "line-4"]


def test_a_second_result_and_one_without_a_call_are_left_out_and_counted() -> None:
    read = session(
        result("early"), user(), said("", call("a")), result("a", "1"), result("a", "2"), said()
    )
    assert [r.content for r in read.steps[0].results] == ["1"]
    assert (read.duplicates, read.strays) == (1, 1)


def test_a_late_result_is_played_after_its_call() -> None:
    read = session(user(), said("", call("a")), user("still there?"), result("a"), said("yes"))
    assert shape(read) == [(["do it"], "", ["a"]), (["still there?"], "yes", [])]


def test_a_call_id_that_comes_again_keeps_its_own_result() -> None:
    read = session(
        user(),
        said("", call("c"), call("c")),
        result("c", "1"),
        said("", call("c")),
        result("c", "2"),
        said("", call("c~2")),
        result("c~2", "3"),
    )
    ids = [[c["id"] for c in step.answer.tool_calls] for step in read.steps]
    assert ids == [["c", "c~2"], ["c~3"], ["c~2~2"]]
    results = {r.tool_call_id: r.content for step in read.steps for r in step.results}
    assert results == {"c~2": "1", "c~3": "2", "c~2~2": "3"}
    assert len({i for step in ids for i in step}) == 4


def test_calls_without_a_result_are_counted_but_for_the_last_answer() -> None:
    read = session(user(), said("", call("a")), user(), said("", call("b")))
    assert read.unanswered == 1


def test_a_greeting_before_the_first_human_message_is_input() -> None:
    read = session(said("How can I help?"), user("a flight"), said("sure"))
    assert shape(read) == [(["How can I help?", "a flight"], "sure", [])]


def test_without_any_human_message_every_answer_is_a_step() -> None:
    read = session({"role": "developer", "content": "work"}, said("one"), said("two"))
    assert shape(read) == [(["work"], "one", []), ([], "two", [])]


def test_input_after_the_last_answer_is_left_out() -> None:
    read = session(user(), said(), user("bye"), {"role": "system", "content": "end"})
    assert read.leftover == 2
    assert len(read.steps) == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"path": "a"}', {"path": "a"}),
        ({"path": "a"}, {"path": "a"}),
        ("", {}),
        (None, {}),
        ("null", {}),
        ("[1]", {"input": [1]}),
        ('{"path": ', {"input": '{"path": '}),
    ],
)
def test_arguments_are_an_object_or_its_text(arguments: Any, expected: dict[str, Any]) -> None:
    read = session(user(), said("", call("a", arguments=arguments)))
    assert read.steps[0].answer.tool_calls[0]["args"] == expected


def test_calls_in_langchains_form_are_read() -> None:
    read = session(user(), said("", {"name": "look", "args": {"at": 1}, "id": "a"}))
    (only,) = read.steps[0].answer.tool_calls
    assert (only["name"], only["args"], only["id"]) == ("look", {"at": 1}, "a")


def test_contents_may_be_blocks_null_or_missing() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}
    read = session(user([{"type": "text", "text": "see"}, picture]), {"role": "assistant"})
    assert read.steps[0].inputs[0].content == [{"type": "text", "text": "see"}, picture]
    assert read.steps[0].answer.content == ""


GOOD = json.dumps(user())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "is not a message"),
        ('"text"', "is not a message"),
        ("[" * 100_000, "JSON"),
        ('{"role": "user", "content": %s}' % ("9" * 5_000), "JSON"),
        ("{}", "no 'role'"),
        ('{"role": "robot"}', "role='robot'"),
        ('{"role": ["user"]}', "role=['user']"),
        ('{"role": "user", "content": 3}', "content=3"),
        ('{"role": "user", "content": {"a": 1}}', "content={'a': 1}"),
        ('{"role": "user", "content": [3]}', "content[0]=3"),
        ('{"role": "user", "content": [{"type": "text"}]}', "content[0].text=None"),
        (
            '{"role": "assistant", "content": [{"type": "tool_use"}]}',
            "content[0].type='tool_use'",
        ),
        ('{"role": "user", "tool_calls": [{}]}', "only an assistant message"),
        ('{"role": "assistant", "tool_calls": {"id": 1}}', "tool_calls={'id': 1}"),
        ('{"role": "assistant", "tool_calls": ["x"]}', "tool_calls[0]='x'"),
        ('{"role": "assistant", "tool_calls": [{"id": "a"}]}', "tool_calls[0].name=None"),
        (
            '{"role": "assistant", "tool_calls": [{"id": "a", "function": "f"}]}',
            "tool_calls[0].function='f'",
        ),
        (
            '{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": " "}}]}',
            "tool_calls[0].function.name=' '",
        ),
        (
            '{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}',
            "tool_calls[0].id=None",
        ),
        (
            '{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", '
            '"arguments": 3}}]}',
            "tool_calls[0].function.arguments=3",
        ),
        ('{"role": "tool", "content": "x"}', "tool_call_id=None"),
        ('{"role": "tool", "content": "x", "tool_call_id": "a", "name": 1}', "name=1"),
    ],
)
def test_a_malformed_line_is_refused_with_its_place_and_the_value(line: str, says: str) -> None:
    with pytest.raises(SessionError) as refused:
        parse_session(f"{GOOD}\n\n{line}\n", PATH)
    text = str(refused.value)
    assert text.startswith("session.jsonl, line 3: ")
    assert says in text
    assert len(text) < 300
    assert refused.value.code == "INVALID_SESSION"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (GOOD.encode(), "nothing to replay"),
        (GOOD.encode() + b'\n{"role": "\xff"}', "line 2: byte 0xff is not UTF-8"),
        (b"SQLite format 3\x00\xf8", "longthread thread export THREAD --checkpointer"),
    ],
)
def test_a_file_without_an_answer_or_in_another_encoding_is_refused(
    data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(data)
    with pytest.raises(SessionError, match=says):
        read_session(file)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode() + b"\n" + json.dumps(said()).encode())
    assert len(read_session(file).steps) == 1


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="cannot be read"):
        read_session(tmp_path)


def test_files_patterns_and_folders_are_found_each_once(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "other.txt"):
        (tmp_path / name).touch()
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    assert find_sessions([str(tmp_path)]) == [a, b]
    assert find_sessions([str(tmp_path / "*.jsonl"), str(a)]) == [a, b]
    assert find_sessions([str(tmp_path / "other.txt")]) == [tmp_path / "other.txt"]


def test_what_stands_for_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no such file"):
        find_sessions([str(tmp_path / "*.jsonl")])
    with pytest.raises(SessionError, match=r"no \.jsonl file"):
        find_sessions([str(tmp_path)])
