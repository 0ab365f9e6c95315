"""The tables of docs/measurements.md come from the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longthread.benchmarks import docs_tables
from longthread.benchmarks.suite.facts import facts
from longthread.benchmarks.suite.parts import PARTS
from longthread.benchmarks.suite.report import document
from longthread.benchmarks.suite.result import Figure, Result, Table

PAGE = """# Page

<!-- benchmarks: cost, run -->
<!-- /benchmarks -->

<!-- benchmarks: cost, targets -->
old
<!-- /benchmarks -->
Text with <!-- a comment -->.
<!-- benchmarks: cost, Cost against -->
| old |
<!-- /benchmarks -->
<!-- benchmarks: steps, anything -->
kept
<!-- /benchmarks -->
"""


def report() -> dict[str, Any]:
    table = Table("Cost against everything", ["", "a"], [["longthread", 0.5]])
    result = Result("cost", "Cost", [Figure("ratio", 0.7, at_most=0.75)], [table])
    command = "python -m benchmarks cost --recorded /a/b/one.jsonl --out /tmp/x --full"
    return document([result], facts(), command)


def test_marked_tables_are_replaced_and_all_else_is_kept() -> None:
    text = docs_tables.refreshed(PAGE, report())
    assert "| longthread | 0.500 |" in text
    assert "| ratio | 0.700 | ≤ 0.75 | met |" in text
    assert "    python -m benchmarks cost --recorded one.jsonl --full\n" in text
    assert "old" not in text
    assert "<!-- benchmarks: steps, anything -->\nkept\n" in text
    assert "Text with <!-- a comment -->." in text
    assert docs_tables.refreshed(text, report()) == text


def test_a_table_that_the_report_does_not_have_is_named() -> None:
    with pytest.raises(LookupError, match="Nothing"):
        docs_tables.refreshed(PAGE.replace("Cost against", "Nothing"), report())


def test_the_page_and_its_pictures_are_written(tmp_path: Path, capsys: Any) -> None:
    docs, results = tmp_path / "docs", tmp_path / "results"
    (docs / "images").mkdir(parents=True)
    results.mkdir()
    (docs / "measurements.md").write_text(PAGE, encoding="utf-8")
    (results / "benchmarks.json").write_text(json.dumps(report()), encoding="utf-8")
    (results / "cost.png").write_bytes(b"picture")
    docs_tables.main([str(results), "--docs", str(docs)])
    assert "| longthread | 0.500 |" in (docs / "measurements.md").read_text(encoding="utf-8")
    assert (docs / "images/cost.png").read_bytes() == b"picture"
    assert "4 tables" in capsys.readouterr().out


def test_every_marked_table_of_the_page_belongs_to_a_part() -> None:
    marked = docs_tables.marked((docs_tables.DOCS / "measurements.md").read_text(encoding="utf-8"))
    assert {part for part, _ in marked} >= {"cost", "seeds", "steps"}
    assert {part for part, _ in marked} <= set(PARTS)


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}"])
def test_a_folder_without_a_report_is_named_and_the_page_is_kept(
    content: str | None, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "measurements.md").write_text(PAGE, encoding="utf-8")
    if content is not None:
        (tmp_path / "benchmarks.json").write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit):
        docs_tables.main([str(tmp_path), "--docs", str(tmp_path)])
    assert str(tmp_path / "benchmarks.json") in capsys.readouterr().err
    assert (tmp_path / "measurements.md").read_text(encoding="utf-8") == PAGE


def test_a_part_that_failed_does_not_empty_its_table() -> None:
    failed = document([Result("cost", "Cost", notes=["Failed: no room"])], facts(), "")
    with pytest.raises(LookupError, match="no room"):
        docs_tables.refreshed("<!-- benchmarks: cost, targets -->\nx\n<!-- /benchmarks -->", failed)


def test_folders_are_shortened_however_the_command_names_them() -> None:
    given = "python -m benchmarks '--out=/tmp/x y' cost --recorded '/a b/c d/' --out '/tmp/x y'"
    report = document([], facts(), f"{given} --full")
    text = docs_tables.refreshed(
        "<!-- benchmarks: cost, run -->\n<!-- /benchmarks -->",
        {**report, "parts": [{"part": "cost"}]},
    )
    assert "    python -m benchmarks cost --recorded 'c d' --full\n" in text
