"""Two processes on one thread of a parent graph: the agent inside it works for one at a time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from agents import Scripted, calls, contents, thread
from parents import around, journal

from longthread import LongthreadError, open_checkpointer
from longthread.stores.checkpointers import leases

WORKING = """
import sys
from pathlib import Path
from agents import Scripted, calls, say, thread
from parents import around
from longthread import open_checkpointer

def work(at: str) -> str:
    '''Work.'''
    print("working", flush=True)
    sys.stdin.readline()
    return "did it"

with open_checkpointer(sys.argv[1]) as saver:
    script = Scripted(calls("1", name="work"), "done")
    around(script, Path(sys.argv[2]), saver, tools=[work]).invoke(say("go"), thread())
"""


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_another_process_that_comes_to_the_same_agent_is_told_so(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if database == "postgres":
        url = request.getfixturevalue("postgres_url")
    ran: list[str] = []

    def work(at: str) -> str:
        """Work."""
        ran.append(at)
        return "did it twice"

    paths = os.pathsep.join(p for p in sys.path if p)
    with open_checkpointer(url) as saver:
        parent = around(Scripted(calls("2", name="work"), "done"), tmp_path, saver, tools=[work])
        first = subprocess.Popen(
            [sys.executable, "-c", WORKING, url, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        with first:
            assert first.stdout is not None
            assert first.stdin is not None
            assert first.stdout.readline() == b"working\n"
            monkeypatch.setattr(leases, "GRACE", 0.0)
            with pytest.raises(LongthreadError, match="is being worked on") as caught:
                parent.invoke(None, thread())
            assert caught.value.code == "SESSION_BUSY"
            first.stdin.write(b"\n")
            first.stdin.flush()
            assert first.wait() == 0
        assert contents(journal(parent)) == ["go", "", "did it", "done"]
    assert ran == []
