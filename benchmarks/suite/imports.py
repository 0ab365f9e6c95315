"""Time of `import longthread`, beside what it cannot do without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec

from .options import Options
from .result import Cell, Figure, Result, Table

__all__ = ["run"]

BASE, OWN = "import langgraph.graph", "import longthread"
AGENT = "from longthread import create_agent_graph"
PEERS = {
    "langchain": "from langchain.agents import create_agent",
    "deepagents": "from deepagents import create_deep_agent",
    "langmem": "from langmem.short_term import SummarizationNode",
}


def run(options: Options) -> Result:
    """Run each statement in interpreters of its own, in turns; with `--full` the peers' too."""
    peers = [code for name, code in PEERS.items() if find_spec(name)] if options.full else []
    times: dict[str, list[float]] = {code: [] for code in ("", BASE, OWN, AGENT, *peers)}
    for _ in range(options.size(1, 3, 15)):
        for code in times:
            times[code].append(processor_seconds(code) * 1_000)
    # What the interpreter takes by itself is no part of an import.
    start = statistics.median(times.pop(""))
    found = {code: statistics.median(values) - start for code, values in times.items()}
    result = Result("imports", "Import time")
    result.figures = [
        Figure(
            f"`{code}` against `{BASE}`",
            found[code] / found[BASE],
            at_most=1.2,
            official=not options.tiny,
            note=f"{found[code]:.0f} against {found[BASE]:.0f} ms",
        )
        for code in (OWN, AGENT)
    ]
    rows: list[list[Cell]] = [[f"`{code}`", ms, ms / found[BASE]] for code, ms in found.items()]
    title = "Milliseconds of the processor beyond the interpreter's own start, median"
    result.tables.append(Table(title, ["", "ms", "ratio"], rows))
    result.notes.append("`import longthread` is lazy: a name is loaded when it is first used.")
    return result


def processor_seconds(code: str) -> float:
    """Return the processor time of an interpreter that runs some code and ends."""
    command = [sys.executable, "-c", code]
    if not hasattr(os, "wait4"):  # Windows: the clock's time
        started = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - started
    process = subprocess.Popen(command)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{code!r} failed"
    return used.ru_utime + used.ru_stime
