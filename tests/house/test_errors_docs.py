"""Every error that somebody may have to catch is public, and its code is explained."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import longthread
from longthread import LongthreadError

# Caught inside the package: what they say reaches a model, a log, a terminal or an HTTP client.
INSIDE = {"HttpError", "IndexUnavailable", "ReplayError", "SessionError", "ToolInputError"}


@pytest.fixture(scope="module")
def sources(root: Path, package_files: list[Path]) -> dict[str, str]:
    """Every module of the package, by its dotted name, with its text."""
    return {
        ".".join(("longthread", *path.with_suffix("").parts)): (root / path).read_text("utf-8")
        for path in package_files
        if path.suffix == ".py" and path.name != "__init__.py"
    }


def subclasses(of: type[LongthreadError]) -> set[type[LongthreadError]]:
    direct = set(of.__subclasses__())
    return direct.union(*map(subclasses, direct))


def test_every_error_that_a_caller_may_see_is_public(sources: dict[str, str]) -> None:
    for name, text in sources.items():
        if re.search(r"^class \w+\(.*Error\b.*\):", text, re.MULTILINE):
            importlib.import_module(name)
    ours = {c for c in subclasses(LongthreadError) if c.__module__.startswith("longthread.")}
    named = {c.__name__ for c in ours if ".tests." not in c.__module__} - INSIDE
    assert len(named) >= 10
    assert named - set(longthread.__all__) == set()


def test_every_code_is_explained(sources: dict[str, str], root: Path) -> None:
    text = (root / "docs/errors.md").read_text(encoding="utf-8")
    used = {
        code
        for source in sources.values()
        for code in re.findall(r"\bcode(?:: str)? ?= ?\"([A-Z_]+)\"", source)
    } - {"LONGTHREAD_ERROR", "SUMMARY_FAILED"}  # the base; an HTTP answer, see docs/http.md
    assert len(used) > 15
    assert [code for code in sorted(used) if f"`{code}`" not in text] == []
