"""SIGKILL at two hundred moments of runs that use tools, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KILLS = 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills processes that are forked")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_committed_is_lost_or_done_again_however_often_a_process_is_killed(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/threads.db"
    if kind == "postgres":
        url = request.getfixturevalue("postgres_url")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "killed_runs", url, str(tmp_path), str(KILLS), "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]

    notes: list[dict[str, Any]] = list(
        map(json.loads, (tmp_path / "notes").read_text().splitlines())
    )
    assert [n for n in notes if "error" in n] == []
    assert len([n for n in notes if "killed" in n]) == KILLS
    seen: dict[str, dict[str, Any]] = {}
    for now in (n for n in notes if "thread" in n):
        before = seen.get(now["thread"], {"messages": [], "results": []})
        # Nothing is lost, and nothing moves.
        assert now["messages"][: len(before["messages"])] == before["messages"]
        assert set(before["results"]) <= set(now["results"])
        assert len(now["messages"]) == len(set(now["messages"]))
        assert now["invalid"] == []
        seen[now["thread"]] = now
    begun = (tmp_path / "tools").read_text().split()
    assert len(begun) == len(set(begun)), "a call was run twice"
    results = [result for now in seen.values() for result in now["results"]]
    assert len(results) == len(set(results))
    assert set(results) <= set(begun)
    assert not any(now["waiting"] for now in seen.values())
    assert results  # how many there is time for between two kills is the machine's affair
