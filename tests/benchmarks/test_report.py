"""The report: targets, verdicts, and the same figures in Markdown and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longthread.benchmarks import __main__ as command
from longthread.benchmarks.suite.facts import facts
from longthread.benchmarks.suite.parts import PARTS
from longthread.benchmarks.suite.report import markdown, write
from longthread.benchmarks.suite.result import Figure, Result, Table


@pytest.mark.parametrize(
    ("figure", "verdict", "target"),
    [
        (Figure("a", 0.7, at_most=0.75), "met", "≤ 0.75"),
        (Figure("a", 0.8, at_most=0.75), "missed", "≤ 0.75"),
        (Figure("a", 0.99, at_least=0.99), "met", "≥ 0.99"),
        (Figure("a", 0.98, at_least=0.99, official=False), "(missed)", "≥ 0.99"),
        (Figure("a", 9, "MB", at_most=8), "missed", "≤ 8 MB"),
        (Figure("a", None, at_most=8), "not measured", "≤ 8"),
        (Figure("a", 3.0), "", ""),
    ],
)
def test_a_figure_is_held_to_its_target(figure: Figure, verdict: str, target: str) -> None:
    assert (figure.verdict, figure.target) == (verdict, target)


def test_a_report_names_the_machine_and_the_versions() -> None:
    text = markdown([], facts(), "python -m benchmarks")
    for needed in ("cores", "Python 3", "langgraph 1", "deepagents", "langmem", "load"):
        assert needed in text


def test_a_report_is_written_as_markdown_and_json(tmp_path: Path) -> None:
    table = Table("T", ["a", "b", "c"], [["x|y", 12_345, None], ["z", 0.12345, 2_345.6]])
    result = Result("cost", "Cost", [Figure("f", 0.5, at_most=1)], [table], ["a note"])
    report, data = write(tmp_path / "new", [result], facts(), "python -m benchmarks", plot=True)
    text = report.read_text(encoding="utf-8")
    assert "| x\\|y | 12,345 | – |" in text
    assert "| z | 0.123 | 2,346 |" in text
    assert "| f | 0.500 | ≤ 1 | met |" in text
    (part,) = json.loads(data.read_text(encoding="utf-8"))["parts"]
    assert part["figures"][0]["passed"] is True
    assert part["tables"][0]["rows"][1] == ["z", 0.12345, 2_345.6]


def test_an_unknown_part_is_refused_with_the_known_ones(capsys: Any) -> None:
    with pytest.raises(SystemExit):
        command.main(["costs"])
    said = capsys.readouterr().err
    assert "costs" in said
    assert all(part in said for part in PARTS)
