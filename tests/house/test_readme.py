"""What the README shows is there."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest

FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1``` *$", re.DOTALL | re.MULTILINE)
SHELLS = {"bash", "console", "sh", "shell"}
RUN = (
    "from importlib.metadata import entry_points; "
    "(command,) = entry_points(group='console_scripts', name='longthread'); "
    "command.load()()"
)


@pytest.fixture(scope="module")
def blocks(root: Path) -> list[tuple[str, str]]:
    """The fenced blocks of the README in order: language and text."""
    text = (root / "README.md").read_text(encoding="utf-8")
    return [(language, textwrap.dedent(body)) for _, language, body in FENCE.findall(text)]


def commands(shell: str) -> list[list[str]]:
    """The calls of `longthread` in a shell block, each as its words."""
    found = []
    for line in shell.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        while "longthread" in words:
            words = words[words.index("longthread") :]
            end = next((n for n, w in enumerate(words) if w in {"&&", "||", "|", ";", ">"}), None)
            found.append(words[:end])
            words = [] if end is None else words[end:]
    return found


def test_commands_are_found_in_a_shell_block() -> None:
    shell = (
        "pip install -e . && longthread demo  # longthread ends here\n"
        '$ longthread chat \\\n  --thread "a b" | tee longthread.txt\n'
    )
    assert commands(shell) == [["longthread", "demo"], ["longthread", "chat", "--thread", "a b"]]


def test_every_python_block_compiles(blocks: list[tuple[str, str]]) -> None:
    sources = [body for language, body in blocks if language == "python"]
    assert sources, "the README shows no Python"
    for source in sources:
        compile(source, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_the_command_that_is_installed_explains_itself(
    run_python: Callable[..., str], tmp_path: Path
) -> None:
    assert "demo" in run_python("-c", RUN, "--help", cwd=tmp_path)


def test_every_command_that_is_shown_exists(
    blocks: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    shown = [each for language, body in blocks if language in SHELLS for each in commands(body)]
    assert ["longthread", "demo"] in shown
    (entry_point,) = entry_points(group="console_scripts", name="longthread")
    main = entry_point.load()
    monkeypatch.chdir(tmp_path)

    for command in shown:
        monkeypatch.setattr("sys.argv", [*command, "--help"])
        with pytest.raises(SystemExit) as done:
            main()
        assert done.value.code in (0, None), f"{shlex.join(command)}: {capsys.readouterr().err}"
