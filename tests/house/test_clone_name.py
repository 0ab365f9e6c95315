"""A clone may have any name: the folder is the package, but its name is not the package's."""

from __future__ import annotations

import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

PROBE = """
import sys
from pathlib import Path

import longthread
from longthread.state.errors import LongthreadError

CLONE = Path(__file__).resolve().parents[1]


async def test_probe():
    assert Path(longthread.__file__).resolve() == CLONE / "__init__.py"
    assert sys.modules[LongthreadError.__module__].__name__ == "longthread.state.errors"
    assert CLONE.name not in sys.modules
"""

TYPED_PROBE = """
from typing import assert_type

from longthread.state.errors import LongthreadError

assert_type(LongthreadError.code, str)
"""


def editable_environment(clone: Path, run_python: Callable[..., str]) -> Path:
    """A new virtual environment with `clone` installed in it as `pip install -e` does.

    Returns its interpreter. Dependencies are those of the running environment; its own editable
    install of the package is not seen.
    """
    home = clone.parent / "environment"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run_python("-c", script, cwd=home, python=python).strip())
    running = [path for path in sys.path if Path(path).name.endswith("-packages")]
    (site / "running.pth").write_text("\n".join(running), encoding="utf-8")

    script = f"from setuptools import build_meta; build_meta.build_editable({str(home)!r})"
    run_python("-c", script, cwd=clone)
    (wheel,) = home.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return python


@pytest.mark.parametrize("name", ["my-clone", "1"])
def test_pytest_and_mypy_work_in_a_clone_called(
    name: str, clone_as: Callable[[str], Path], run_python: Callable[..., str]
) -> None:
    clone = clone_as(name)
    python = editable_environment(clone, run_python)

    # Every test module is collected, so that each has been imported in a clone of this name.
    (clone / "tests" / "test_clone_probe.py").write_text(PROBE, encoding="utf-8")
    options = ["-p", "no:cacheprovider", "-q", "-k", "test_clone_probe"]
    assert "1 passed" in run_python("-m", "pytest", *options, cwd=clone, python=python)

    (clone / "tests" / "typed_probe.py").write_text(TYPED_PROBE, encoding="utf-8")
    only = ["--follow-imports=skip", "--cache-dir", clone.parent / "mypy"]
    checked = ["longthread", "longthread.state.errors", "longthread.tests.typed_probe"]
    named = [word for each in checked for word in ("-m", each)]
    run_python("-m", "mypy", *only, *named, cwd=clone, python=python)
