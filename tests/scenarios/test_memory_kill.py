"""Two hundred kills at random moments: every fact stays, once, and MEMORY.md is always whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("kind", "kills"), [("local", 200), ("store-sqlite", 60)])
def test_facts_survive_kills_at_random_moments_and_stand_in_the_ledger_once(
    kind: str, kills: int, tmp_path: Path
) -> None:
    script = Path(__file__).parents[1] / "support" / "killed_memory.py"
    ended = subprocess.run(
        [sys.executable, str(script), kind, str(tmp_path), str(kills), "7"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["given"] > kills / 5
    assert report["archived"] > 2
    assert (report["missing"], report["twice"]) == ([], [])
    assert (report["forgotten"], report["broken"]) == ([], [])
