"""Time that writing memory takes beside the model: extraction, consolidation, redaction.

    python -m benchmarks.memory_writing [--calls 200] [--entries 300] [--store]

The model answers at once, so what is left is ours: reading what is known, appending, cursors,
merging, fsync. `left` is what a call waits for when the work is left to the background. Figures are
milliseconds, the median and the 95th percentile.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from rich.console import Console
from rich.table import Table

from longthread import LocalWorkspace, MemoryConfig, StoreWorkspace, drain, redact_secrets
from longthread.graphs.scripted import ScriptedModel
from longthread.nodes.consolidation import ConsolidationNode
from longthread.nodes.flush import FlushNode
from longthread.state.journal import append_messages, as_journal
from longthread.state.policy import ContextPolicy
from longthread.stores.memory.ledger import append_entry
from longthread.stores.memory.memory_file import add_entry
from longthread.stores.workspace import Owner, Workspace

_WORDS = "The service of project {} listens on port {} since the team decided so for good reasons."


class _Model:
    """Has one new fact in every conversation, and keeps the file as it is with the new ones."""

    def __init__(self) -> None:
        self.facts = 0

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        prompt = str(messages[-1].content)
        if "<ledgers>" not in prompt:
            self.facts += 1
            return AIMessage(f"- {_WORDS.format(self.facts, 5_000 + self.facts)}")
        old, _, new = prompt.partition("<ledgers>")
        text: str | None = old.partition("<memory>")[2].partition("</memory>")[0].strip()
        for line in new.split("\n"):
            if line.startswith("- ") and line[2:] not in (text or ""):
                text = add_entry(text, date(2026, 3, 2), line[2:])
        return AIMessage(text or "NO_REPLY")


def policy(*, background: bool) -> ContextPolicy:
    """An agent that consolidates whenever it may."""
    memory = MemoryConfig(
        background=background,
        consolidation_min_gap=timedelta(0),
        consolidation_max_tokens=1_000_000,
    )
    return ContextPolicy(window=4_000_000, memory=memory)


def timed(work: Callable[[], object]) -> float:
    """Return how many milliseconds something takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1_000


def flush_times(workspace: Workspace, calls: int, *, background: bool) -> list[float]:
    """Make calls on one thread, and return what the end of each took."""
    node = FlushNode(policy(background=background), workspace, ScriptedModel(script=_Model()))
    journal, times = as_journal([]), []
    thread = f"thread {background}"
    for number in range(calls):
        said = [HumanMessage(f"Note {number}.", id=f"h{number}"), AIMessage("ok", id=f"a{number}")]
        journal = append_messages(journal, [said])
        state, config = {"messages": journal}, {"configurable": {"thread_id": thread}}
        times.append(timed(lambda state=state, config=config: node.invoke(state, config)))  # type: ignore[misc]
    drain(None)
    return times


def consolidation_times(workspace: Workspace, entries: int, runs: int) -> list[float]:
    """Consolidate one new fact a run into a MEMORY.md of so many entries."""
    files = workspace.scoped(Owner(None, "agent"))
    text: str | None = None
    for number in range(entries):
        text = add_entry(text, date(2026, 3, 2), _WORDS.format(number, number))
    files.write_text("MEMORY.md", text or "")
    model = ScriptedModel(script=_Model())
    node = ConsolidationNode(policy(background=False), workspace, model)
    state: dict[str, Any] = {"messages": [HumanMessage("hi", id="h")]}
    times = []
    for number in range(runs):
        append_entry(files, datetime.now(UTC), f"- New fact {number}.")
        times.append(timed(lambda: node.invoke(state)))
    kept = files.read_text("MEMORY.md") or ""
    assert f"New fact {runs - 1}." in kept, "a consolidation was refused: nothing was measured"
    return times


def redaction_times(kilobytes: int, runs: int) -> list[float]:
    """Redact a text without secrets, of which every pattern has to make sure."""
    text = (_WORDS.format(1, 2) + " x=1 https://a.b/c?d=e#f f-g h.i\n") * 20 * kilobytes
    return [timed(lambda: redact_secrets(text[: kilobytes * 1_000])) for _ in range(runs)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="calls of one thread")
    parser.add_argument("--entries", type=int, default=300, help="entries of MEMORY.md")
    parser.add_argument("--store", action="store_true", help="a store in memory instead of files")
    arguments = parser.parse_args()
    calls, entries = arguments.calls, arguments.entries
    table = Table("what", "runs", "median ms", "p95 ms", title="Writing memory, model time apart")
    with tempfile.TemporaryDirectory() as folder:
        workspace: Workspace = LocalWorkspace(folder)
        if arguments.store:
            workspace = StoreWorkspace(InMemoryStore(), ("memory",))
        rows = {
            "flush, left to the background": flush_times(workspace, calls, background=True),
            "flush, at once": flush_times(workspace, calls, background=False),
            f"consolidation into {entries} entries": consolidation_times(
                workspace, entries, max(2, calls // 10)
            ),
            "redaction of 100 KB": redaction_times(100, max(2, calls // 40)),
        }
    for name, times in rows.items():
        p95 = statistics.quantiles(times, n=20)[-1]
        table.add_row(name, str(len(times)), f"{statistics.median(times):.2f}", f"{p95:.2f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
