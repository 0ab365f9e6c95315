"""Every benchmark still runs, with a setting so small that its figures mean nothing."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

TINY: dict[str, list[str]] = {
    "checkpoint_bytes": [],
    "compaction_constants": ["--kinds", "coding", "--tokens", "2000"],
    "eviction_constants": ["--kinds", "coding", "--tokens", "2000"],
    "masking_constants": ["--kinds", "service", "--tokens", "600"],
    "opening": ["--lengths", "8", "--batch", "4", "--repeat", "1", "--unsealed"],
    "memory_writing": ["--calls", "4", "--entries", "5"],
    "memory_search": ["--megabytes", "0.1", "--days", "20", "--repeat", "1"],
    "sessions": ["{folder}", "--kinds", "research", "--seeds", "3", "--tokens", "2000"],
    "step_time": ["--lengths", "4", "--steps", "2", "--repeat", "1"],
    "thread_search": ["--threads", "2", "--messages", "4", "--queries", "3"],
    "token_counting": [],
}


def benchmark(name: str) -> Any:
    return importlib.import_module(f"longthread.benchmarks.{name}")


def test_every_benchmark_with_a_command_is_run_here(root: Path) -> None:
    others = {"__main__", "docs_tables"}  # the suite and its page have tests of their own
    names = {path.stem for path in (root / "benchmarks").glob("*.py")} - others
    assert {name for name in names if hasattr(benchmark(name), "main")} == set(TINY)


@pytest.mark.parametrize("name", TINY)
def test_a_benchmark_prints_its_table(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    arguments = [argument.replace("{folder}", str(tmp_path)) for argument in TINY[name]]
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    benchmark(name).main()
    assert capsys.readouterr().out


@pytest.mark.parametrize("part", list(benchmark("suite.parts").PARTS))
def test_a_part_of_the_suite_reports_figures_and_tables(
    part: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / "results"
    benchmark("__main__").main([part, "--tiny", "--plot", "--out", str(folder)])
    report = json.loads((folder / "benchmarks.json").read_text(encoding="utf-8"))
    (result,) = report["parts"]
    assert result["part"] == part
    assert result["tables"]
    assert result["figures"]
    assert not any(figure["official"] for figure in result["figures"])
    assert (folder / "benchmarks.md").read_text(encoding="utf-8") in capsys.readouterr().out
    assert all(path.stat().st_size > 10_000 for path in folder.glob("*.png"))


@pytest.mark.parametrize("kind", ["coding", "service", "research"])
def test_a_generated_session_is_the_same_for_the_same_seed(kind: str) -> None:
    make = benchmark("sessions").session_messages
    first, again = (json.dumps(make(kind, seed=7, tokens=3_000)) for _ in range(2))
    assert first == again
    assert first != json.dumps(make(kind, seed=8, tokens=3_000))


def test_grounding_counts_what_was_shown_and_is_gone() -> None:
    from langchain_core.messages import AIMessage, HumanMessage

    grounding = benchmark("grounding").Grounding(tools=["read_file"])
    shown = HumanMessage("Order W1234567 of ada@example.com is in src/billing/invoice_store.py.")
    grounding.show([shown])
    answer = AIMessage(
        "", tool_calls=[{"name": "read_file", "args": {"id": "W1234567"}, "id": "1"}]
    )
    assert grounding.ask([shown], answer).missing == frozenset()
    assert grounding.ask([HumanMessage("a summary")], answer).missing == {"W1234567"}
    made_up = AIMessage("I will write src/new_module.py.")
    assert grounding.ask([], made_up).used == frozenset()
    assert grounding.share == 0.5
