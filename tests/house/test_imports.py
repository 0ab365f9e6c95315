"""What importing the package does, and what it leaves alone."""

from __future__ import annotations

import importlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

HEAVY = {"langgraph_api", "matplotlib", "numpy", "pandas", "rich", "typer"}


def test_no_file_is_imported_under_two_names(root: Path, package_files: list[Path]) -> None:
    """By now pytest has imported every test module, and with them what they import."""
    for path in package_files:
        if path.suffix == ".py":
            parts = [part for part in path.with_suffix("").parts if part != "__init__"]
            importlib.import_module(".".join(["longthread", *parts]))

    names: dict[Path, set[str]] = defaultdict(set)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        path = Path(file).resolve() if isinstance(file, str) else Path("/")
        # A virtual environment may lie in the clone.
        if path.is_relative_to(root) and "site-packages" not in path.parts:
            names[path].add(name)

    assert root / "__init__.py" in names
    assert {path: found for path, found in names.items() if len(found) > 1} == {}


def test_the_package_under_test_is_this_clone(root: Path) -> None:
    file = importlib.import_module("longthread").__file__
    assert file is not None
    assert Path(file).resolve() == root / "__init__.py"


def test_importing_the_face_loads_nothing_heavy(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    """What LangGraph loads itself does not count: its HTTP client takes `rich` where it can."""
    script = (
        "import json, sys, langchain_core.messages, langgraph.graph; before = set(sys.modules); "
        "import longthread; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = {name.partition(".")[0] for name in json.loads(run_python("-c", script, cwd=tmp_path))}
    assert "longthread" in loaded
    assert loaded & HEAVY == set()


LATER = {
    *("langchain_openai", "openai", "tiktoken", "bpe_openai", "pydantic_settings", "psycopg"),
    *("starlette", "langchain", "longthread.apps"),
    # Dozens of patterns each, compiled when the first of them is asked for.
    *("longthread.state.estimate", "longthread.state.secret_patterns"),
    *("longthread.state.overflow_text", "longthread.state.overflow_sizes"),
}
"""What making an agent may need, and importing it does not."""


def test_importing_the_package_loads_the_face_alone(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    """So that it costs next to nothing beside `import langgraph.graph`."""
    script = (
        "import json, sys, importlib, typing; before = set(sys.modules); "
        "import longthread; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = set(json.loads(run_python("-c", script, cwd=tmp_path)))
    assert {name for name in loaded if name.startswith("longthread")} == {"longthread"}
    assert not {name.partition(".")[0] for name in loaded} & {"langgraph", "langchain_core"}


def test_importing_the_agent_loads_nothing_that_only_some_agents_need(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    script = (
        "import json, sys, langgraph.graph, langgraph.prebuilt; before = set(sys.modules); "
        "from longthread import create_agent_graph; "
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    loaded = set(json.loads(run_python("-c", script, cwd=tmp_path)))
    assert "longthread.graphs.agent" in loaded
    assert loaded & LATER == set()


@pytest.mark.parametrize("where", ["an empty folder", "the clone", "the root of the file system"])
def test_importing_needs_no_network_and_no_certain_folder(
    where: str, root: Path, run_python: Callable[..., str], no_network: str, tmp_path: Path
) -> None:
    cwd = {"an empty folder": tmp_path, "the clone": root}.get(where, Path(root.anchor))
    script = f"{no_network}\nimport longthread; print(longthread.__name__)"
    assert run_python("-W", "error", "-c", script, cwd=cwd).strip() == "longthread"
    assert list(tmp_path.iterdir()) == []


def test_the_guard_against_the_network_guards(
    run_python: Callable[..., str], no_network: str, tmp_path: Path
) -> None:
    script = f"{no_network}\nimport socket; socket.create_connection(('127.0.0.1', 9))"
    with pytest.raises(AssertionError, match="exit code 13"):
        run_python("-c", script, cwd=tmp_path)
