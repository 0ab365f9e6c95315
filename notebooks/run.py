"""Run all notebooks from top to bottom and keep their outputs: `python notebooks/run.py`.

Needs `pip install -e ".[notebooks]" nbclient`.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

__all__ = ["executed"]

HERE = Path(__file__).parent


def executed(notebook: Path, folder: Path) -> Any:
    """Return a notebook as it is after it was run, without what is another each time.

    Args:
        notebook: The file.
        folder: Where it runs: what it writes without a path goes there.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell failed.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the notebook tools are not ours
        import nbformat
        from nbclient import NotebookClient

        cells = nbformat.reads(  # type: ignore[no-untyped-call]
            notebook.read_text(encoding="utf-8"), as_version=4
        )
        where = {"metadata": {"path": str(folder)}}
        NotebookClient(cells, timeout=120, kernel_name="python3", resources=where).execute()
    for number, cell in enumerate(cells.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = _joined(cell.outputs)
    cells.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return cells


def _joined(outputs: list[Any]) -> list[Any]:
    """Return outputs with what was printed in one piece, however it has arrived."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.get("name") and output.get("name") == last.get("name"):
            last["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def main() -> None:
    """Run all of them."""
    import nbformat

    for notebook in sorted(HERE.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(notebook, Path(folder)), notebook)  # type: ignore[no-untyped-call]
        print(notebook.name)


if __name__ == "__main__":
    main()
