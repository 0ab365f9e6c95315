"""The agent's tools. They really work on the files of the demo's project."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event

from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import ToolRuntime

from .run_log import RunLog

__all__ = ["HELD_SECONDS", "project_tools", "run_checks"]

HELD_SECONDS = 60.0
"""How long a held check waits to be killed before it gives up and runs after all."""


def project_tools(
    project: Path, log: RunLog, held: Callable[[str], None] | None = None
) -> list[BaseTool]:
    """Make the tools.

    Args:
        project: The project's folder.
        log: Where every call is logged.
        held: Called with the id of a check that runs beside other calls; the check then waits to be
            killed. None: nothing is held.
    """

    def inside(path: str) -> Path:
        found = (project / path).resolve()
        if not found.is_relative_to(project.resolve()):
            raise ValueError(f"{path!r} is outside the project")
        return found

    @tool
    def list_files(runtime: ToolRuntime) -> str:
        """List the files of the project with their sizes in bytes."""
        with log.running(str(runtime.tool_call_id), "list_files"):
            files = sorted(p for p in project.rglob("*") if p.is_file())
            return "\n".join(
                f"{p.stat().st_size:>8} {p.relative_to(project).as_posix()}" for p in files
            )

    @tool
    def open_file(path: str, runtime: ToolRuntime) -> str:
        """Return the whole text of a file of the project."""
        with log.running(str(runtime.tool_call_id), "open_file"):
            return inside(path).read_text(encoding="utf-8")

    @tool
    def edit_file(path: str, old: str, new: str, runtime: ToolRuntime) -> str:
        """Replace a text, which must occur exactly once, in a file of the project."""
        with log.running(str(runtime.tool_call_id), "edit_file"):
            text = inside(path).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise ValueError(f"{old!r} occurs {text.count(old)} times in {path}, not once")
            inside(path).write_text(text.replace(old, new), encoding="utf-8")
            line = text[: text.index(old)].count("\n") + 1
            return f"{path}: line {line} changed"

    @tool
    def write_file(path: str, content: str, runtime: ToolRuntime) -> str:
        """Write a new file of the project."""
        with log.running(str(runtime.tool_call_id), "write_file"):
            inside(path).write_text(content, encoding="utf-8")
            return f"{path}: {len(content)} characters written"

    @tool
    def append_changelog(entry: str, runtime: ToolRuntime) -> str:
        """Append one entry to CHANGELOG.md. Each call appends one more."""
        with log.running(str(runtime.tool_call_id), "append_changelog"):
            with inside("CHANGELOG.md").open("a", encoding="utf-8") as changelog:
                changelog.write(f"- {entry}\n")
            return "CHANGELOG.md: one entry added"

    @tool
    def search_text(text: str, runtime: ToolRuntime) -> str:
        """Say in which modules and on which lines a text occurs."""
        with log.running(str(runtime.tool_call_id), "search_text"):
            hits = [
                f"harbor/{path.name}:{number}: {line.strip()}"
                for path in sorted((project / "harbor").glob("*.py"))
                for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
                if text in line
            ]
            return "\n".join(hits) or f"{text!r} occurs nowhere"

    @tool
    def run_check(runtime: ToolRuntime) -> str:
        """Run the project's checks in a process of their own; says what fails first."""
        call = str(runtime.tool_call_id)
        with log.running(call, "run_check"):
            if held is not None and _beside_others(runtime):
                held(call)
                Event().wait(HELD_SECONDS)
            return run_checks(project)

    return [
        *(list_files, open_file, edit_file, write_file),
        *(append_changelog, search_text, run_check),
    ]


def run_checks(project: Path) -> str:
    """Run the project's checks and return the first failures and their number."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "checks/run.py"],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    *failed, total = (done.stdout + done.stderr).splitlines() or ["the checks said nothing"]
    return "\n".join([*failed[:3], total])


def _beside_others(runtime: ToolRuntime) -> bool:
    last = runtime.state["messages"][-1]
    return len(last.tool_calls) > 1
