"""What the tests of the house share: the clone that they run in, and interpreters of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_SHIPPED = {"tests", "benchmarks", "docs", "notebooks"}


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the clone."""
    return ROOT


@pytest.fixture(scope="session")
def project() -> Mapping[str, Any]:
    """`pyproject.toml`, parsed."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def source_files() -> list[Path]:
    """Every file that git tracks or would add, relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = sorted(set(filter(None, listed.split("\0"))))
    return [Path(name) for name in names if os.path.lexists(ROOT / name)]


@pytest.fixture(scope="session")
def package_files(source_files: list[Path]) -> list[Path]:
    """What the package is made of, relative to the root: its folders and the root's own modules."""
    return [
        path
        for path in source_files
        if (
            path.suffix == ".py" or path.name == "py.typed"
            if len(path.parts) == 1
            else path.parts[0] not in NOT_SHIPPED and not path.parts[0].startswith(".")
        )
    ]


@pytest.fixture(scope="session")
def clone_as(
    source_files: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Copy the source files into a new folder of the given name, links as links."""

    def copy(name: str) -> Path:
        clone = tmp_path_factory.mktemp("clone") / name
        for path in source_files:
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, clone / path, follow_symlinks=False)
        return clone

    return copy


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """Run a Python with these arguments and return what it printed; show it all if that fails.

    Keyword arguments are `cwd`, and where needed `python` (the running one) and `env` (added to an
    environment without keys and without pytest's and Python's own variables).
    """

    def run(
        *arguments: str | Path,
        cwd: Path,
        python: str | Path = sys.executable,
        env: Mapping[str, str] | None = None,
    ) -> str:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST", "PYTHON", "MYPY")) and not name.endswith("_API_KEY")
        }
        done = subprocess.run(
            [python, *arguments],
            cwd=cwd,
            env={**inherited, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, (
            f"exit code {done.returncode} in {cwd}: {' '.join(map(str, arguments))}\n"
            f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        )
        return done.stdout

    return run


@pytest.fixture(scope="session")
def no_network() -> str:
    """Code to put before a script: it ends the process with 13 when it reaches for the network."""
    return """
import os, sys

def _refuse(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        sys.stderr.write(f"reached for the network: {event} {args!r}")
        sys.stderr.flush()
        os._exit(13)

sys.addaudithook(_refuse)
"""
