"""Every notebook runs from top to bottom, offline, and is committed with small outputs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# Python imports this by itself in the kernel, which talks to the notebook over local sockets.
OFFLINE = """
import os, sys

def _refuse(event, args):
    host = {"socket.getaddrinfo": lambda: args[0], "socket.gethostbyname": lambda: args[0]}
    asked = host[event]() if event in host else None
    if asked and asked != "localhost" and not str(asked).startswith(("127.", "::1")):
        sys.stderr.write(f"reached for the network: {event} {args!r}")
        sys.stderr.flush()
        os._exit(13)

sys.addaudithook(_refuse)
"""


@pytest.fixture(scope="module")
def run() -> Any:
    """The script that runs them."""
    spec = importlib.util.spec_from_file_location("run_notebooks", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(
    notebook: Path, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(OFFLINE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    kept = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    shown = [kinds_of(cell) for cell in run.executed(notebook, tmp_path).cells]
    assert shown == [kinds_of(cell) for cell in kept], "run: python notebooks/run.py"


def kinds_of(cell: Any) -> list[list[str]]:
    """What a cell shows, without the figures: some are another each time."""
    return [sorted(output.get("data", ["text"])) for output in cell.get("outputs", ())]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_printed(notebook: Path) -> None:
    assert notebook.stat().st_size < 200_000
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
    assert not any("/tmp/wt" in json.dumps(cell.get("outputs", [])) for cell in cells)
    errors = [o for cell in cells for o in cell.get("outputs", []) if o["output_type"] == "error"]
    assert errors == []
