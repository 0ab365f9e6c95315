"""The documentation builds without a warning, and names every public name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import longthread


def test_the_site_builds_without_a_warning(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    done = subprocess.run(
        [*command, str(tmp_path / "site")],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},  # about a successor, not about our pages
        capture_output=True,
        text=True,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    assert done.returncode == 0, done.stderr
    assert complaints == []
    assert "create_agent_graph" in (tmp_path / "site/api.html").read_text(encoding="utf-8")


def test_the_reference_has_every_public_name(root: Path) -> None:
    text = (root / "docs/api.md").read_text(encoding="utf-8")
    text = text.partition("## In modules of their own")[0]
    named = re.findall(r"^::: longthread\.[\w.]*?(\w+)$", text, re.MULTILINE)
    prompts = re.findall(r"^\| `(DEFAULT_\w+)`", text, re.MULTILINE)
    assert sorted([*named, *prompts]) == sorted(longthread.__all__)


def test_every_page_is_in_the_navigation(root: Path) -> None:
    navigation = (root / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [path.name for path in (root / "docs").glob("*.md")]
    assert [page for page in pages if f" {page}" not in navigation] == []
