"""`longthread thread list|history|search|reindex`."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest
from agents import Scripted, agent, calls, look, say, thread
from typer.testing import CliRunner, Result

from longthread import ThreadContext, open_checkpointer
from longthread.apps import cli


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/threads.db"
    found: str = request.getfixturevalue("postgres_url")
    return found


def run(*arguments: str, url: str, folder: Path, user: str | None = "ann") -> Result:
    options = ["--checkpointer", url, "--workspace", str(folder / "workspace")]
    whose = [] if user is None else ["--user", user]
    return CliRunner().invoke(cli.app, ["thread", *arguments, *options, *whose])


def talk(url: str, folder: Path, name: str, *said: str) -> None:
    """Let ann talk in a thread."""
    with open_checkpointer(url) as saver:
        graph = agent(Scripted(calls("c1"), "fine"), folder, [look], checkpointer=saver)
        for text in said:
            graph.invoke(say(text), thread(name), context=ThreadContext(user_id="ann"))


def test_threads_are_listed_for_their_owner_only(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path, "t-1", "What is [bold]this\x1b[31m?")
    talk(url, tmp_path, "t-2", "And that?", "Really?")
    listed = run("list", url=url, folder=tmp_path)
    assert listed.exit_code == 0
    lines = [line for line in listed.stdout.splitlines() if "t-" in line]
    assert [line.split()[:2] for line in lines] == [["t-2", "6"], ["t-1", "4"]]
    assert "What is [bold]this" in lines[1]
    assert "\x1b" not in listed.stdout
    nobody = run("list", url=url, folder=tmp_path, user=None)
    assert nobody.stdout.startswith("no threads")


def test_history_is_paged(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path, "t", "one", "two")
    shown = run("history", "t", "--last", "2", url=url, folder=tmp_path)
    assert shown.stdout == "#4 user: two\n#5 assistant: fine\n"
    assert shown.stderr == "(4 older messages: --before 4)\n"
    older = run("history", "t", "-n", "9", "--before", "4", url=url, folder=tmp_path)
    assert older.stdout.splitlines() == [
        "#0 user: one",
        '#1 assistant: [calls look {"at": "c1"}]',
        "#2 tool look: saw c1",
        "#3 assistant: fine",
    ]


def test_messages_are_found(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path, "t", "the blue service\nis deployed")
    found = run("search", "deployed blue", "--mode", "all", url=url, folder=tmp_path)
    assert found.stdout == "t #0 user: the blue service is deployed\n"
    for option in ("--max", "--limit", "-n"):  # that of `memory search` too
        one = run("search", "deployed", option, "1", url=url, folder=tmp_path)
        assert (one.exit_code, one.stdout.count("\n")) == (0, 1)
    nothing = run("search", "deployed blue", url=url, folder=tmp_path)
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "no matches\n")
    assert run("search", "blue", "--thread", "t", url=url, folder=tmp_path).stdout.startswith(
        "t #0"
    )


def test_registry_and_index_are_built_anew(url: str, tmp_path: Path) -> None:
    talk(url, tmp_path, "t", "the blue service")
    elsewhere = tmp_path / "elsewhere"
    done = run("reindex", url=url, folder=elsewhere)
    assert done.stdout == "4 messages in 1 thread\n"
    assert (
        run("search", "blue", url=url, folder=elsewhere).stdout == "t #0 user: the blue service\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("history", "nobody"), "no thread 'nobody'"),
        (("history", "t", "--last", "0"), "--last"),
        (("search", "x", "--mode", "fuzzy"), "match_mode='fuzzy'"),
        (("search", "x", "--thread", "nobody"), "no thread 'nobody'"),
        (("search", "x", "--max", "0"), "--max"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    talk(url, tmp_path, "t", "hi")
    result = run(*arguments, url=url, folder=tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["list", "history", "search", "reindex"])
def test_help_is_complete(command: str) -> None:
    shown = CliRunner().invoke(cli.app, ["thread", command, "--help"], env={"COLUMNS": "160"})
    assert shown.exit_code == 0
    for option in ("--checkpointer", "--workspace", "--user", "--agent"):
        assert option in shown.stdout


def test_looking_into_a_file_that_is_not_there_makes_none(tmp_path: Path) -> None:
    result = run("list", url=f"sqlite:///{tmp_path}/none.db", folder=tmp_path)
    assert result.exit_code == 2
    assert "no such file" in result.stderr
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("asked", [["history", "t"], ["search", "red"], ["list"]])
def test_on_a_terminal_what_was_said_controls_nothing(asked: list[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    talk(url, tmp_path, "t", "red\x1b]0;owned\x07")
    where = ["--checkpointer", url, "--workspace", str(tmp_path / "workspace"), "--user", "ann"]
    main = "from longthread.apps.cli import main; main()"
    child = pexpect.spawn(sys.executable, ["-c", main, "thread", *asked, *where], encoding="utf-8")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    shown = str(child.before)
    assert "red\\x1b]0;owned\\x07" in shown
    assert "\x1b]0;" not in shown
