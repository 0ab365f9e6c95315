"""What every part of the suite hands back: tables, and figures with their targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Cell", "Figure", "Result", "Table"]

Cell = str | int | float | None
"""One field of a table. Floats are shown with as many digits as they need; None is a dash."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that matters.

    Attributes:
        name: What was measured.
        value: The number; None if it could not be measured, with the reason in `note`.
        unit: What it counts; "" for a ratio or a share.
        at_most: The target, if it is an upper bound.
        at_least: The target, if it is a lower bound.
        official: False: the run was too small for the target to mean anything.
        note: What a reader has to know.
    """

    name: str
    value: float | None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    official: bool = True
    note: str = ""

    @property
    def target(self) -> str:
        """The target in words; "" without one."""
        unit = f" {self.unit}" if self.unit else ""
        if self.at_most is not None:
            return f"≤ {self.at_most:g}{unit}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}{unit}"

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None without a target or a value."""
        if self.value is None:
            return None
        if self.at_most is not None:
            return self.value <= self.at_most
        return None if self.at_least is None else self.value >= self.at_least

    @property
    def verdict(self) -> str:
        """`met`, `missed`, in brackets if the run was too small to say; "" without a target."""
        if self.passed is None:
            return "not measured" if self.target and self.value is None else ""
        word = "met" if self.passed else "missed"
        return word if self.official else f"({word})"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a title.

    Attributes:
        title: What the table shows.
        columns: Their names; the first column names the row.
        rows: As many cells each as there are columns.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(slots=True)
class Result:
    """What one part found.

    Attributes:
        part: Its name on the command line.
        title: Its heading.
        figures: The numbers that count, with their targets.
        tables: All the rest.
        notes: Sentences to read beside them: settings, what is missing and how to get it.
        data: More for programs: JSON types.
        plots: Functions that draw, by file name; each gets the path.
        seconds: How long the part took.
    """

    part: str
    title: str
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    plots: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
