"""Filling prompt templates by plain replacement of their exact placeholders."""

from __future__ import annotations

import re

__all__ = ["fill", "fill_numbers"]


def fill(template: str, **values: str | int) -> str:
    """Replace `{name}` for each given name, in one pass: braces in the values are left alone."""
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: str(values[match[1]]), template)


def fill_numbers(template: str, *numbers: int) -> str:
    """Replace each `%d` in order; every other percent sign is left alone."""
    rest = iter(numbers)
    return re.sub("%d", lambda match: str(next(rest, match[0])), template)
