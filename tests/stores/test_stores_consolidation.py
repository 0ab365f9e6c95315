"""A slow consolidation beside three processes that save: on the disk and in every store alike."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

from agents import Scripted
from langchain_core.messages import BaseMessage
from memory_desk import between
from workspaces import Shared

from longthread import MemoryConfig
from longthread.nodes.maintenance import Maintenance
from longthread.nodes.node import Run, drive
from longthread.state.policy import ContextPolicy
from longthread.stores.memory.ledger import append_entry, read_entries
from longthread.stores.memory.undo import undo_consolidation

MOMENT = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
COUNT = 8
SAVES = f"""
import sys
from datetime import datetime, timezone
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from longthread.stores.memory.memory_save import save_memory
from longthread.stores.workspace import Owner
from workspaces import opened_workspace

moment = datetime(2026, 3, 2, 14, 5, tzinfo=timezone.utc)
with opened_workspace(*sys.argv[1:4]) as workspace:
    view = workspace.scoped(Owner("ann", "coder"))
    for step in range({COUNT}):
        save_memory(view, f"Saved by {{sys.argv[4]}}: {{step}}.", moment)
"""


def saved_by_three_processes(shared: Shared) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", SAVES, *shared.arguments, str(number)])
        for number in range(3)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]


def test_what_three_processes_save_during_a_slow_consolidation_survives_it_and_its_undo(
    shared: Shared,
) -> None:
    files = shared.view
    old = "".join(f"- Fact {n}.\n" for n in range(5))
    files.write_text("MEMORY.md", old)
    append_entry(files, MOMENT, "- New.")

    def slowly(messages: list[BaseMessage]) -> str:
        if len(script.asked["memory"]) == 1:
            saved_by_three_processes(shared)
        prompt = str(messages[-1].content)
        lines = f"{between(prompt, 'memory')}\n{between(prompt, 'ledgers')}".split("\n")
        return "\n".join(dict.fromkeys(line for line in lines if line.startswith("- ")))

    script = Scripted(memory=slowly)
    maintenance = Maintenance(ContextPolicy(memory=MemoryConfig()), script.model)
    done = drive(maintenance.steps(files, MOMENT, 64_000, Run({}, None)))
    assert done.rewritten == ["MEMORY.md"]
    expected = {f"Saved by {w}: {n}." for w in range(3) for n in range(COUNT)}
    text = files.read_text("MEMORY.md") or ""
    assert [text.count(entry) for entry in expected] == [1] * len(expected)
    assert [text.count(f"- Fact {n}.") for n in range(5)] == [1] * 5
    assert text.count("- New. <!-- 2026-03-02 -->") == 1
    saved = [entry.body for entry in read_entries(files.read_text("memory/2026-03-02.md") or "")]
    assert sorted(saved) == sorted([*expected, "- New."])

    undo_consolidation(files, MOMENT)
    text = files.read_text("MEMORY.md") or ""
    assert text.startswith(old)
    assert "New." not in text
    assert [text.count(entry) for entry in expected] == [1] * len(expected)
