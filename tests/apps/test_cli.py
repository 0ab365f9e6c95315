"""The command line: help, errors in one line, exit codes, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from agents import Scripted, agent, say, thread
from langgraph.checkpoint.sqlite import SqliteSaver
from settings_files import clear_variables, write_settings
from typer.testing import CliRunner, Result

from longthread.apps import cli
from longthread.graphs.model_roles import ModelRoles

SESSION = "\n".join(
    json.dumps(message)
    for message in (
        {"role": "user", "content": "do it"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "found"},
        {"role": "assistant", "content": "done"},
    )
)
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("LONGTHREAD_DEBUG", raising=False)

    def invoke(*args: str, env: Mapping[str, str] | None = None) -> Result:
        return CliRunner().invoke(cli.app, list(args), env=env)

    return invoke


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(SESSION, encoding="utf-8")
    return path


def in_a_process(
    *args: str, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    # A shell that runs the tests in the background makes its children ignore Ctrl-C.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from longthread.apps.cli import main; main()"
    )
    command = [sys.executable, "-c", code, *args]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "LONGTHREAD_DEBUG": "", "PYTHONIOENCODING": "utf-8", **(env or {})},
        **options,
    )


def failed_in_one_line(result: Result) -> str:
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr


def test_without_a_command_the_commands_are_shown(run: Run) -> None:
    result = run()
    assert result.exit_code == 0
    assert "replay" in result.output
    assert "demo" in result.output


@pytest.mark.parametrize("group", ["thread", "memory", "config"])
def test_a_group_without_a_command_shows_its_commands_and_no_error(run: Run, group: str) -> None:
    result = run(group)
    assert result.exit_code == 0
    assert "Commands" in result.stdout
    assert result.stderr == ""


def test_the_version_is_that_of_the_package(run: Run) -> None:
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.startswith("longthread 0.")


@pytest.mark.parametrize("command", ["demo", "replay"])
def test_every_option_is_explained(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    commands: Any = typer.main.get_command(cli.app)
    for parameter in commands.commands[command].params:
        assert parameter.help, parameter.name


def test_the_readme_promises_of_replay_are_in_its_help(run: Run) -> None:
    words = run("replay", "--help", env={"COLUMNS": "200", "NO_COLOR": "1"}).output.split()
    assert {"--window", "--json", "--plot", "--model", "--masking-batch"} <= set(words)
    assert "16,000." in words


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["replay"], "Missing argument"),
        (["replay", "--nonsense"], "No such option: --nonsense"),
        (["nonsense"], "No such command"),
        (["replay", "FILE", "--window", "0"], "--window"),
        (["replay", "FILE", "--window", "many"], "--window"),
        (["replay", "FILE", "--masking-batch", "0"], "--masking-batch='0'"),
        (["replay", "FILE", "--masking-batch", "often"], "--masking-batch='often'"),
        (["replay", "FILE", "--masking-batch", "2", "--no-masking"], "no effect"),
        (["replay", "FILE", "--model", "a:b", "--no-compaction"], "no effect"),
        (["replay", "FILE", "--model", "nonsense"], "--model='nonsense'"),
        (["replay", "FILE", "--plot", "picture.nonsense"], "--plot='picture.nonsense'"),
        (["replay", "FILE", "--plot", "no/such/folder.png"], "--plot='no/such/folder.png'"),
        (["replay", "FILE", "--window", "100"], "leaves no room"),
        (["replay", "no-such-file.jsonl"], "no-such-file.jsonl: no such file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    run: Run, file: Path, args: list[str], says: str
) -> None:
    line = failed_in_one_line(run(*(str(file) if a == "FILE" else a for a in args)))
    assert says in line


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"role": "user"}', '{"role": "assistant", "content": 1}', "\0", "\ud800"],
)
def test_a_malformed_file_is_one_line_with_its_name(run: Run, tmp_path: Path, text: str) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    result = run("replay", str(bad))
    assert str(bad) in failed_in_one_line(result)
    assert result.stdout == ""


def test_all_files_are_read_before_one_is_played(run: Run, file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "z.jsonl"
    bad.write_text("{", encoding="utf-8")
    result = run("replay", str(file), str(bad))
    failed_in_one_line(result)
    assert result.stdout == ""


def test_an_error_in_a_session_names_its_file(run: Run, file: Path) -> None:
    assert f"Error: {file}: the context window" in failed_in_one_line(
        run("replay", str(file), "--window", "100")
    )


def test_a_temporary_folder_that_cannot_be_written_is_one_line(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(file))
    assert str(file) in failed_in_one_line(run("replay", str(file)))


def test_any_other_error_is_one_line_too(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("two\nlines")

    monkeypatch.setattr("longthread.apps.replay.command.play_session", broken)
    assert failed_in_one_line(run("replay", str(file))) == "Error: KeyError: 'two\\nlines'\n"


def test_the_debug_switch_lets_the_traceback_through(run: Run) -> None:
    result = run("replay", "no-such-file.jsonl", env={"LONGTHREAD_DEBUG": "1"})
    assert "no such file" in str(result.exception)
    assert not isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("error", [KeyboardInterrupt, typer.Abort])
def test_an_interruption_ends_with_130(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("longthread.apps.replay.command.play_session", interrupted)
    result = run("replay", str(file))
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_the_demo_gets_its_options_and_gives_its_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {}

    def run_demo(**options: Any) -> int:
        asked.update(options)
        return 1

    monkeypatch.setattr("longthread.apps.demo.run_demo", run_demo)
    result = run("demo", "--keep", str(tmp_path), "--no-live", "--fast", "--seed", "3")
    assert result.exit_code == 1
    assert asked == {"folder": tmp_path, "live": False, "pace": 0.0, "seed": 3}
    assert run("demo").exit_code == 1
    assert asked == {"folder": None, "live": None, "pace": None, "seed": 7}


def test_the_command_runs_in_a_process_of_its_own(file: Path) -> None:
    process = in_a_process("replay", str(file), "--json")
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(out)["files"][0]["file"] == str(file)


def test_an_error_in_a_process_of_its_own_is_one_line() -> None:
    process = in_a_process("replay", "no-such-file.jsonl")
    out, errors = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert errors == "Error: no-such-file.jsonl: no such file\n"


def test_a_reader_that_goes_away_is_no_error(file: Path) -> None:
    process = in_a_process("replay", str(file), "--json")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() in (0, 1)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals and pipes")
def test_ctrl_c_in_a_process_of_its_own_is_quiet(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    process = in_a_process("replay", str(pipe))
    # Opening the pipe to write waits until the command has opened it to read: it is at work then.
    with pipe.open("w"):
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        assert (process.returncode, out) == (130, "")
        assert "Traceback" not in errors


def test_a_thread_is_compacted_from_the_command_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Scripted("ok", summary="SUM")
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".longthread").mkdir()
    with SqliteSaver.from_conn_string(".longthread/threads.db") as saver:
        graph = agent(script, tmp_path, checkpointer=saver)
        for text in ("one " * 50, "two " * 50):
            graph.invoke(say(text), thread("7"))
    dry = run("thread", "compact", "7", "--dry-run")
    assert (dry.exit_code, dry.stdout) == (0, "7: 2 messages would be summarised, 2 in all\n")
    monkeypatch.setattr(ModelRoles, "main", lambda *_: script.model)
    done = run("thread", "compact", "7", "--model", "openai:any", "--instructions", "Be brief.")
    assert (done.exit_code, done.stdout) == (0, "7: 2 messages summarised, 2 in all\n")
    assert "Be brief." in str(script.asked["summary"][0][-1].content)
    with SqliteSaver.from_conn_string(".longthread/threads.db") as saver:
        values = agent(script, tmp_path, checkpointer=saver).get_state(thread("7")).values
        assert values["compaction"]["summary"] == "SUM"


def test_a_thread_is_compacted_as_the_settings_say(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clear_variables(monkeypatch)
    monkeypatch.chdir(tmp_path)
    provider = {"base_url": "http://127.0.0.1:1/v1", "api_key": "none"}
    write_settings(
        tmp_path,
        settings={"models": {"main": "near:m"}, "memory": {"enabled": False}},
        auth={"providers": {"near": provider}},
    )
    script = Scripted("ok", summary="SUM", facts="- A fact.")
    with SqliteSaver.from_conn_string("t.db") as saver:
        graph = agent(script, tmp_path, checkpointer=saver, memory=None)
        for text in ("one " * 50, "two " * 50):
            graph.invoke(say(text), thread("7"))
    monkeypatch.setattr(ModelRoles, "main", lambda *_: script.model)
    done = run("thread", "compact", "7", "--checkpointer", "t.db")
    assert (done.exit_code, done.stdout) == (0, "7: 2 messages summarised, 2 in all\n")
    assert script.asked["facts"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["7", "--dry-run"], "there is no such file"),
        (["7", "--checkpointer", "t.db", "--settings", "nowhere"], "nowhere"),
        (["7", "--checkpointer", "sqlite:///t.db"], "--model"),
        (["nobody", "--checkpointer", "sqlite:///t.db", "--dry-run"], "no thread 'nobody'"),
    ],
)
def test_a_thread_that_cannot_be_compacted_is_one_line(
    arguments: list[str], words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with SqliteSaver.from_conn_string("t.db") as saver:
        saver.setup()
    result = run("thread", "compact", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
