"""What lies where in the house."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LEFTOVERS = {"base", "bases", "common", "helper", "helpers", "misc", "util", "utils"}
MOST_LINES = 350


def test_every_package_folder_is_listed_and_has_an_init(
    root: Path, package_files: list[Path], project: Mapping[str, Any]
) -> None:
    folders = {path.parent for path in package_files}
    dotted = {".".join(("longthread", *folder.parts)) for folder in folders}
    assert dotted == set(project["tool"]["setuptools"]["packages"])
    without = [str(folder) for folder in folders if not (root / folder / "__init__.py").is_file()]
    assert not without


def test_the_root_holds_no_module_but_the_face(package_files: list[Path]) -> None:
    at_the_root = {path.name for path in package_files if len(path.parts) == 1}
    assert at_the_root == {"__init__.py", "py.typed"}


def test_no_file_is_a_drawer_of_leftovers(source_files: list[Path]) -> None:
    drawers = [
        path.as_posix()
        for path in source_files
        if path.suffix == ".py" and path.stem.strip("_").lower() in LEFTOVERS
    ]
    assert not drawers, f"name the file for its subject: {drawers}"


def test_every_file_has_one_subject(root: Path, package_files: list[Path]) -> None:
    lines = {
        path.as_posix(): len((root / path).read_text(encoding="utf-8").splitlines())
        for path in package_files
        if path.suffix == ".py"
    }
    too_long = {path: count for path, count in lines.items() if count > MOST_LINES}
    assert not too_long, (
        f"over {MOST_LINES} lines: {too_long}. A file that long has two subjects: split it."
    )


def test_tests_are_no_package_and_the_root_has_no_conftest(source_files: list[Path]) -> None:
    assert Path("conftest.py") not in source_files
    packages = [p for p in source_files if p.parts[0] == "tests" and p.name == "__init__.py"]
    assert not packages


def test_type_checkers_find_the_package_through_a_link(
    root: Path, source_files: list[Path]
) -> None:
    link = Path(".typing/longthread")
    assert link in source_files
    assert (root / link).is_symlink()
    assert os.readlink(root / link) == ".."
    assert (root / link).resolve() == root
