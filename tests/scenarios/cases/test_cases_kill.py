"""A process killed anywhere in a run that uses tools: what was committed stays, and runs once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import IO, Any

import pytest
from agents import Scripted, agent, thread
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread import context_policy, project_context
from longthread.state.body import INTERRUPTED
from longthread.state.validity import violations

WORKER = """
import os, sys, time, uuid
from pathlib import Path
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from agents import Scripted, agent, say, thread

folder = Path(sys.argv[1])
log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def work(at: str) -> str:
    "Work."
    os.write(log, f"{at}\\n".encode())
    return f"{at} " + "lorem ipsum dolor sit amet " * 40

def model(messages):
    ids = [uuid.uuid4().hex for _ in range(3)]
    asked = [{"name": "work", "args": {"at": i}, "id": i} for i in ids]
    return AIMessage("", tool_calls=asked)

def run():
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        graph = agent(Scripted(model), folder, [work], context_window=6_000, checkpointer=saver)
        config = {**thread(), "recursion_limit": 100_000}
        # What has finished but is not in a checkpoint yet is not next, and still to be resumed.
        waiting = bool(graph.get_state(config).tasks)
        print(os.getpid(), flush=True)
        graph.invoke(None if waiting else say("go on"), config)

for _ in sys.stdin:  # each line asks for a process, which has everything imported
    process = os.fork()
    if process == 0:
        try:
            run()
        finally:
            os._exit(1)
    print(os.waitpid(process, 0)[1], flush=True)
"""


@contextmanager
def worker(folder: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """Run the worker; gives what it reads from, and what it writes to."""
    paths = [p for p in sys.path if p]  # it imports what this process does
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        try:
            yield parent.stdin, parent.stdout
        finally:
            os.killpg(parent.pid, signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that are forked")
def test_killed_runs_resume_and_no_committed_result_is_lost_or_made_again(tmp_path: Path) -> None:
    chance = random.Random(1)
    committed: set[str] = set()
    messages: list[Any] = []
    log = tmp_path / "log"
    with worker(tmp_path) as (ask, told):
        for _ in range(6):
            before = len(log.read_text().split()) if log.exists() else 0
            print(file=ask, flush=True)
            process = int(told.readline())
            enough = before + chance.randint(1, 9)
            while not log.exists() or len(log.read_text().split()) < enough:
                assert not select([told], [], [], 0.005)[0], "it ended by itself"
            time.sleep(chance.uniform(0.0, 0.03))
            os.kill(process, signal.SIGKILL)
            assert int(told.readline()) == signal.SIGKILL
            assert not committed & set(log.read_text().split()[before:])
            with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
                graph = agent(Scripted(), tmp_path, context_window=6_000, checkpointer=saver)
                values = graph.get_state(thread()).values
            now = values.get("messages", [])
            assert {m.id for m in messages} <= {m.id for m in now}
            results = [m for m in now if isinstance(m, ToolMessage) and m.content != INTERRUPTED]
            messages, committed = now, committed | {m.tool_call_id for m in results}
            assert violations(project_context(values, context_policy(graph)), now) == []
    assert committed
    begun = log.read_text().split()
    assert len(begun) == len(set(begun)), "a call was run twice"
