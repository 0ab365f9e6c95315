"""A chat in a real terminal."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pexpect
import psycopg
import pytest
from terminal import Chat

from longthread.graphs.agent import create_agent_graph
from longthread.graphs.scripted import ScriptedModel
from longthread.stores.checkpointers.opening import open_checkpointer


def said(folder: Path, thread: str) -> list[str]:
    """Return what is in the journal of a thread."""
    with open_checkpointer(f"sqlite:///{folder}/.longthread/threads.db", create=False) as saver:
        graph = create_agent_graph(
            ScriptedModel(script=lambda _: ""), workspace=folder / "other", checkpointer=saver
        )
        state = graph.get_state({"configurable": {"thread_id": thread}})
    return [str(message.text) for message in state.values.get("messages", [])]


def ignoring_ctrl_c() -> None:
    """What a script that starts programs in the background leaves them with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize("before", [None, ignoring_ctrl_c])
def test_an_interrupted_turn_is_resumed_by_a_second_process(
    before: Callable[[], None] | None, tmp_path: Path
) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "work", before=before)
    assert "You said 9 characters: good day!" in chat.ask("good day!")
    chat.child.sendline("count to 300")
    chat.child.expect_exact("4 5 6 7")
    chat.child.sendintr()
    assert "/resume goes on with the turn" in chat.prompted()
    assert "the thread's" not in chat.end()
    assert said(tmp_path, "work")[2:] == ["count to 300"]

    chat = Chat(tmp_path, "--scripted", "--thread", "work")
    assert "299 300" in chat.ask("").replace("\n", " ")
    assert "nothing to resume" in chat.ask("/resume")
    chat.end()
    assert len(said(tmp_path, "work")) == 4


def test_after_an_interruption_one_may_just_say_more(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "work")
    chat.child.sendline("count to 900")
    chat.child.expect_exact("4 5 6 7")
    chat.child.sendintr()
    chat.prompted()
    assert "You said 5 characters: never" in chat.ask("never")
    chat.child.sendintr()
    assert "Ctrl-D or /quit" in chat.prompted()
    chat.child.sendline("/quit")
    chat.child.expect("work|$")
    assert said(tmp_path, "work")[:2] == ["count to 900", "never"]


def test_what_was_remembered_is_known_in_a_new_thread_and_found_by_a_search(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "first")
    chat.ask("remember that the harbour door opens with 5051 🗝")
    assert "harbour door" in chat.ask("/memory")
    chat.end()
    chat = Chat(tmp_path, "--scripted")
    assert "opens with 5051 🗝" in chat.ask("what do you remember?")
    found = chat.ask("/search HARBOUR")
    assert "first #0 user: remember that the harbour door" in found
    listed = chat.ask("/threads")
    assert "first" in listed
    assert "what do you remember?" in listed
    chat.end()


def test_a_thread_is_compacted_on_demand_and_its_context_is_shown(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted")
    for line in ("zebra " * 100, "yak " * 100, "gnu " * 100):
        chat.ask(line)
    before = chat.ask("/context")
    assert "6 messages were said, 7 are sent" in before
    assert "messages summarised" in chat.ask("/compact keep the animals")
    after = chat.ask("/context")
    assert "6 messages were said" in after
    assert "the summary stands for" in after
    assert "#0 user: zebra" in chat.ask("/search zebra").replace("\n", " ")
    chat.end()


def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "one")
    chat.ask("in both")
    assert "thread two" in chat.ask("/fork two")
    assert "I was sent 4 messages" in chat.ask("only in two")
    assert "SESSION" not in chat.ask("/thread one")
    assert "I was sent 4 messages" in chat.ask("only in one")
    assert "already: fork to another id" in chat.ask("/fork two")
    chat.end()
    assert said(tmp_path, "one")[2] == "only in one"
    assert said(tmp_path, "two")[0::2] == ["in both", "only in two"]


def test_a_file_is_written_only_after_a_yes(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    chat = Chat(tmp_path, "--scripted", "--folder", "work", "--allow-write", "--allow-shell")
    for answer, written in (("n", False), ("y", True)):
        chat.child.sendline("write notes/a.txt: good news")
        chat.child.expect_exact("Allow it? [y/N] ")
        assert not (folder / "notes").exists()
        shown = chat.ask(answer)
        assert ("bytes written" in shown) is written
        assert ("The user said no" in shown) is not written
    assert (folder / "notes/a.txt").read_text() == "good news"
    chat.child.sendline("run pwd; echo $((6*7))")
    chat.child.expect_exact("Allow it? [y/N] ")
    assert "42" in chat.ask("yes")
    chat.end()


def test_a_question_that_was_left_open_is_asked_again_by_the_next_process(tmp_path: Path) -> None:
    options = ("--scripted", "--thread", "t", "--folder", ".", "--allow-write")
    chat = Chat(tmp_path, *options)
    chat.child.sendline("write a.txt: now")
    chat.child.expect_exact("Allow it? [y/N] ")
    chat.child.sendintr()
    chat.prompted()
    chat.end()
    assert not (tmp_path / "a.txt").exists()
    chat = Chat(tmp_path, *options)
    chat.child.sendline("")
    chat.child.expect_exact("Allow it? [y/N] ")
    assert "bytes written" in chat.ask("y")
    chat.end()


def test_a_command_that_is_running_ends_with_ctrl_c(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--folder", ".", "--allow-shell")
    chat.child.sendline("run echo $$ > pid; sleep 600 & wait")
    chat.child.expect_exact("Allow it? [y/N] ")
    chat.child.sendline("y")
    pid = tmp_path / "pid"
    while not pid.exists() or not pid.read_text().strip():
        chat.child.expect("⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏")
    chat.child.sendintr()
    assert "interrupted" in chat.prompted()
    assert not Path("/proc", pid.read_text().strip()).exists()
    # It is not begun again: the model is told that it was cut off, and answers.
    assert "It says" in chat.ask("/resume")
    chat.end()


def test_a_paste_of_many_lines_is_one_message(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "t")
    lines = [f"line {number} – täglich 漢字" for number in range(300)]
    typed = "\x1b[200~" + "\n".join(lines) + "\x1b[201~\r"
    for at in range(0, len(typed), 500):  # a terminal takes no more at a time
        chat.child.send(typed[at : at + 500])
    chat.child.expect_exact("I was sent 2 messages")
    chat.prompted()
    chat.end()
    assert said(tmp_path, "t")[0] == "\n".join(lines)


@pytest.mark.parametrize("apart", [0.0, 0.004, 0.012])
def test_ctrl_c_pressed_again_and_again_does_not_end_the_chat(apart: float, tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "work")
    chat.child.sendline("count to 500")
    chat.child.expect_exact("4 5 6 7")
    pid = chat.child.pid
    assert pid is not None
    for _ in range(6):
        os.kill(pid, signal.SIGINT)
        time.sleep(apart)
    chat.prompted()
    chat.child.sendline("say 500")
    answer, hint = "You said 7 characters: say 500", "ends the chat"
    while chat.child.expect_exact([answer, hint]):  # a late one clears what has been typed
        chat.child.sendline("say 500")
    chat.child.sendeof()
    while chat.child.expect_exact([pexpect.EOF, "you> "]):  # what was typed once more is answered
        with suppress(OSError):  # it has ended
            chat.child.sendeof()
    chat.child.close()
    assert chat.child.exitstatus == 0
    assert said(tmp_path, "work")[:2] == ["count to 500", "say 500"]


def rename(folder: Path, old: str, new: str) -> None:
    connection = sqlite3.connect(folder / ".longthread/threads.db")
    with connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")
    connection.close()


def test_what_could_not_be_stored_is_said_kept_and_sent_again(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "work")
    chat.ask("hello")
    rename(tmp_path, "checkpoints", "away")
    shown = chat.ask("first")
    assert "Error" in shown
    assert "what you said is kept here" in shown.replace("\n", " ")
    assert "Error" in chat.ask("second")
    rename(tmp_path, "away", "checkpoints")
    assert "You said 6 characters: second" in chat.ask("")
    assert "nothing to resume" in chat.ask("/resume")
    assert "not stored" not in chat.end()
    assert [text for text in said(tmp_path, "work") if "said" not in text] == [
        "hello",
        "first",
        "second",
    ]


def test_what_was_never_stored_is_said_at_the_end(tmp_path: Path) -> None:
    chat = Chat(tmp_path, "--scripted", "--thread", "work")
    chat.ask("hello")
    rename(tmp_path, "checkpoints", "away")
    chat.ask("lost words")
    assert "not stored: lost words" in chat.end()


def test_a_command_that_was_cut_off_by_a_crash_is_not_asked_about_again(tmp_path: Path) -> None:
    options = ("--scripted", "--thread", "t", "--folder", ".", "--allow-shell")
    chat = Chat(tmp_path, *options)
    chat.child.sendline("run echo $$ > pid; echo x >> ran; sleep 600 & wait")
    chat.child.expect_exact("Allow it? [y/N] ")
    chat.child.sendline("y")
    pid = tmp_path / "pid"
    while not pid.exists() or not pid.read_text().strip():
        chat.child.expect("⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏")
    chat.child.kill(signal.SIGKILL)
    chat.child.expect(pexpect.EOF)
    os.killpg(int(pid.read_text()), signal.SIGKILL)
    chat = Chat(tmp_path, *options)
    shown = chat.ask("")
    assert "Allow it?" not in shown
    assert "It says" in shown
    assert "interrupted" in shown
    chat.end()
    assert (tmp_path / "ran").read_text() == "x\n"


def test_a_terminal_obeys_nothing_that_is_said_though_the_input_is_a_pipe(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'from longthread.apps.cli import main; main()' chat --scripted"
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", f"printf 'red \\033[31m bell \\007 \\n' | {command}"],
        cwd=str(tmp_path),
        encoding="utf-8",
        timeout=30,
    )
    shown = child.read()
    child.close()
    assert "red \\x1b[31m bell \\x07" in shown
    assert "\x1b" not in shown
    assert "\x07" not in shown


def test_a_database_that_is_away_costs_no_message_and_writes_nothing_on_the_terminal(
    tmp_path: Path, postgres_url: str
) -> None:
    name = postgres_url.rpartition("?")[0].rpartition("/")[2]
    admin = psycopg.connect(postgres_url.replace(f"/{name}?", "/postgres?", 1), autocommit=True)
    chat = Chat(tmp_path, "--scripted", "--thread", "t", "--checkpointer", postgres_url)
    chat.ask("hello")
    admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
    )
    chat.child.sendline("are you there?")
    chat.child.expect("⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏")
    chat.child.sendintr()
    shown = chat.prompted().replace("\n", " ")
    assert "what you said is kept here" in shown
    assert "error connecting" not in shown
    admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    admin.close()
    chat.child.sendline("")
    chat.child.expect_exact("You said 14 characters: are you there?")
    assert "error connecting" not in (chat.child.before or "")
    chat.prompted()
    chat.end()
