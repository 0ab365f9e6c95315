"""The examples of docs/composing.md run as they stand there."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest


def test_every_example_of_composing_runs(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (root / "docs/composing.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "composing"}
    for source in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(source, "docs/composing.md", "exec", dont_inherit=True), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == (
        "[(None, 'Hello!'), ('helper', 'I was sent 1 messages.'), "
        "(None, 'And again.'), ('helper', 'I was sent 3 messages.')]"
    )
    assert printed[1] == "4"
    assert "('helper',) ['reasoning']" in printed
    assert "writer" in printed
    assert "sales" in printed
    assert "['I was sent 1 messages.', 'I was sent 1 messages.']" in printed
    assert printed[printed.index("Pay 3?") + 1] == "It was paid."
    assert len(names["parent"].get_state(names["thread"]).values["messages"]) == 6
