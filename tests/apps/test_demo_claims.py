"""The claims of the demo: each of them can fail."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AnyMessage, ToolMessage

from longthread.apps.demo.expectations import expectations, ran_once, repeated
from longthread.apps.demo.performance import Outcome
from longthread.apps.demo.places import Places
from longthread.apps.demo.project import build_project
from longthread.apps.demo.run_log import RunLog, ToolRun
from longthread.apps.demo.tally import Tally


def test_no_claim_holds_when_nothing_has_happened(tmp_path: Path) -> None:
    places = Places(tmp_path)
    truth = build_project(places.project, seed=3)
    outcome = Outcome(error="RuntimeError: stopped")

    claims = expectations(places, truth, Tally("nightly"), outcome)

    assert [claim.claim for claim in claims if claim.holds] == []
    assert claims[0].claim.endswith("but: RuntimeError: stopped")
    assert "but not recall, eviction, masking" in claims[1].claim


def started(call: str) -> ToolRun:
    return ToolRun(call, "run_check", pid=1, state="started")


def finished(call: str) -> ToolRun:
    return ToolRun(call, "run_check", pid=1, state="finished")


def results(*calls: str) -> list[AnyMessage]:
    return [ToolMessage("done", tool_call_id=call) for call in calls]


WHOLE = [started("a"), finished("a"), started("b"), finished("b")]


@pytest.mark.parametrize(
    ("runs", "answered"),
    [
        ([], []),
        ([*WHOLE, started("a"), finished("a")], ["a", "b"]),
        ([*WHOLE, started("a")], ["a", "b"]),
        ([*WHOLE, started("c")], ["a", "b", "c"]),
        (WHOLE, ["a"]),
        (WHOLE, ["a", "b", "b"]),
    ],
    ids=["nothing ran", "ran twice", "began twice", "never ended", "result lost", "result twice"],
)
def test_a_call_that_did_not_run_exactly_once_is_noticed(
    runs: list[ToolRun], answered: list[str]
) -> None:
    assert not ran_once(runs, results(*answered), held="held")


def test_only_the_call_that_the_kill_interrupted_may_begin_twice() -> None:
    runs = [*WHOLE, started("held"), started("held"), finished("held")]

    assert ran_once(runs, results("a", "b", "held"), held="held")
    assert not ran_once(runs, results("a", "b", "held"), held="a")


def test_a_fact_that_stands_twice_in_the_ledger_is_noticed() -> None:
    assert repeated("# day\n- one\n- two\n") == []
    assert repeated("- one\n- two\n- one\n") == ["one"]


def test_a_call_that_raises_is_logged_as_started_only(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "log.jsonl")

    with log.running("a", "run_check"):
        pass
    with pytest.raises(KeyError), log.running("b", "run_check"):
        raise KeyError

    assert [(run.call, run.state) for run in log.runs()] == [
        ("a", "started"),
        ("a", "finished"),
        ("b", "started"),
    ]
