"""Time of one more call by length of the thread, on SQLite, and on forks of it.

    python -m benchmarks.opening [--lengths 5000 50000] [--batch 200] [--unsealed]

The thread is made by real calls, each of which brings `--batch` messages, so that compaction and
sealing happen as they do in the field. What is timed is one more question and its answer, each time
on a fresh copy of the database: how much is live depends on how long ago the last seal was, and at
5,000 none has been. A *fork before the seal* goes on from where the thread was one call before its
last seal, and has to seal again; *after the seal* from where the call that sealed had ended. *next
call* is the one after that. A call at 5,000 seals, too: `--lengths 4800 50000` compares with one
that does not. Milliseconds of the clock and of the processor. The ratio is that of the latter:
others may be at work.
"""

from __future__ import annotations

import argparse
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

from .quiet import quiet

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


def grow(
    folder: Path, length: int, batch: int, journal_window: int | None
) -> dict[str, RunnableConfig]:
    """Make a thread of that many messages; returns what `lengthen` returns."""
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        return lengthen(graph_of(folder, saver, journal_window), length, batch)


def lengthen(graph: Any, length: int, batch: int) -> dict[str, RunnableConfig]:
    """Make a graph's new thread that long.

    Returns:
        Where to go on with it: at its end, and before and after its last seal if there was one.
    """
    places: dict[str, RunnableConfig] = {"newest": THREAD}
    made = 0
    rest: RunnableConfig | None = None
    head = ""
    while made < length:
        new: list[BaseMessage] = []
        for at in range(made, min(made + batch, length - 2), 2):
            new += [HumanMessage(f"What of {at}? " * 8), AIMessage(f"Of {at}: little. " * 12)]
        graph.invoke({"messages": [*new, HumanMessage("And so?")]}, THREAD)
        made += len(new) + 2
        state = graph.get_state(THREAD)
        before, head = head, (state.values.get("sealed") or {}).get("head", "")
        if head != before and rest is not None:
            places["fork before the seal"] = rest
            places["fork after the seal"] = state.config
        rest = state.config
    return places


def one_more_call(
    made: Path, journal_window: int | None, place: RunnableConfig = THREAD
) -> tuple[list[float], list[float], int]:
    """Time one more call, and the next one, on a copy of a thread.

    Returns:
        Their seconds by the clock, those of the processor, and how much was live before.
    """
    folder = Path(tempfile.mkdtemp(prefix="longthread-bench-"))
    shutil.copytree(made, folder, dirs_exist_ok=True)
    with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        graph = graph_of(folder, saver, journal_window)
        live = len(graph.get_state(place).values["messages"])
    clock, processor = [], []
    for config in (place, THREAD):
        with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            graph = graph_of(folder, saver, journal_window)
            started = time.perf_counter(), time.process_time()
            graph.invoke({"messages": [HumanMessage("One more?")]}, config)
            clock.append(time.perf_counter() - started[0])
            processor.append(time.process_time() - started[1])
    shutil.rmtree(folder)
    return clock, processor, live


@quiet()
def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lengths", type=int, nargs="+", default=[5_000, 50_000])
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--journal-window", type=int, default=5_000)
    parser.add_argument("--unsealed", action="store_true", help="also without sealing")
    arguments = parser.parse_args()
    windows = [arguments.journal_window, *([None] if arguments.unsealed else [])]
    columns = (
        f"{name:>{width}}" for name, width in (("clock", 9), ("processor", 11), ("ratio", 7))
    )
    heads = "".join(columns)
    print(f"{'':<57}{'one more call':^27}{'next call':^27}")
    print(f"{'messages':>8}{'journal_window':>16}  {'on':<22}{'live':>6}   {heads}{heads}{'MB':>7}")
    for window in windows:
        first: list[float] = []
        for length in arguments.lengths:
            with tempfile.TemporaryDirectory(prefix="longthread-bench-") as name:
                folder = Path(name)
                places = grow(folder, length, arguments.batch, window)
                size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6
                for title, place in places.items():
                    calls = [one_more_call(folder, window, place) for _ in range(arguments.repeat)]
                    row = f"{length:>8}{window or 'none':>16}  {title:<22}{calls[0][2]:>6}   "
                    for number in range(2):
                        clock = statistics.median(call[0][number] for call in calls)
                        processor = statistics.median(call[1][number] for call in calls)
                        first.append(processor)
                        ratio = processor / first[0]
                        row += f"{clock * 1e3:>9.1f}{processor * 1e3:>11.1f}{ratio:>7.2f}"
                    print(f"{row}{size:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
