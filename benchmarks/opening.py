"""Time of one more call by length of the thread, on SQLite.

    python -m benchmarks.opening [--lengths 5000 50000] [--batch 200] [--unsealed]

The thread is made by real calls, each of which brings `--batch` messages, so that compaction and
sealing happen as they do in the field. What is timed is one more question and its answer, each time
on a fresh copy of the database: how much is live depends on how long ago the last seal was, and at
5,000 none has been. Milliseconds of the clock; compare them as ratios within one run.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver

from longthread import create_agent_graph
from longthread.graphs.scripted import ScriptedModel

THREAD: RunnableConfig = {"configurable": {"thread_id": "t"}}


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Answer anything; summaries too."""
    if "<previous_summary>" in str(messages[-1].content):
        return AIMessage("## Intent\nTalk about numbers.")
    return AIMessage("A number of things can be said about that number.")


def graph_of(folder: Path, saver: Any, journal_window: int | None) -> Any:
    """Return the agent, memory off: its files do not grow with the thread."""
    return create_agent_graph(
        ScriptedModel(script=answer),
        memory=None,
        workspace=folder,
        checkpointer=saver,
        journal_window=journal_window,
    )


def grow(folder: Path, length: int, batch: int, journal_window: int | None) -> None:
    """Make a thread of that many messages."""
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        lengthen(graph_of(folder, saver, journal_window), length, batch)


def lengthen(graph: Any, length: int, batch: int) -> None:
    """Make a graph's new thread that long."""
    made = 0
    while made < length:
        new: list[BaseMessage] = []
        for at in range(made, min(made + batch, length - 2), 2):
            new += [HumanMessage(f"What of {at}? " * 8), AIMessage(f"Of {at}: little. " * 12)]
        graph.invoke({"messages": [*new, HumanMessage("And so?")]}, THREAD)
        made += len(new) + 2


def one_more_call(made: Path, journal_window: int | None) -> tuple[float, int]:
    """Return the seconds of one more call on a copy of a thread, and how much of it was live."""
    folder = Path(tempfile.mkdtemp(prefix="longthread-bench-"))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        graph = graph_of(folder, saver, journal_window)
        live = len(graph.get_state(THREAD).values["messages"])
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        graph = graph_of(folder, saver, journal_window)
        started = time.perf_counter()
        graph.invoke({"messages": [HumanMessage("One more?")]}, THREAD)
        taken = time.perf_counter() - started
    shutil.rmtree(folder)
    return taken, live


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lengths", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--journal-window", type=int, default=5_000)
    parser.add_argument("--unsealed", action="store_true", help="also without sealing")
    arguments = parser.parse_args()
    logging.getLogger("longthread").setLevel(logging.ERROR)
    windows = [arguments.journal_window, *([None] if arguments.unsealed else [])]
    print(
        f"{'messages':>10}{'journal_window':>16}{'live':>8}{'one more call':>16}"
        f"{'ratio':>8}{'MB':>8}"
    )
    for window in windows:
        first = None
        for length in arguments.lengths:
            with tempfile.TemporaryDirectory(prefix="longthread-bench-") as name:
                folder = Path(name)
                grow(folder, length, arguments.batch, window)
                calls = [one_more_call(folder, window) for _ in range(arguments.repeat)]
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6
            taken, live = statistics.median(t for t, _ in calls), calls[0][1]
            first = first or taken
            row = f"{length:>10}{window or 'none':>16}{live:>8}"
            row += f"{taken * 1_000:>13.1f} ms"
            print(f"{row}{taken / first:>8.2f}{size:>8.1f}")


if __name__ == "__main__":
    main()
