"""A chat without a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from failing_provider import refused_url
from typer.testing import CliRunner, Result

from longthread.apps import cli


def in_a_process(folder: Path, given: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", "from longthread.apps.cli import main; main()", "chat", *options],
        input=given,
        cwd=folder,
        capture_output=True,
        timeout=60,
    )


@pytest.fixture
def chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    for name in [each for each in os.environ if each.startswith("LONGTHREAD_")]:
        monkeypatch.delenv(name)
    return lambda given, *options: CliRunner().invoke(cli.app, ["chat", *options], input=given)


def test_answers_go_to_standard_output_and_all_else_to_standard_error(tmp_path: Path) -> None:
    given = "grüße\n/nope\nremember that x\n".encode() + b"\xff bytes"
    done = in_a_process(tmp_path, given, "--scripted")
    assert done.returncode == 0
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "You said 5 characters: grüße" in out
    assert "� bytes" in out
    assert "you>" not in out
    assert "/nope: there is no such command" in err
    assert "memory_save" in err
    assert "memory_save" not in out


def test_without_a_terminal_nothing_is_written_or_run(
    tmp_path: Path, chat: Callable[..., Result]
) -> None:
    given = "write a.txt: hello\ny\nrun touch b.txt\ny\n"
    options = ("--scripted", "--folder", ".", "--allow-write", "--allow-shell")
    done = chat(given, *options)
    assert done.stdout.count("The user said no") == 2
    assert not list(tmp_path.glob("*.txt"))


def test_a_provider_that_fails_is_one_line_and_the_thread_goes_on(
    tmp_path: Path, chat: Callable[..., Result]
) -> None:
    settings = {
        "models": {"main": "here/some-model"},
        "providers": {"here": {"type": "openai", "baseUrl": refused_url(), "apiKey": "k"}},
    }
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    done = chat("hello\n", "--thread", "t")
    assert done.exit_code == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert len(errors) == 1, done.stderr
    assert "onnect" in errors[0]
    assert "Traceback" not in done.stderr
    again = chat("\n", "--thread", "t", "--scripted")
    assert "You said 5 characters: hello" in again.stdout


def test_threads_can_be_kept_in_postgresql(
    tmp_path: Path, postgres_url: str, chat: Callable[..., Result]
) -> None:
    options = ("--scripted", "--thread", "t", "--checkpointer", postgres_url)
    assert chat("hello\n", *options).exit_code == 0
    again = chat("more\n", *options)
    assert "I was sent 4 messages" in again.stdout
    assert not (tmp_path / ".longthread/threads.db").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ((), "no model: name one"),
        (("--model", "nonsense"), "nonsense"),
        (("--scripted", "--model", "openai:x"), "give one of them"),
        (("--scripted", "--allow-write"), "--folder"),
        (("--scripted", "--folder", "nowhere"), "nowhere"),
        (("--scripted", "--checkpointer", "mysql://x"), "mysql"),
        (("--settings", "nowhere"), "nowhere"),
        (("--scripted", "--user", ""), "user"),
        (("--scripted", "--agent", "../x"), "../x"),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    chat: Callable[..., Result], options: tuple[str, ...], says: str
) -> None:
    done = chat("", *options)
    assert done.exit_code == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("Error: ")
    assert says in line


@pytest.mark.parametrize("options", [("--scripted",), ("--model", "openai:x")])
def test_mistakes_in_the_environment_and_in_auth_json_are_said_without_a_settings_json(
    options: tuple[str, ...],
    tmp_path: Path,
    chat: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LONGTHREAD_MEMORY__MAX_LINES", "zork")
    (tmp_path / "auth.json").write_text('{"providers": 7}')
    done = chat("hello\n", *options)
    assert done.exit_code == 2
    assert "LONGTHREAD_MEMORY__MAX_LINES" in done.stderr
    assert "auth.json" in done.stderr


def test_the_model_and_its_endpoint_may_stand_in_the_environment_and_auth_json_alone(
    tmp_path: Path, chat: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGTHREAD_MODEL", "here/some-model")
    entry = {"type": "openai", "baseUrl": refused_url(), "apiKey": "k"}
    (tmp_path / "auth.json").write_text(json.dumps({"providers": {"here": entry}}))
    done = chat("hello\n")
    assert done.exit_code == 2
    assert "onnect" in done.stderr


def test_the_commands_for_threads_find_what_a_chat_has_stored(
    tmp_path: Path, chat: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*options: str) -> str:
        return CliRunner().invoke(cli.app, ["thread", "list", *options]).stdout

    assert chat("hello\n", "--scripted", "--thread", "first").exit_code == 0
    assert "first" in listed()
    elsewhere = ("--workspace", "elsewhere")
    assert chat("hello\n", "--scripted", "--thread", "second", *elsewhere).exit_code == 0
    assert "second" in listed(*elsewhere)
    monkeypatch.setenv("LONGTHREAD_CHECKPOINTER", f"sqlite:///{tmp_path}/third.db")
    assert chat("hello\n", "--scripted", "--thread", "third").exit_code == 0
    assert (tmp_path / "third.db").exists()
    assert "third" in listed()
    assert "first" in listed("--checkpointer", ".longthread/threads.db")


def test_a_new_thread_is_none_that_is_there(chat: Callable[..., Result]) -> None:
    assert chat("hello\n", "--scripted", "--thread", "w").exit_code == 0
    done = chat("/new w\n/new v\nhello\n", "--scripted", "--thread", "t")
    assert "there is a thread w already: /thread goes there" in done.stderr
    assert "thread v" in done.stderr
    assert "I was sent 2 messages" in done.stdout


def test_a_user_may_be_called_anything(tmp_path: Path, chat: Callable[..., Result]) -> None:
    options = ("--scripted", "--user", "../x", "--thread", "t")
    assert chat("remember that x\n", *options).exit_code == 0
    assert "user: remember that x" in chat("/search remember\n", *options).stdout
    assert not (tmp_path / "x").exists()
