"""What is built from the clone, and what somebody who installs it gets."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

IMPORT_EVERYTHING = """
import importlib, json, pathlib, sys

target = pathlib.Path(sys.argv[1]).resolve()
names = []
for path in sorted((target / "longthread").rglob("*.py")):
    parts = path.relative_to(target).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    module = importlib.import_module(name)
    assert pathlib.Path(module.__file__).resolve() == path, (name, module.__file__)
    names.append(name)
print(json.dumps(names))
"""


@pytest.fixture(scope="module")
def archives(
    clone_as: Callable[[str], Path],
    run_python: Callable[..., str],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, Path]:
    """The wheel and the sdist that it is built from, made from a clean copy of the clone."""
    built = tmp_path_factory.mktemp("dist")
    clone = clone_as("longthread")
    run_python("-m", "build", "--no-isolation", "--outdir", built, cwd=clone)
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    return wheel, sdist


def test_the_wheel_holds_the_package_and_nothing_else(
    archives: tuple[Path, Path], package_files: list[Path]
) -> None:
    with zipfile.ZipFile(archives[0]) as wheel:
        shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = {name.partition(".dist-info/")[2] for name in wheel.namelist()}
    assert shipped == {f"longthread/{path.as_posix()}" for path in package_files}
    assert "longthread/py.typed" in shipped
    assert {"METADATA", "entry_points.txt", "licenses/LICENSE"} <= metadata


def test_the_sdist_holds_the_package_and_what_explains_it(
    archives: tuple[Path, Path], package_files: list[Path]
) -> None:
    with tarfile.open(archives[1]) as sdist:
        shipped = {name.partition("/")[2] for name in sdist.getnames()}
    explained = {"LICENSE", "README.md", "pyproject.toml"}
    assert {path.as_posix() for path in package_files} | explained <= shipped
    assert not {name for name in shipped if name.startswith(("notebooks/", "benchmarks/", ".ci"))}


def test_every_module_of_the_installed_wheel_can_be_imported(
    archives: tuple[Path, Path],
    project: Mapping[str, Any],
    run_python: Callable[..., str],
    tmp_path: Path,
) -> None:
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", site, archives[0]]
    run_python("-m", "pip", *install, cwd=elsewhere)

    arguments = ["-W", "error", "-c", IMPORT_EVERYTHING, site]
    output = run_python(*arguments, cwd=elsewhere, env={"PYTHONPATH": str(site)})

    assert set(project["tool"]["setuptools"]["packages"]) <= set(json.loads(output))
