"""The report of `longthread replay`: tables, the JSON document, the plot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from longthread.apps import cli
from longthread.apps.replay import Replay, parse_session, play_session
from longthread.apps.replay.plot import context_figure
from longthread.graphs.scripted import ScriptedModel


def recording(steps: int = 30) -> str:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You look things up."},
        {"role": "user", "content": "do it"},
    ]
    for i in range(steps):
        call = {"id": f"c{i}", "function": {"name": "look", "arguments": {"file": f"f{i}.py"}}}
        found = f"{i}: " + " ".join(f"word{n}" for n in range(60))
        messages += [
            {"role": "assistant", "content": f"step {i}", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{i}", "content": found},
        ]
    messages.append({"role": "assistant", "content": "done"})
    return "\n".join(map(json.dumps, messages))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a [b].jsonl"
    path.write_text(recording(), encoding="utf-8")
    return path


@pytest.fixture
def replay() -> Replay:
    return play_session(parse_session(recording(), Path("a.jsonl")), window=3_000)


def run(*args: str | Path) -> Result:
    result = CliRunner().invoke(cli.app, ["replay", *map(str, args)], env={"LONGTHREAD_DEBUG": ""})
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result


def test_the_document_has_its_keys_and_they_add_up(file: Path) -> None:
    document = json.loads(run(file, "--json", "--window", "3000").stdout)
    assert document.keys() == {"policy", "prices", "files", "totals"}
    assert document["policy"] == {
        "masking": "auto",
        "compaction": True,
        "eviction": True,
        "summariser": "extractive",
    }
    assert document["prices"] == {
        "cached": 0.1,
        "new": 1.25,
        "output": 5.0,
        "cacheable_from": 1024,
    }
    (only,) = document["files"]
    assert only.keys() == {
        "file",
        "window",
        "messages",
        "session_tokens",
        "left_out",
        "interrupted_calls",
        "requests",
        "events",
        "summaries",
        "totals",
        "seconds",
    }
    assert (only["file"], only["window"], only["messages"]) == (str(file), 3000, 63)
    request = only["requests"][-1]
    assert request.keys() == {"request", "parts", "hidden", "managed", "unmanaged"}
    assert request["request"] == len(only["requests"]) == 31
    assert request["parts"].keys() == {"system", "tools", "reference", "summary", "messages"}
    assert request["hidden"].keys() == {"masked", "evicted"}
    for side in ("managed", "unmanaged"):
        figures = request[side]
        assert figures.keys() == {"tokens", "cached", "new", "output", "cost", "above_window"}
        assert figures["tokens"] == figures["cached"] + figures["new"]
        sums = only["totals"][side]
        assert sums.keys() == {
            "requests",
            "tokens",
            "cached",
            "new",
            "output",
            "cost",
            "summaries",
            "above_window",
            "largest",
        }
        counted = [r[side] for r in only["requests"]]
        apart = only["summaries"] if side == "managed" else []
        assert sums["summaries"] == len(apart)
        assert sums["above_window"] == sum(r["above_window"] for r in counted)
        assert sums["largest"] == max(r["tokens"] for r in counted)
        for key in ("tokens", "cached", "new", "output", "cost"):
            assert sums[key] == pytest.approx(sum(r[key] for r in [*counted, *apart]), abs=1)
    assert sum(request["parts"].values()) == request["managed"]["tokens"]
    compactions = [e for e in only["events"] if e["type"] == "compaction"]
    assert len(compactions) == only["totals"]["events"]["compaction"]["count"] > 0
    assert {"before_request", "tokens_before", "tokens_after"} <= compactions[0].keys()
    totals = only["totals"]
    share = totals["managed"]["cost"] / totals["unmanaged"]["cost"]
    assert totals["ratio"]["cost"] == pytest.approx(share, abs=1e-3)
    assert document["totals"] == totals


def test_several_files_add_up_to_the_totals(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text(recording(5), encoding="utf-8")
    document = json.loads(run(tmp_path, "--json", "--window", "3000").stdout)
    assert [f["file"] for f in document["files"]] == [str(file), str(other)]
    for side in ("managed", "unmanaged"):
        each = [f["totals"][side] for f in document["files"]]
        for key in ("requests", "tokens", "output", "summaries", "above_window"):
            assert document["totals"][side][key] == sum(one[key] for one in each)
        assert document["totals"][side]["largest"] == max(one["largest"] for one in each)


@pytest.mark.parametrize(
    ("switches", "policy"),
    [
        (["--no-masking"], {"masking": None}),
        (["--masking-batch", "3"], {"masking": 3}),
        (["--no-compaction"], {"compaction": False, "summariser": None}),
        (["--no-eviction"], {"eviction": False}),
    ],
)
def test_switches_reach_the_graph(file: Path, switches: list[str], policy: dict[str, Any]) -> None:
    document = json.loads(run(file, "--json", *switches).stdout)
    assert document["policy"].items() >= policy.items()
    events = document["totals"]["events"]
    if "--no-masking" in switches:
        assert events["masking"]["count"] == 0
    if "--masking-batch" in switches:
        assert events["masking"]["count"] > 1
    if "--no-compaction" in switches:
        assert events["compaction"]["count"] == 0


def test_one_session_is_shown_request_by_request(file: Path) -> None:
    out = run(file, "--window", "3000").stdout
    assert "a [b].jsonl · 63 messages" in out
    assert "window 3,000" in out
    assert "unmanaged" in out
    assert "compaction" in out
    assert out.count("\n") > 31
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 110


def test_several_sessions_are_shown_in_a_line_each(file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text(recording(2), encoding="utf-8")
    out = run(tmp_path).stdout
    assert "2 sessions" in out
    assert "requests, in tokens" not in out
    assert "requests, in tokens" in run(tmp_path, "--requests").stdout
    assert "requests, in tokens" not in run(file, "--no-requests").stdout


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    stray = {"role": "tool", "tool_call_id": "none", "content": "x"}
    file = tmp_path / "s.jsonl"
    file.write_text(f"{recording(2)}\n{json.dumps(stray)}", encoding="utf-8")
    assert "left out: 1 × result without a call" in run(file).stdout


def test_a_model_for_the_summaries_is_resolved_and_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[Any] = []

    def resolve(name: str, *, field: str) -> ScriptedModel:
        named.append((name, field))
        return ScriptedModel(script=lambda _: "a short summary")

    monkeypatch.setattr("longthread.apps.replay.command.resolve_model", resolve)
    out = run(file, "--window", "3000", "--json", "--model", "openai:m").stdout
    assert named == [("openai:m", "--model")]
    document = json.loads(out)
    assert document["policy"]["summariser"] == "openai:m"
    assert {s["output"] for s in document["files"][0]["summaries"]} == {
        document["files"][0]["summaries"][0]["output"]
    }


def test_a_model_that_raises_is_one_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> str:
        raise ConnectionError("no route\nto the model")

    model = ScriptedModel(script=refuse)
    monkeypatch.setattr("longthread.apps.replay.command.resolve_model", lambda *_, **__: model)
    args = ["replay", str(file), "--window", "3000", "--model", "openai:m"]
    result = CliRunner().invoke(cli.app, args, env={"LONGTHREAD_DEBUG": ""})
    assert result.exit_code == 2
    assert result.stderr == (
        f"Error: {file}: the summariser failed: ConnectionError: no route to the model\n"
    )


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_plot_is_written(file: Path, tmp_path: Path, ending: str) -> None:
    picture = tmp_path / f"context.{ending}"
    out = run(file, "--window", "3000", "--plot", picture).stdout
    assert str(picture) in out
    start = picture.read_bytes()[:8]
    assert start == b"\x89PNG\r\n\x1a\n" if ending == "png" else b"<?xml" in start


def test_a_plot_shows_parts_window_and_unmanaged_total_of_each_session(replay: Replay) -> None:
    figure = context_figure([replay] * 4)
    assert len(figure.axes) == 6
    assert sum(axes.axison for axes in figure.axes) == 4
    handles, labels = figure.axes[0].get_legend_handles_labels()
    parts = ["system prompt", "tool schemas", "memory, reference", "summary", "messages"]
    assert labels == [*parts, "unmanaged", "window"]
    curves: list[Any] = list(handles)
    assert list(curves[5].get_ydata()) == [r.unmanaged.tokens for r in replay.requests]
    assert set(curves[6].get_ydata()) == {3_000}


def test_without_matplotlib_a_plot_is_refused_with_the_command_that_installs_it(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    args = ["replay", str(file), "--plot", "p.png"]
    result = CliRunner().invoke(cli.app, args, env={"LONGTHREAD_DEBUG": ""})
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "Error: --plot needs matplotlib: python -m pip install 'longthread[notebooks]'\n"
    )
