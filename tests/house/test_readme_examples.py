"""The README's Python runs as it stands there; only the model is scripted."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, calls, say, thread

import longthread.graphs.agent as graphs_agent


@pytest.fixture
def examples(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the README's Python blocks define, run one after the other in an empty folder."""
    script = Scripted(calls("1", name="weather", city="Oslo"), "Sunny.", summary="S")
    script.answers[0].tool_calls[0]["args"] = {"city": "Oslo"}  # type: ignore[union-attr]
    monkeypatch.setattr(graphs_agent, "resolve_model", lambda *_, **__: script.model)
    monkeypatch.chdir(tmp_path)
    text = (root / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"script": script}
    for source in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(source, "README.md", "exec"), names)
    return names


def test_every_example_of_the_readme_runs(
    examples: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = examples["script"]
    assert [len(request) for request in script.requests] == [2, 4]
    assert (tmp_path / "threads.db").is_file()
    with examples["open_checkpointer"]("sqlite:///threads.db") as saver:
        graph = graphs_agent.create_agent_graph(
            script.model, workspace=tmp_path / "w", checkpointer=saver
        )
        examples["show_context"](graph, thread("1"))
        assert "It is sunny in Oslo." in capsys.readouterr().out
        graph.invoke(say("a longer question " * 50), thread("1"))
        examples["picture"](graph, thread("1"), tmp_path / "context.png")
        examples["tidy"](graph, thread("1"))
        assert "messages summarised" in capsys.readouterr().out
    assert (tmp_path / "context.png").stat().st_size > 5_000
    assert examples["model"].invoke("hi").content == "I was sent 1 messages."
