"""Runs of an agent that are killed: a parent that has imported everything forks, kills, forks on.

    python -m killed_runs URL FOLDER KILLS SEED

Each child opens the checkpointer, notes what is committed, and works on one of a few threads until
it is killed, at any moment from its beginning on: in the middle of tools, compactions and seals.
What the tools and the children have noted is in `FOLDER/tools` and `FOLDER/notes`, for the test to
judge.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
import uuid
from pathlib import Path
from typing import Any

from agents import Scripted, agent, say, thread
from langchain_core.messages import AIMessage, BaseMessage

from longthread import (
    CompactionConfig,
    ThreadJournal,
    context_policy,
    open_checkpointer,
    project_context,
)
from longthread.state.body import INTERRUPTED
from longthread.state.validity import violations

THREADS = 4
SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)
LONGEST = 0.2
"""Seconds that a child works at most."""
PATIENCE = 20.0


def note(folder: Path, name: str, line: str) -> None:
    """Append a line at once: half of one is never seen."""
    file = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


def working_agent(folder: Path, saver: Any) -> Any:
    """An agent that asks for one to three tools at a time and sometimes answers."""

    def work(at: str) -> str:
        """Work."""
        note(folder, "tools", at)
        return f"{at} " + "lorem ipsum dolor sit amet " * 20

    def model(messages: list[BaseMessage]) -> AIMessage:
        if random.random() < 0.3:
            return AIMessage("done for now")
        ids = [uuid.uuid4().hex for _ in range(random.randint(1, 3))]
        asked = [{"name": "work", "args": {"at": i}, "id": i} for i in ids]
        return AIMessage("", tool_calls=asked)

    return agent(
        Scripted(model),
        folder,
        [work],
        context_window=6_000,
        compaction=SOON,
        journal_window=8,
        checkpointer=saver,
    )


def committed(graph: Any, folder: Path, name: str) -> dict[str, Any]:
    """What a thread holds now, sealed parts included, and whether the model may be sent it."""
    state = graph.get_state(thread(name))
    live = state.values.get("messages", [])
    messages: list[Any] = []
    if live:
        journal = ThreadJournal(graph.checkpointer, folder / "workspace")
        messages = journal.history(name, last_n=1_000_000)
    results = [m for m in messages if m.type == "tool" and m.content != INTERRUPTED]
    shown = project_context(state.values, context_policy(graph)) if live else []
    return {
        "thread": name,
        "messages": [m.id for m in messages],
        "results": [m.tool_call_id for m in results],
        "invalid": [str(v) for v in violations(shown, live)] if live else [],
        "waiting": bool(state.tasks),
        "sealed": (state.values.get("sealed") or {}).get("count", 0),
    }


def child(url: str, folder: Path, name: str) -> None:
    """Work on a thread until somebody kills the process."""
    with open_checkpointer(url) as saver:
        graph = working_agent(folder, saver)
        found = committed(graph, folder, name)
        note(folder, "notes", json.dumps(found))
        config = {**thread(name), "recursion_limit": 100_000}
        waiting = found["waiting"]
        while True:
            graph.invoke(None if waiting else say("go on"), config)
            note(folder, "notes", json.dumps({"ended": name}))
            waiting = False


def _until_it_works(notes: Path, size: int) -> None:
    """Return once the child has noted what it has found, or why it cannot work."""
    deadline = time.monotonic() + PATIENCE
    while notes.stat().st_size == size and time.monotonic() < deadline:
        time.sleep(0.005)


def main(url: str, folder: Path, kills: int, seed: int) -> None:
    """Fork, kill, and fork again."""
    chance = random.Random(seed)
    (folder / "notes").touch()
    with open_checkpointer(url) as saver:  # imports what every child would import again
        committed(working_agent(folder, saver), folder, "nobody's")
    for number in range(kills):
        name = f"t{number % THREADS}"
        size = (folder / "notes").stat().st_size
        process = os.fork()
        if process == 0:
            try:
                random.seed(f"{seed} {number}")
                child(url, folder, name)
            except BaseException:
                note(folder, "notes", json.dumps({"error": traceback.format_exc()}))
            finally:
                os._exit(1)
        if chance.random() < 0.8:  # in the middle of its work; else perhaps before it has begun
            _until_it_works(folder / "notes", size)
        time.sleep(chance.uniform(0.0, LONGEST))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        note(folder, "notes", json.dumps({"killed": name}))
    # What is left is brought to its end, as an application would.
    with open_checkpointer(url) as saver:
        graph = working_agent(folder, saver)
        for number in range(THREADS):
            name = f"t{number}"
            config = {**thread(name), "recursion_limit": 100_000}
            found = committed(graph, folder, name)
            note(folder, "notes", json.dumps(found))
            graph.invoke(None if found["waiting"] else say("the end"), config)
            note(folder, "notes", json.dumps(committed(graph, folder, name)))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
