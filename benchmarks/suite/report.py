"""Results as one Markdown document and one JSON document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longthread.stores.local.files import atomic_write

from .result import Cell, Figure, Result, Table

__all__ = ["document", "figures_table", "markdown", "result_markdown", "table_lines", "write"]


def markdown(results: Sequence[Result], facts: Mapping[str, Any], command: str) -> str:
    """Return the report: the figures with targets first, then part by part."""
    versions = ", ".join(f"{name} {v or 'not installed'}" for name, v in facts["versions"].items())
    load = facts["load"]
    machine = (
        f"{facts['cpu']}, {facts['cores']} cores"
        + (f", load {load[0]:g}" if load else "")
        + f"; {facts['system']}, Python {facts['python']}; {facts['date']}"
    )
    head = [
        "# Benchmarks",
        f"    {command}",
        f"{machine}. Tokens counted by {facts['tokens']}. Times compare within one run alone.",
        f"Versions: {versions}.",
    ]
    every = [figure for result in results for figure in result.figures]
    parts = [_targets(every)] if every else []
    return "\n\n".join([*head, *parts, *map(result_markdown, results)]) + "\n"


def figures_table(figures: Sequence[Figure]) -> Table:
    """Return figures as a table: value, target, and whether it is met."""
    rows: list[list[Cell]] = [
        [figure.name, _figure(figure), figure.target, figure.verdict, figure.note]
        for figure in figures
    ]
    return Table("Figures and targets", ["figure", "measured", "target", "", "note"], rows)


def _targets(figures: Sequence[Figure]) -> str:
    text = _table(figures_table(figures))
    if any(not figure.official for figure in figures):
        text += "\n\nIn brackets: the run was smaller than what the target is about."
    return text


def result_markdown(result: Result) -> str:
    """Return one part: its tables, and what to read beside them."""
    took = f" ({result.seconds:.0f} s)" if result.seconds else ""
    notes = "\n".join(f"- {note}" for note in result.notes)
    tables = [_table(table) for table in result.tables]
    return "\n\n".join(filter(None, [f"## {result.title}{took}", *tables, notes]))


def document(results: Sequence[Result], facts: Mapping[str, Any], command: str) -> dict[str, Any]:
    """Return the report in JSON types."""
    return {
        "command": command,
        "facts": dict(facts),
        "parts": [
            {
                "part": result.part,
                "title": result.title,
                "seconds": round(result.seconds, 1),
                "figures": [
                    {**asdict(figure), "target": figure.target, "passed": figure.passed}
                    for figure in result.figures
                ],
                "tables": [asdict(table) for table in result.tables],
                "notes": result.notes,
                "data": result.data,
            }
            for result in results
        ],
    }


def write(
    folder: Path, results: Sequence[Result], facts: Mapping[str, Any], command: str, *, plot: bool
) -> list[Path]:
    """Write the report into a folder, with its plots; returns the files.

    Each document is replaced as a whole: whoever stops the run finds the one before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    report, data = folder / "benchmarks.md", folder / "benchmarks.json"
    atomic_write(str(report), markdown(results, facts, command).encode())
    text = json.dumps(document(results, facts, command), indent=2, ensure_ascii=False)
    atomic_write(str(data), f"{text}\n".encode())
    written = [report, data]
    for result in results if plot else ():
        for name, draw in result.plots.items():
            draw(folder / name)
            written.append(folder / name)
    return written


def table_lines(table: Table) -> list[str]:
    """Return a table in Markdown, without its title."""
    rows = [_line([_cell(cell) for cell in row]) for row in table.rows]
    return [_line(table.columns), "|---" * len(table.columns) + "|", *rows]


def _table(table: Table) -> str:
    return "\n".join([f"**{table.title}**", "", *table_lines(table)])


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return (
        f"{cell:,.0f}"
        if abs(cell) >= 1_000
        else f"{cell:.3g}"
        if abs(cell) >= 10
        else (f"{cell:.3f}")
    )


def _figure(figure: Figure) -> str:
    unit = f" {figure.unit}" if figure.unit else ""
    value = figure.value
    whole = int(value) if value is not None and value == int(value) and abs(value) >= 2 else value
    return f"{_cell(0 if value == 0 else whole)}{unit}"
