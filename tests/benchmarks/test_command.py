"""`python -m benchmarks`: what it plays, what it says without peers, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from longthread.benchmarks import __main__ as command
from longthread.benchmarks import compaction_constants, contest, sessions
from longthread.benchmarks.suite import cost, parts
from longthread.benchmarks.suite.options import Options
from longthread.benchmarks.suite.result import Figure, Result


def recording(folder: Path) -> Path:
    """A recorded session of more than two windows."""
    path = folder / "session.jsonl"
    lines = map(json.dumps, sessions.session_messages("research", seed=9, tokens=36_000))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "find_spec", lambda name: None)


def test_recorded_sessions_are_played_from_files_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    no_peers(monkeypatch)
    recording(tmp_path)
    out = tmp_path / "out"
    given = ["cost", "--tiny", "--kinds", "research", "--recorded", str(tmp_path)]
    assert command.main([*given, "--out", str(out)]) == 0
    report = json.loads((out / "benchmarks.json").read_text(encoding="utf-8"))
    (part,) = report["parts"]
    assert list(part["data"]["longthread"]) == ["recorded", "research"]
    assert report["command"].startswith("python -m benchmarks cost --tiny")
    assert "session" in capsys.readouterr().out


def test_without_peers_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    no_peers(monkeypatch)
    assert contest.peers(all_settings=True) == []
    (line,) = contest.missing_peers()
    assert 'pip install -e ".[bench]"' in line
    command.main(["cost", "--tiny", "--kinds", "coding", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert line in said
    assert (
        "| cost against the cheapest peer, generated sessions | – | ≤ 0.75 | not measured |" in said
    )


@pytest.mark.parametrize(
    ("figure", "code"),
    [
        (Figure("f", 2.0, at_most=1), 1),
        (Figure("f", 2.0, at_most=1, official=False), 0),
        (Figure("f", 1.0, at_most=1), 0),
        (Figure("f", None, at_most=1), 0),
    ],
)
def test_a_missed_target_is_a_failure_if_the_run_was_large_enough(
    figure: Figure, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, options: Options) -> Result:
        return Result(name, name, [figure])

    monkeypatch.setattr(command, "run_part", run)
    assert command.main(["cost", "--out", str(tmp_path)]) == code


def test_a_part_that_fails_leaves_the_others_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def run(name: str, options: Options) -> Result:
        if name == "steps":
            raise RuntimeError("no room")
        return Result(name, name, [Figure("f", 0.5, at_most=1)])

    monkeypatch.setattr(command, "run_part", run)
    assert command.main(["steps", "tokens", "--out", str(tmp_path)]) == 1
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert "- Failed: RuntimeError: no room" in text
    assert "| f | 0.500 | ≤ 1 | met |" in text


def test_a_recording_that_is_not_there_is_named(tmp_path: Path, capsys: Any) -> None:
    missing = str(tmp_path / "none.jsonl")
    assert command.main(["cost", "--recorded", missing, "--out", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert missing in said
    assert "Traceback" not in said


def test_without_a_part_all_of_them_run_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(name: str, options: Options) -> Result:
        ran.append(name)
        return Result(name, name)

    monkeypatch.setattr(command, "run_part", run)
    command.main(["--out", str(tmp_path)])
    assert ran == list(parts.PARTS)


def test_a_run_that_is_stopped_leaves_the_parts_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str, options: Options) -> Result:
        if name == "tokens":
            raise KeyboardInterrupt
        return Result(name, name, [Figure("f", 0.5, at_most=1)])

    monkeypatch.setattr(command, "run_part", run)
    with pytest.raises(KeyboardInterrupt):
        command.main(["steps", "tokens", "--out", str(tmp_path)])
    report = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))
    assert [part["part"] for part in report["parts"]] == ["steps"]
    assert "| f | 0.500 |" in (tmp_path / "benchmarks.md").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_named_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def run(name: str, options: Options) -> Result:
        raise AssertionError("measured")

    monkeypatch.setattr(command, "run_part", run)
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(SystemExit):
            command.main(["imports", "--out", str(out)])
        assert f"--out {out}: " in capsys.readouterr().err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize("option", ["--tokens", "--peer-summary-tokens"])
@pytest.mark.parametrize("number", ["0", "-5"])
def test_a_number_of_tokens_is_one_or_more(
    option: str, number: str, tmp_path: Path, capsys: Any
) -> None:
    with pytest.raises(SystemExit):
        command.main(["cost", "--tiny", "--out", str(tmp_path), f"{option}={number}"])
    assert f"{option}: {number} is not a number of tokens" in capsys.readouterr().err


def test_without_every_peer_played_no_figure_is_a_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(session: Any, window: int) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(cost, "missing_peers", list)
    monkeypatch.setattr(cost, "peers", lambda **_: [contest.Contestant("peer", "", fails)])
    result = cost.run(Options(kinds=["research"], tokens=[34_000]))
    assert not any(figure.official for figure in result.figures)
    assert result.figures[0].note == "no peer has played"


def test_a_table_without_sessions_says_what_to_name() -> None:
    with pytest.raises(SystemExit, match="no sessions to play: name recordings"):
        compaction_constants.main(["--seeds"])
