"""Every notebook runs from top to bottom, offline, and is committed with small outputs."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 6


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the notebook tools are not ours
        import nbformat
        from nbclient import NotebookClient

        cells = nbformat.reads(  # type: ignore[no-untyped-call]
            notebook.read_text(encoding="utf-8"), as_version=4
        )
        where = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(cells, timeout=120, kernel_name="python3", resources=where).execute()
    errors = [
        o for cell in cells.cells for o in cell.get("outputs", []) if o["output_type"] == "error"
    ]
    assert errors == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_printed(notebook: Path) -> None:
    assert notebook.stat().st_size < 200_000
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert any(cell.get("outputs") for cell in cells)
    assert not any("/tmp/wt" in json.dumps(cell.get("outputs", [])) for cell in cells)
