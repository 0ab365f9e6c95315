"""Two processes on one PostgreSQL: different threads of one user, and the same thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agents import Scripted, agent, thread

from longthread import ThreadJournal, context_policy, open_checkpointer, project_context
from longthread.state.validity import violations

WORKER = """
import itertools, json, sys, time
from pathlib import Path
from langchain_core.messages import AIMessage
from longthread import LongthreadError, ThreadContext, open_checkpointer
from agents import Scripted, agent, say, thread

url, folder, worker, threads = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4].split(",")
inside, refused = folder / "inside", folder / "refused"
contending = "t" in threads

def wait_for(path):
    ends = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < ends, path
        time.sleep(0.01)

def work(at: str) -> str:
    "Work. The first call of the left worker ends when the right one has been told of it."
    if contending and at == "left t 0":
        inside.touch()
        wait_for(refused)
    return f"{worker} did {at}"

def model(messages):
    if messages[-1].type == "tool":
        return AIMessage(f"{worker} is done")
    last = messages[-1]
    call = {"name": "work", "args": {"at": str(last.content)}, "id": f"call-{last.id}"}
    return AIMessage("", tool_calls=[call])

facts = itertools.count()
with open_checkpointer(url) as saver:
    script = Scripted(model, facts=lambda _: AIMessage(f"Fact {next(facts)} of {worker}."))
    graph = agent(script, folder, [work], checkpointer=saver)
    print("ready", flush=True)
    sys.stdin.readline()
    if contending and worker == "right":
        wait_for(inside)
    for turn in range(8):
        for name in threads:
            text = f"{worker} {name} {turn}"
            try:
                graph.invoke(say(text), thread(name), context=ThreadContext(user_id="ann"))
                outcome = "said"
            except LongthreadError as error:
                outcome = error.code
            if worker == "right":
                refused.touch()
            print(json.dumps({"thread": name, "text": text, "outcome": outcome}), flush=True)
"""


def both(url: str, folder: Path, threads: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Run two workers side by side; returns what each was told."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    processes = {
        worker: subprocess.Popen(
            [sys.executable, "-c", WORKER, url, str(folder), worker, names],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for worker, names in threads.items()
    }
    for process in processes.values():
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes.values():
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = {}
    for worker, process in processes.items():
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors[-3_000:]
        told[worker] = [json.loads(line) for line in out.splitlines()]
    return told


def said_in(url: str, folder: Path, name: str) -> list[str]:
    """The human messages of a thread, each followed by the work and the answer of its worker."""
    with open_checkpointer(url) as saver:
        graph = agent(Scripted(), folder, checkpointer=saver)
        state = graph.get_state(thread(name))
        values, messages = state.values, state.values["messages"]
        assert (state.next, state.tasks) == ((), ())
        assert violations(project_context(values, context_policy(graph)), messages) == []
    assert len(messages) % 4 == 0
    texts = []
    for at in range(0, len(messages), 4):
        human, asked, result, answer = messages[at : at + 4]
        worker = str(human.content).split()[0]
        assert asked.tool_calls[0]["id"] == result.tool_call_id
        assert result.content == f"{worker} did {human.content}"
        assert answer.content == f"{worker} is done"
        texts.append(str(human.content))
    return texts


def test_different_threads_of_one_user_do_not_disturb_each_other(
    postgres_url: str, tmp_path: Path
) -> None:
    told = both(postgres_url, tmp_path, {"left": "a,b", "right": "c,d"})
    for worker, outcomes in told.items():
        assert {o["outcome"] for o in outcomes} == {"said"}, worker
        for name in {o["thread"] for o in outcomes}:
            expected = [o["text"] for o in outcomes if o["thread"] == name]
            assert said_in(postgres_url, tmp_path, name) == expected
    with open_checkpointer(postgres_url) as saver:
        journal = ThreadJournal(saver, tmp_path / "workspace", user="ann")
        assert sorted(t.thread_id for t in journal.threads()) == ["a", "b", "c", "d"]
        assert len(journal.search("left", max_results=1_000)) > 0
    ledgers = list((tmp_path / "workspace").rglob("memory/*.md"))
    text = "".join(path.read_text() for path in ledgers)
    for worker in told:
        for number in range(16):
            assert text.count(f"Fact {number} of {worker}.") == 1


def test_contending_for_one_thread_the_first_goes_on_and_the_other_is_told(
    postgres_url: str, tmp_path: Path
) -> None:
    told = both(postgres_url, tmp_path, {"left": "t", "right": "t"})
    outcomes = [o for of_one in told.values() for o in of_one]
    assert {o["outcome"] for o in outcomes} == {"said", "SESSION_BUSY"}
    assert told["left"][0]["outcome"] == "said"
    assert told["right"][0]["outcome"] == "SESSION_BUSY"
    said = [o["text"] for o in outcomes if o["outcome"] == "said"]
    found = said_in(postgres_url, tmp_path, "t")
    # All that was accepted is there, once, and nothing that was refused.
    assert sorted(found) == sorted(said)
    for of_one in told.values():
        mine = [o["text"] for o in of_one if o["outcome"] == "said"]
        assert [text for text in found if text in mine] == mine
