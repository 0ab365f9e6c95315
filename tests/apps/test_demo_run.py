"""The demo as people run it, and what it does when something is wrong."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from longthread.apps.demo import run_demo
from longthread.apps.demo.first_process import FirstProcess
from longthread.apps.demo.places import Places
from longthread.apps.demo.run import can_draw
from longthread.apps.demo.tally import NODES
from longthread.state.errors import LongthreadError, WorkspaceError

# Python imports this by itself, in the demo's own child process too.
NO_NETWORK = """
import os, sys

def _refuse(event, args):
    reaching = event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
    if reaching or (event == "socket.connect" and not isinstance(args[1], (str, bytes))):
        sys.stderr.write(f"reached for the network: {event} {args!r}")
        sys.stderr.flush()
        os._exit(13)

sys.addaudithook(_refuse)
"""
# The second is bpe-openai's own; see `filterwarnings` in pyproject.toml.
WARNINGS = "error,ignore:open_binary is deprecated:DeprecationWarning"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Places]:
    """What the demo printed without a terminal and without a network, and where it wrote."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("demo")
    (site / "sitecustomize.py").write_text(NO_NETWORK, encoding="utf-8")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from longthread.apps.demo import run_demo; "
            "sys.exit(run_demo(folder=sys.argv[1], seed=11))",
            str(folder),
        ],
        env={
            **{k: v for k, v in inherited.items() if not k.endswith("_API_KEY")},
            "PYTHONPATH": str(site),
            "PYTHONWARNINGS": WARNINGS,
            "PYTHONIOENCODING": "utf-8",
            "LANGSMITH_TRACING": "true",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-4000:]}"
    assert done.stderr == ""
    return done.stdout, Places(folder)


def test_every_node_is_visited_and_explained(demo: tuple[str, Places]) -> None:
    table = demo[0].partition("Every node, and why")[2]
    for node in NODES:
        assert re.search(rf"│ {node} +│ +[1-9]\d* │ \w+", table), node
    assert "NOT VISITED" not in table


def test_every_claim_holds_and_is_printed(demo: tuple[str, Places]) -> None:
    assert demo[0].count("✓ ") == 19
    assert "✗" not in demo[0]


def test_the_comparison_shows_what_management_saves(demo: tuple[str, Places]) -> None:
    rows = {
        cells[0]: cells[1:]
        for line in demo[0].splitlines()
        if len(cells := [cell.strip() for cell in line.strip("│").split("│")]) == 4
    }
    for name in ("input tokens", "cost, cache-aware", "largest request"):
        ours, whole, ratio = rows[name]
        assert int(ours.replace(",", "")) < int(whole.replace(",", "")), name
        assert float(ratio.removesuffix(" ×")) > 1, name
    assert rows["requests above the window"][0] == "1"  # the one that teaches the limit
    assert int(rows["requests above the window"][1]) > 1


def test_the_files_that_it_names_are_there(demo: tuple[str, Places]) -> None:
    output, places = demo
    named = re.findall(r"^(?:ledger|memory|evicted|threads|tool|the)\b.*?(/.+)$", output, re.M)
    assert len(named) == 6
    for path in named:
        assert Path(path).is_relative_to(places.root)
        assert Path(path).exists(), path


def test_the_resume_is_told_of(demo: tuple[str, Places]) -> None:
    assert re.search(r"process \d+ is killed in the middle of a tool step: exit code -9", demo[0])
    assert re.search(r"a second process resumes: \d+ messages on disk, next: tools", demo[0])


def test_it_fails_when_a_node_does_not_do_its_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second process consolidates; here its model returns a blank MEMORY.md."""
    monkeypatch.setattr("longthread.apps.demo.side_script._memory", lambda _prompt: "")
    output = io.StringIO()

    code = run_demo(folder=tmp_path / "new", console=Console(file=output, width=100))

    assert code == 1
    printed = output.getvalue()
    assert "✗ the day's ledger and MEMORY.md have the facts" in printed
    assert "✗ a new thread answered from memory, without a tool" in printed
    assert "2 of 19 claims do not hold." in printed


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep", encoding="utf-8")

    with pytest.raises(WorkspaceError, match=r"is not empty; name a new one$"):
        run_demo(folder=tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(WorkspaceError, match=r"^cannot use the folder '.*file'"):
        run_demo(folder=tmp_path / "file")


def test_a_first_process_that_ends_by_itself_is_reported_with_its_last_words(
    tmp_path: Path,
) -> None:
    places = Places(tmp_path)
    places.database.mkdir()  # SQLite cannot open a folder

    with (
        FirstProcess(places) as first,
        pytest.raises(LongthreadError, match=r"ended with code 1 .*unable to open database file"),
    ):
        first.play("t", "run_check", lambda _event: None)


@pytest.mark.parametrize(
    ("terminal", "no_color", "kind", "drawn"),
    [
        (True, False, "xterm", True),
        (False, False, "xterm", False),
        (True, True, "xterm", False),
        (True, False, "dumb", False),
    ],
)
def test_the_live_view_needs_a_terminal_with_colours(
    terminal: bool, no_color: bool, kind: str, drawn: bool
) -> None:
    console = Console(
        file=io.StringIO(), force_terminal=terminal, no_color=no_color, _environ={"TERM": kind}
    )
    assert can_draw(console) is drawn
