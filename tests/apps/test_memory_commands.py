"""`longthread memory …`: what an agent remembers, from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents import Scripted
from typer.testing import CliRunner, Result

from longthread import LocalWorkspace
from longthread.apps import cli
from longthread.graphs.model_roles import ModelRoles
from longthread.stores.workspace import Owner, ScopedWorkspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def ann(folder: Path) -> ScopedWorkspace:
    """The files of a user's agent, with something in them."""
    files = LocalWorkspace(folder).scoped(Owner("ann", "keeper"))
    files.write_text("MEMORY.md", "- Deploy blue\n- Port 5051\x1b[2J\n")
    files.write_text("memory/2026-03-01.md", "## 10:00\nport again\n")
    files.write_text("global/MEMORY.md", "- Ports are even\n")
    return files


def run(folder: Path, *args: str) -> Result:
    command, *rest = args
    return CliRunner().invoke(
        cli.app,
        [
            "memory",
            command,
            "--workspace",
            str(folder),
            "--user",
            "ann",
            "--agent",
            "keeper",
            *rest,
        ],
    )


@pytest.mark.usefixtures("ann")
def test_memory_is_shown_as_it_is(folder: Path) -> None:
    assert run(folder, "show").stdout == "- Deploy blue\n- Port 5051\x1b[2J\n"
    assert run(folder, "show", "--scope", "global").stdout == "- Ports are even\n"


@pytest.mark.usefixtures("ann")
def test_memory_is_searched_as_the_agent_searches_it(folder: Path) -> None:
    found = run(folder, "search", "PORT")
    assert found.exit_code == 0
    assert found.stdout.splitlines() == [
        r"MEMORY.md#2: - Port 5051\x1b[2J",
        "memory/2026-03-01.md#2: port again",
        "global/MEMORY.md#1: - Ports are even",
    ]
    few = run(folder, "search", "deploy again", "--mode", "any", "--limit", "1")
    assert few.stdout == "MEMORY.md#1: - Deploy blue\n"
    assert "raise --limit" in few.stderr
    none = run(folder, "search", "deploy again")
    assert (none.exit_code, none.stdout, none.stderr) == (0, "", "No matches.\n")


@pytest.mark.usefixtures("ann")
def test_nothing_is_shown_of_another_owner_and_nothing_is_created(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    empty = CliRunner().invoke(cli.app, ["memory", "show", "--workspace", str(folder)])
    assert (empty.exit_code, empty.stdout, empty.stderr) == (0, "", "There is no MEMORY.md yet.\n")
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (["show", "--scope", "all"], "scope='all'"),
        (["search", "x", "--mode", "fuzzy"], "match_mode='fuzzy'"),
        (["search", "x", "--mode", ""], "match_mode=''"),
        (["search", "x", "--limit", "0"], "--limit"),
        (["show", "--user", ""], "user ''"),
        (["show", "--agent", "../x"], "agent '../x'"),
        (["show", "--workspace", "nowhere"], "--workspace 'nowhere': there is no such folder"),
    ],
)
@pytest.mark.usefixtures("ann")
def test_a_mistake_is_one_line_and_exit_code_2(folder: Path, args: list[str], named: str) -> None:
    refused = run(folder, *args)
    assert refused.exit_code == 2
    assert named in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_memory_is_consolidated_and_that_is_undone_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Scripted(memory="- Port 5051.")
    monkeypatch.chdir(tmp_path)
    home = tmp_path / ".longthread/users/ann/agents/agent"
    (home / "memory").mkdir(parents=True)
    (home / "memory/2020-03-01.md").write_text("## 10:00\n- Port 5051.\n")

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(cli.app, ["memory", *arguments, "--user", "ann"])

    refused = call("consolidate")
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "no main model in the settings" in refused.stderr
    monkeypatch.setattr(ModelRoles, "main", lambda *_: script.model)
    done = call("consolidate", "--model", "openai:any")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == "MEMORY.md: rewritten\nmemory/archive/2020-03-01.md: archived\n"
    assert (home / "MEMORY.md").read_text() == "- Port 5051. <!-- 2020-03-01 -->\n"
    again = call("consolidate", "--model", "openai:any")
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr == "Nothing is new in the ledgers.\n"

    undone = call("undo")
    assert undone.exit_code == 0
    assert undone.stdout.startswith("MEMORY.md: removed: there was none before the consolidation")
    assert not (home / "MEMORY.md").exists()
    assert call("undo", "--scope", "global").stderr == "There is no consolidation to undo.\n"
