"""What the demo looks like, and the project that it is played on."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from longthread.apps.demo.live_view import LiveView, frame
from longthread.apps.demo.plain_view import PlainView
from longthread.apps.demo.project import LOG, build_project, task_text
from longthread.apps.demo.regression import check_source
from longthread.apps.demo.story import line_of
from longthread.apps.demo.tally import NODES, Tally
from longthread.apps.demo.tools import run_checks

PRICED = {"tokens": 900, "cached": 0, "output": 20, "cost": 1225.0}
WHOLE = {"tokens": 30_000, "cached": 0, "output": 20, "cost": 37_600.0}


def events() -> Iterator[dict[str, Any]]:
    context = {
        "parts": {"system": 40, "tools": 700, "reference": 60, "summary": 200, "messages": 4_000},
        "masked": 5_000,
        "evicted": 31_000,
        "tokens": 5_000,
        "window": 10_000,
        "believed": 16_000,
        "journal": 30,
        "shown": 12,
        "summarised": 18,
    }
    here = {"pid": 4_711, "thread": "nightly"}
    yield {"kind": "note", "text": "it begins"}
    yield {"kind": "node", "node": "masking", "why": "it pays: 1", "context": context, **here}
    yield {"kind": "node", "node": "masking", "why": "it pays: 22", "context": None, **here}
    facts = {"type": "masking", "tokens_before": 5_000, "tokens_freed": 900}
    yield {"kind": "event", "facts": facts, **here}
    request = {"kind": "request", "said": "I look.", "calls": ["list_files"], **here}
    yield {**request, "purpose": "agent", "refused": False, "taken": PRICED, "whole": WHOLE}
    yield {**request, "purpose": "flush", "refused": False, "taken": PRICED, "whole": None}
    refused = {**PRICED, "tokens": 11_000}
    yield {**request, "purpose": "agent", "refused": True, "taken": refused, "whole": None}
    other = {**request, "thread": "monday", "purpose": "agent", "refused": False}
    yield {**other, "taken": PRICED, "whole": WHOLE}


@pytest.fixture
def tally() -> Tally:
    tally = Tally("nightly")
    for event in events():
        tally.add(event)
    return tally


def test_the_tally_counts_the_thread_that_is_compared(tally: Tally) -> None:
    assert (tally.managed.requests, tally.managed.summaries) == (1, 1)
    assert (tally.managed.tokens, tally.unmanaged.tokens) == (1_800, 30_000)
    assert (tally.refused, tally.sent) == ([11_000], [900])
    assert tally.visits == {"masking": 2}
    assert list(tally.reasons["masking"].values()) == ["it pays: 1"]


@pytest.mark.parametrize("width", [80, 100])
def test_a_frame_shows_every_part_and_fits(tally: Tally, width: int) -> None:
    console = Console(file=io.StringIO(), width=width, record=True)
    lines = [line for event in events() if (line := line_of(event))]

    console.print(frame(tally, lines, width))

    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    for node in NODES:
        assert node in text
    for shown in ("messages 4,000", "summary 200", "masked 5,000", "evicted 31,000", "┃", "»"):
        assert shown in text
    assert "5,000 of 10,000 tokens (not 16,000)" in text
    assert len(text.splitlines()) <= 24


def test_an_empty_frame_can_be_drawn() -> None:
    console = Console(file=io.StringIO(), width=100, record=True)

    console.print(frame(Tally("nightly"), []))

    assert "starting the first process" in console.export_text()


def test_the_live_view_ends_with_its_last_picture(tally: Tally) -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, _environ={"TERM": "xterm"})

    with LiveView(console, tally, pace=0) as view:
        for event in events():
            view.show(event)

    assert "it begins" in output.getvalue()


def test_plain_lines_say_who_did_what(tally: Tally) -> None:
    output = io.StringIO()

    with PlainView(Console(file=output, width=100), tally, pace=0) as view:
        for event in events():
            view.show(event)

    lines = output.getvalue().splitlines()
    assert lines[0] == "  5,000           demo  it begins"
    assert "  5,000        masking    → 5,000 tokens before, 900 fewer now" in lines
    assert any("400 context_length_exceeded: 11,000 tokens" in line for line in lines)
    assert "\x1b" not in output.getvalue()


def test_the_project_differs_by_seed_and_fails_its_checks_in_order(tmp_path: Path) -> None:
    truths = [build_project(tmp_path / str(seed), seed) for seed in (1, 2)]

    assert truths[0] != truths[1]
    assert all(truth.cents > 0 for truth in truths)
    assert truths[0].tag in task_text(truths[0])
    assert truths[0].incident not in task_text(truths[0])
    log = (tmp_path / "1" / LOG).read_text(encoding="utf-8")
    line = int(log.partition("at line ")[2].split("\n")[0])
    assert truths[0].incident in log.splitlines()[line - 1]
    failed = run_checks(tmp_path / "1").splitlines()
    assert failed[0] == "FAIL harbor/tax.py: does not round as the contract says"
    assert failed[1].startswith("FAIL harbor/deposits.py: 1 constant is a float")
    assert failed[-1] == "20 failed"


@pytest.mark.parametrize(("mode", "right"), [("ROUND_HALF_DOWN", True), ("ROUND_HALF_UP", False)])
def test_a_regression_check_fails_if_its_rounding_is_wrong(
    tmp_path: Path, mode: str, right: bool
) -> None:
    project = tmp_path / "p"
    truth = build_project(project, 7)
    assert truth.rounding == "ROUND_HALF_DOWN"
    tax = project / "harbor" / "tax.py"
    repaired = tax.read_text("utf-8").replace("=ROUND_HALF_UP", "='ROUND_HALF_DOWN'")
    tax.write_text(repaired, "utf-8")
    path, problem = "checks/check_fees.py", "missing, at least 80 cases (RATE is 0.125)"
    fees = project / "harbor" / "fees.py"
    rate = fees.read_text("utf-8").partition("RATE = ")[2].split()[0]
    mended = fees.read_text("utf-8").replace(f"RATE = {rate}", 'RATE = Decimal("0.125")')
    fees.write_text(mended, "utf-8")
    (project / path).write_text(check_source(path, problem, mode, "E-1", "H-1"), "utf-8")

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "checks/run.py"],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
    )

    assert ("FAIL checks/check_fees.py: wrong amount" not in done.stdout) is right
    assert "checks/check_tips.py: missing" in done.stdout
