"""The README and the pictures in it: short enough to be read, and as the code is now."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import pages

RUN = (
    "from importlib.metadata import entry_points; "
    "(command,) = entry_points(group='console_scripts', name='longthread'); "
    "command.load()()"
)


@pytest.fixture(scope="module")
def pictures(root: Path) -> Any:
    """The script that draws the pictures."""
    spec = importlib.util.spec_from_file_location("pictures", root / "docs/pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_command_that_is_installed_explains_itself(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    assert "demo" in run_python("-c", RUN, "--help", cwd=tmp_path)


@pytest.mark.parametrize("page", ["README.md", "docs/concepts.md"])
def test_the_graph_is_drawn_as_it_is(page: str, root: Path, pictures: Any) -> None:
    drawn = pictures.drawn_page(page)
    assert (root / page).read_text(encoding="utf-8") == drawn, "run: python docs/pictures.py"


def test_every_node_and_every_label_of_the_graph_is_in_the_drawing(pictures: Any) -> None:
    from longthread.graphs.studio import agent

    drawing, table = pictures.draw_folded(), pictures.table_of_edges()
    drawn = agent.get_graph()
    for name in set(drawn.nodes) - {"__start__", "__end__"}:
        assert re.search(rf"(^|\s){name}$", drawing, re.MULTILINE), name
        assert f"`{name}`" in table
    for edge in drawn.edges:
        assert edge.data is None or f'"{edge.data}"' in drawing
    assert table.count("*") == 2 * sum(edge.conditional for edge in drawn.edges)


def test_the_pictures_of_the_demo_can_be_drawn(pictures: Any, root: Path, tmp_path: Path) -> None:
    pictures.draw_demo(tmp_path / "demo", tmp_path / "images")
    names = {path.name for path in (tmp_path / "images").iterdir()}
    measured = {"cost.png", "steps.png"}  # drawn by `python -m benchmarks --plot`
    assert names == {path.name for path in (root / "docs/images").iterdir()} - measured
    svg = (tmp_path / "images/demo.svg").read_text(encoding="utf-8")
    assert "masking" in svg
    assert not re.search(r"(url\(|href=)[\"']?http", svg), "something to fetch in a picture"


def test_every_picture_is_there_and_small(root: Path) -> None:
    for page in pages(root):
        text = (root / page).read_text(encoding="utf-8")
        for target in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text):
            picture = (root / page).parent / target
            assert 5_000 < picture.stat().st_size < 100_000, f"{page}: {target}"


def test_every_link_to_a_file_leads_somewhere(root: Path) -> None:
    for page in pages(root):
        text = (root / page).read_text(encoding="utf-8")
        targets = re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]+)?\)", text)
        assert [t for t in targets if not ((root / page).parent / t).exists()] == [], page


def test_the_readme_can_be_read_in_five_minutes(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    assert len(prose.split()) < 1_400
