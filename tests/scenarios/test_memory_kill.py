"""Two hundred kills at random moments: every fact stays, once, and MEMORY.md is always whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_facts_survive_two_hundred_kills_and_stand_in_the_ledger_once(tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "support" / "killed_memory.py"
    ended = subprocess.run(
        [sys.executable, str(script), str(tmp_path), "200", "7"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["given"] > 50
    assert report["archived"] > 5
    assert (report["missing"], report["twice"]) == ([], [])
    assert (report["forgotten"], report["broken"]) == ([], [])
