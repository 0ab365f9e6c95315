"""Memory work that is killed at random moments: run as a script, it prints what it found as JSON.

The script has one thread and has everything imported; each round forks a child, which says facts,
extracts and consolidates as fast as it can until it is killed. What was *said* is on the disk
before anything is extracted from it, as a thread's journal would be.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from workspaces import opened_workspace

from longthread import MemoryConfig
from longthread.graphs.scripted import ScriptedModel
from longthread.nodes import identity
from longthread.nodes.background import drain
from longthread.nodes.consolidation import ConsolidationNode
from longthread.nodes.flush import FlushNode
from longthread.state.journal import as_journal
from longthread.state.policy import ContextPolicy
from longthread.stores.workspace import Owner, Workspace

THREADS = ("one", "two")
_FACT = re.compile(r"Fact (\w+-\d+)\.")
_START = datetime(2026, 3, 1, tzinfo=UTC)


def answered(messages: list[BaseMessage]) -> str:
    """Extract what is new, or write the whole MEMORY.md, with its number of facts at the end."""
    prompt = str(messages[-1].content)
    if "<conversation>" in prompt:
        known, new = prompt.split("<conversation>")
        facts = [f for f in _FACT.findall(new) if f"Fact {f}." not in known]
        return "\n".join(f"- Fact {fact}." for fact in facts) or "NO_REPLY"
    facts = list(dict.fromkeys(_FACT.findall(prompt)))
    return "\n".join([*(f"- Fact {fact}." for fact in facts), f"- That makes {len(facts)} facts."])


class Said:
    """What was said in a thread: so many facts, each answered."""

    def __init__(self, folder: Path, thread: str) -> None:
        self.thread = thread
        self.path = folder / f"{thread}.said"
        self.count = self.path.stat().st_size if self.path.exists() else 0

    def say(self) -> None:
        """Say one more fact: it is on the disk from now on."""
        with self.path.open("ab", buffering=0) as file:
            file.write(b".")
        self.count += 1

    @property
    def messages(self) -> list[AnyMessage]:
        """The thread."""
        journal: list[AnyMessage] = []
        for n in range(self.count):
            journal.append(HumanMessage(f"Fact {self.thread}-{n}.", id=f"{self.thread}-h{n}"))
            journal.append(AIMessage("ok", id=f"{self.thread}-a{n}"))
        return journal


def policy(background: bool) -> ContextPolicy:
    """An agent that consolidates after every call and archives ledgers after a day."""
    memory = MemoryConfig(
        background=background,
        consolidation_min_gap=timedelta(0),
        consolidation_max_tokens=1_000_000,
        daily_file_retention_days=1,
    )
    return ContextPolicy(window=10_000_000, memory=memory)


def work(kind: str, folder: Path, calls: int | None, background: bool) -> None:
    """Make calls, without end if need be."""
    with opened_workspace(kind, str(folder / "workspace")) as workspace:
        make_calls(workspace, folder, calls, background)


def make_calls(workspace: Workspace, folder: Path, calls: int | None, background: bool) -> None:
    """Make calls with memory in a workspace."""
    model = ScriptedModel(script=answered)
    flush = FlushNode(policy(background), workspace, model)
    consolidation = ConsolidationNode(policy(background), workspace, model)
    said = [Said(folder, thread) for thread in THREADS]
    done = 0
    while calls is None or done < calls:
        thread = said[done % len(said)]
        if calls is None:
            thread.say()
        state = {"messages": as_journal(thread.messages)}
        update = flush.invoke(state, {"configurable": {"thread_id": thread.thread}})
        if update.get("maintenance"):
            consolidation.invoke(state)
        done += 1
        if background and done % 3 == 0:
            drain()


def whole(text: str | None) -> bool:
    """Whether a MEMORY.md is a version that was written, not a part of one."""
    if text is None:
        return True
    facts = set(_FACT.findall(text))
    return text.rstrip().rpartition("\n")[2].startswith(f"- That makes {len(facts)} facts.")


def texts(kind: str, folder: Path) -> dict[str, str]:
    """Return all memory files. No connection stays open: the next thing is a fork."""
    with opened_workspace(kind, str(folder / "workspace")) as workspace:
        files = workspace.scoped(Owner(None, "agent"))
        return {path: files.read_text(path) or "" for path in files.list_files()}


def main(kind: str, folder: Path, rounds: int, seed: int) -> None:
    """Kill so many children, let the last one finish, and report."""
    chance = random.Random(seed)
    broken = []
    warm = folder / "warm"  # what is loaded when it is first used is loaded before the first fork
    warm.mkdir()
    for thread in THREADS:
        Said(warm, thread).say()
    work(kind, warm, 4, background=False)
    for round_ in range(rounds + 1):
        moment = _START + timedelta(hours=3 * round_)
        identity.utc_now = lambda moment=moment: moment  # type: ignore[misc]
        last = round_ == rounds
        child = os.fork()
        if child == 0:
            try:
                background = not last and chance.random() < 0.5
                work(kind, folder, 2 * len(THREADS) if last else None, background)
                os._exit(0)
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
                os._exit(1)
        if not last:
            time.sleep(chance.uniform(0.002, 0.12))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if last:
            assert status == 0, "the last one, which nobody killed, failed"
        if not whole(texts(kind, folder).get("MEMORY.md")):
            broken.append(round_)
    files = texts(kind, folder)
    ledgers = {path: text for path, text in files.items() if path.startswith("memory/")}
    written = Counter(fact for text in ledgers.values() for fact in _FACT.findall(text))
    given = [f"{t}-{n}" for t in THREADS for n in range(Said(folder, t).count)]
    remembered = set(_FACT.findall(files.get("MEMORY.md", "")))
    report = {
        "given": len(given),
        "missing": [fact for fact in given if not written[fact]],
        "twice": [fact for fact, count in written.items() if count > 1],
        "forgotten": [fact for fact in given if fact not in remembered],
        "broken": broken,
        "ledgers": len(ledgers),
        "archived": sum("archive/" in path for path in ledgers),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
