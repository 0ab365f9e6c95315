"""`longthread thread close|export|erase`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, look, say, thread
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from typer.testing import CliRunner, Result

from longthread import CompactionConfig, LongthreadError, ThreadContext, open_checkpointer
from longthread.apps import cli
from longthread.apps.replay.export import recorded_lines
from longthread.apps.replay.sessions import parse_session

SOON = CompactionConfig(trigger_messages=6, keep_messages=2, keep_tokens=0, min_progress=0.01)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/threads.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


def run(*arguments: str, url: str, folder: Path) -> Result:
    options = ["--checkpointer", url, "--workspace", str(folder / "workspace")]
    return CliRunner().invoke(cli.app, ["thread", *arguments, *options])


def talk(url: str, folder: Path, turns: int = 1, **options: Any) -> None:
    """A thread of ann's."""
    with open_checkpointer(url) as saver:
        script = Scripted(*[a for n in range(turns) for a in (calls(f"c{n}"), f"answer {n}")])
        graph = agent(script, folder, [look], checkpointer=saver, **options)
        for turn in range(turns):
            context = ThreadContext(user_id="ann")
            graph.invoke(say(f"question {turn}"), thread(), context=context)


def refused(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_a_thread_is_closed_once(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path)
    assert run("close", "t", url=url, folder=tmp_path).stdout == "t: closed\n"
    assert run("close", "t", url=url, folder=tmp_path).stdout == "t: was closed already\n"
    with pytest.raises(LongthreadError, match="closed"):
        talk(url, tmp_path)
    assert "no thread 'nobody'" in refused(run("close", "nobody", url=url, folder=tmp_path))


def test_an_export_is_what_replay_reads_sealed_messages_included(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path, 12, compaction=SOON, journal_window=8)
    file = tmp_path / "session.jsonl"
    whole = ("export", "t", "--user", "ann", "--output", str(file))
    done = run(*whole, url=url, folder=tmp_path)
    assert done.stdout == f"{file}: 48 messages\n"
    printed = run("export", "t", "--user", "ann", url=url, folder=tmp_path)
    assert printed.stdout == file.read_text(encoding="utf-8")
    session = parse_session(file.read_text(encoding="utf-8"), file)
    assert (session.recorded, len(session.steps)) == (48, 24)
    assert (session.duplicates, session.strays, session.unanswered, session.leftover) == (0,) * 4
    assert session.steps[0].inputs[0].content == "question 0"
    assert session.steps[-1].answer.content == "answer 11"
    replayed = CliRunner().invoke(cli.app, ["replay", str(file), "--json"])
    assert replayed.exit_code == 0
    assert json.loads(replayed.stdout)
    taken = refused(run(*whole, url=url, folder=tmp_path))
    assert f"--output {str(file)!r}: there is such a file; name a new one" in taken
    nowhere = ("export", "t", "--user", "ann", "--output", str(tmp_path / "no" / "x.jsonl"))
    assert "name a file in a folder" in refused(run(*nowhere, url=url, folder=tmp_path))
    assert "no thread" in refused(run("export", "t", url=url, folder=tmp_path))


def test_a_thread_is_erased_after_a_word(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path)
    dry = run("erase", "t", "--dry-run", url=url, folder=tmp_path)
    assert dry.stdout.startswith("thread t\n")
    assert "--yes" in refused(run("erase", "t", url=url, folder=tmp_path))
    not_bobs = run("erase", "t", "--user", "bob", "--yes", url=url, folder=tmp_path)
    assert "no thread 't'" in refused(not_bobs)
    assert run("export", "t", "--user", "ann", url=url, folder=tmp_path).exit_code == 0
    done = run("erase", "t", "--user", "ann", "--yes", url=url, folder=tmp_path)
    assert done.stdout == dry.stdout + "erased\n"
    again = run("erase", "t", "--yes", url=url, folder=tmp_path)
    assert (again.exit_code, again.stdout) == (0, "there is nothing to erase\n")


def test_a_user_is_erased_with_all_that_is_remembered(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path)
    memory = tmp_path / "workspace/users/ann/agents/agent/MEMORY.md"
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text("- Ann likes tea.\n")
    done = run("erase", "--all", "--user", "ann", "--yes", url=url, folder=tmp_path)
    assert "file MEMORY.md\n" in done.stdout
    assert not memory.exists()
    for wrong in (["erase"], ["erase", "t", "--all"], ["erase", "--all"]):
        refused(run(*wrong, url=url, folder=tmp_path))


def test_nothing_is_made_where_there_are_no_threads(tmp_path: Path) -> None:
    for command in (["close", "t"], ["export", "t"], ["erase", "t", "--yes"]):
        result = run(*command, url=f"sqlite:///{tmp_path}/none.db", folder=tmp_path)
        assert "there is no such file" in refused(result)
    assert list(tmp_path.iterdir()) == []


def test_whatever_a_journal_holds_is_exported_and_read_back(tmp_path: Path) -> None:
    odd = '\ud800 \u2028 漢🙂 "quoted"\n'
    messages: list[Any] = [
        SystemMessage("Be brief.", id="s"),
        HumanMessage([{"type": "text", "text": odd}, {"type": "image_url", "image_url": {}}]),
        AIMessage(
            [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 1}},
            ],
            tool_calls=[{"name": "look", "args": {"at": odd}, "id": "a"}],
            invalid_tool_calls=[{"name": None, "args": "{not json", "id": None, "error": "bad"}],
            id="m",
        ),
        ToolMessage("found", tool_call_id="a", name="look", artifact=object()),
        ToolMessage("unreadable", tool_call_id="m-1"),
        AIMessage("done"),
    ]
    lines = list(recorded_lines(messages))
    assert not [line for line in lines if "\n" in line]
    session = parse_session("\n".join(lines), tmp_path / "s.jsonl")
    assert session.strays == session.unanswered == 0
    first = session.steps[0]
    assert first.inputs[-1].content[0] == {"type": "text", "text": odd.replace("\ud800", "?")}
    assert [call["name"] for call in first.answer.tool_calls] == ["look", "unknown"]
    assert first.answer.tool_calls[1]["args"] == {"input": "{not json"}
    assert [r.content for r in first.results] == ["found", "unreadable"]
    assert first.answer.content == [{"type": "thinking", "thinking": "hm", "signature": "x"}]


def test_what_a_copied_thread_needs_is_named_before_anything_is_erased(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    talk(url, tmp_path, 12, compaction=SOON, journal_window=8)
    with open_checkpointer(url) as saver:
        stored = list(saver.list({"configurable": {"thread_id": "t"}}))[::-1]
        for one in stored:  # as whoever copies a thread without us does
            config = {"configurable": {"thread_id": "copy", "checkpoint_ns": ""}}
            parent = (one.parent_config or {}).get("configurable", {}).get("checkpoint_id")
            if parent:
                config["configurable"]["checkpoint_id"] = parent
            versions = one.checkpoint["channel_versions"]
            new: Any = saver.put(config, one.checkpoint, one.metadata, versions)  # type: ignore[arg-type]
            for task, channel, value in one.pending_writes or ():
                saver.put_writes(new, [(channel, value)], f"{task}-{channel}-{id(value)}")
    said = run("erase", "t", "--dry-run", url=url, folder=tmp_path).stdout
    assert "records stay, with what was said in them" in said
    assert said.rstrip().endswith("erase those too: copy")
