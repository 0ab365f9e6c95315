"""The worker that does memory work after the answer."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from longthread import adrain, drain
from longthread.nodes import background
from longthread.nodes.background import BackgroundJob, BackgroundWorker, submit


class Job:
    """Does what it is given; the newest of a key replaces those before it."""

    def __init__(self, work: Callable[[], object], *, replaces: bool = True) -> None:
        self.work = work
        self.replaces = replaces

    def __call__(self) -> None:
        self.work()

    def covers(self, _earlier: BackgroundJob, /) -> bool:
        return self.replaces


class Gate:
    """Holds the worker until it is opened."""

    def __init__(self, worker: BackgroundWorker) -> None:
        self.opened, self.reached = threading.Event(), threading.Event()
        worker.submit("gate", Job(self._wait))
        assert self.reached.wait(30)

    def _wait(self) -> None:
        self.reached.set()
        assert self.opened.wait(30)


def test_jobs_run_one_after_the_other_in_the_order_they_came() -> None:
    worker, ran = BackgroundWorker(), []
    gate = Gate(worker)
    for n in range(5):
        worker.submit(n, Job(lambda n=n: ran.append(n)))  # type: ignore[misc]
    assert worker.pending == 6
    gate.opened.set()
    assert worker.drain(30)
    assert ran == [0, 1, 2, 3, 4]
    assert worker.pending == 0


def test_the_newest_job_of_a_key_replaces_those_that_it_covers() -> None:
    worker, ran = BackgroundWorker(), []
    gate = Gate(worker)
    for n in range(4):
        worker.submit("thread", Job(lambda n=n: ran.append(n), replaces=n != 2))  # type: ignore[misc]
    gate.opened.set()
    assert worker.drain(30)
    assert ran == [3]
    gate = Gate(worker)
    for n in range(3):
        worker.submit("thread", Job(lambda n=n: ran.append(n), replaces=False))  # type: ignore[misc]
    gate.opened.set()
    assert worker.drain(30)
    assert ran == [3, 0, 1, 2]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_whatever_a_job_raises_the_next_one_has_its_turn(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    worker, ran = BackgroundWorker(), []

    def fails() -> None:
        raise error

    with caplog.at_level(logging.ERROR, logger="longthread"):
        worker.submit(1, Job(fails))
        worker.submit(2, Job(lambda: ran.append("next")))
        assert worker.drain(30)
    assert ran == ["next"]
    assert "work in the background failed" in caplog.text


def test_a_job_that_hangs_is_given_up_when_another_one_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker, ran = BackgroundWorker(), []
    gate = Gate(worker)
    worker.submit(1, Job(lambda: ran.append("waits its turn")))
    assert ran == []
    monkeypatch.setattr(background, "STUCK", -1.0)
    worker.submit(2, Job(lambda: ran.append("next")))
    assert worker.drain(30)
    assert ran == ["waits its turn", "next"]
    assert "is given up" in caplog.text
    gate.opened.set()  # it comes back: nobody minds
    worker.submit(3, Job(lambda: ran.append("last")))
    assert worker.drain(30)
    assert ran[-1] == "last"


def test_a_thread_that_cannot_be_started_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def cannot(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    worker = BackgroundWorker()
    monkeypatch.setattr(threading.Thread, "start", cannot)
    with pytest.raises(RuntimeError, match="can't start"):
        worker.submit(1, Job(lambda: None))
    assert worker.pending == 0
    assert worker.drain(0)


def test_a_job_sees_nothing_of_the_context_it_was_left_in() -> None:
    worker, seen = BackgroundWorker(), []
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="empty")
    variable.set("the call's")
    worker.submit(1, Job(lambda: seen.append(variable.get())))
    worker.submit(2, Job(lambda: variable.set("a job's")))
    worker.submit(3, Job(lambda: seen.append(variable.get())))
    assert worker.drain(30)
    assert seen == ["empty", "empty"]


def test_draining_gives_up_after_its_timeout() -> None:
    worker = BackgroundWorker()
    gate = Gate(worker)
    assert not worker.drain(0.01)
    assert not worker.drain(0)
    gate.opened.set()
    assert worker.drain(None)
    assert worker.drain(0)


def test_a_job_that_drains_does_not_wait_for_itself() -> None:
    worker, said = BackgroundWorker(), []
    worker.submit(1, Job(lambda: said.append(worker.drain(30))))
    assert worker.drain(30)
    assert said == [False]


def test_a_job_may_leave_another() -> None:
    worker, ran = BackgroundWorker(), []
    worker.submit(1, Job(lambda: worker.submit(1, Job(lambda: ran.append("later")))))
    assert worker.drain(30)
    assert ran == ["later"]


async def test_waiting_does_not_hold_up_the_event_loop() -> None:
    release = threading.Event()
    submit("a", Job(lambda: release.wait(30)))
    assert not await adrain(0.01)
    waiting = asyncio.create_task(adrain(None))
    await asyncio.sleep(0)
    assert not waiting.done()
    release.set()
    assert await waiting
    assert await adrain(0)


async def test_whoever_stops_waiting_is_forgotten() -> None:
    release = threading.Event()
    submit("a", Job(lambda: release.wait(30)))
    waiting = asyncio.create_task(adrain(None))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert background._worker._waiting == []
    release.set()
    assert drain(30)


def test_a_loop_that_has_ended_does_not_trouble_the_worker() -> None:
    release, ran = threading.Event(), []
    submit("a", Job(lambda: release.wait(30)))

    async def gone() -> None:
        task = asyncio.ensure_future(adrain(None))
        await asyncio.sleep(0)
        task.get_loop().call_soon(task.get_loop().stop)
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError):  # "Event loop stopped before Future completed"
        asyncio.run(gone())
    release.set()
    submit("b", Job(lambda: ran.append(1)))
    assert drain(30)
    assert ran == [1]


def run_script(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = folder / "script.py"
    script.write_text(source)
    return subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


LEAVES_WORK = """
import time
from longthread.nodes.background import submit

class Job:
    def __call__(self):
        time.sleep(0.2)
        with open("done", "a") as file:
            file.write("done ")

    def covers(self, earlier):
        return False
"""


def test_a_normal_exit_waits_for_the_work(tmp_path: Path) -> None:
    ended = run_script(f"{LEAVES_WORK}\nsubmit(1, Job())\nsubmit(1, Job())\n", tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "done").read_text() == "done done "


def test_an_exit_by_an_error_waits_too(tmp_path: Path) -> None:
    ended = run_script(f"{LEAVES_WORK}\nsubmit(1, Job())\nraise SystemExit(7)\n", tmp_path)
    assert ended.returncode == 7
    assert (tmp_path / "done").read_text() == "done "


def test_an_exit_does_not_wait_for_ever(tmp_path: Path) -> None:
    ended = run_script(
        f"{LEAVES_WORK}\n"
        "from longthread.nodes import background\n"
        "background.EXIT_TIMEOUT = 0.05\n"
        "class Stuck(Job):\n"
        "    def __call__(self):\n"
        "        time.sleep(1_000)\n"
        "submit(1, Stuck())\n",
        tmp_path,
    )
    assert ended.returncode == 0
    assert "1 pieces of memory work were not done" in ended.stderr


def test_a_forked_child_has_a_worker_of_its_own_and_none_of_its_parents_work(
    tmp_path: Path,
) -> None:
    ended = run_script(
        f"{LEAVES_WORK}\n"
        "import os, warnings\n"
        "from longthread.nodes.background import drain\n"
        "warnings.simplefilter('ignore')\n"  # forking with threads is what this is about
        "submit(1, Job())\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    assert drain(0)\n"
        "    submit(2, Job())\n"
        "    assert drain(30)\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n",
        tmp_path,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "done").read_text() == "done done "


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_child_of_multiprocessing_waits_for_its_work(method: str, tmp_path: Path) -> None:
    ended = run_script(
        f"{LEAVES_WORK}\n"
        "import multiprocessing\n"
        "def work():\n"
        "    submit(1, Job())\n"
        "if __name__ == '__main__':\n"
        f"    child = multiprocessing.get_context({method!r}).Process(target=work)\n"
        "    child.start()\n"
        "    child.join()\n"
        "    assert child.exitcode == 0\n",
        tmp_path,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "done").read_text() == "done "
