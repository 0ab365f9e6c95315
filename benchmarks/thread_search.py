"""Time of a search over many threads, and of keeping the index up to date.

    python -m benchmarks.thread_search [--full] [--threads 1000] [--messages 1000] [--rounds 3]
        [--folder FOLDER] [--postgres URL]

Threads are written to a SQLite file (or a PostgreSQL database), indexed, and searched through
`ThreadJournal`, each time with the look for what is new in every thread that belongs to a search.
Texts are words that are as unevenly frequent as in a language, identifiers,
code-like lines and some Chinese. Queries are parts of messages, words of all frequencies, and
phrases that nobody said; all of them are given, none is chosen by its time. `--full` is a million
messages: about four minutes and 2 GB of disk.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from longthread import LocalWorkspace, ThreadJournal, ThreadState
from longthread.stores import Owner
from longthread.stores.journal import ThreadKey, register_thread
from longthread.stores.matching import MatchMode

OWNER = Owner(None, "agent")
ONSETS = (
    *"bcdfghlmnprstvw",
    "qu",
    "st",
    "tr",
    "pl",
    "gr",
    "sh",
    "ch",
    "th",
    "br",
    "cl",
    "fr",
    "sp",
)
VOWELS = (*"aeiouy", "ea", "ou", "ie", "ai")
CODAS = ("", *"nrstldmx", "ck", "ng", "st", "nt", "ll", "ss", "ve", "ge", "rd")
HANZI = (
    "我你他的数据库系统今天会议计划报告北京上海用户密码错误部署配置文件删除更新查询结果时间问题项目"
)


class Texts:
    """Messages from a seed: the same ones every time."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        words = {"".join(self.syllable() for _ in range(1 + n % 3)) for n in range(20_000)}
        self.words = sorted(words, key=lambda word: (len(word), word))
        self.weights = [1 / (rank + 2) for rank in range(len(self.words))]
        for at in range(1, len(self.weights)):
            self.weights[at] += self.weights[at - 1]

    def syllable(self) -> str:
        """Return one of some five thousand syllables."""
        return "".join(self.random.choice(part) for part in (ONSETS, VOWELS, CODAS))

    def message(self) -> str:
        """Return one text: mostly 100 to 800 characters."""
        length = min(400, int(self.random.lognormvariate(3.4, 0.7)) + 2)
        words = self.random.choices(self.words, cum_weights=self.weights, k=length)
        words[0] = words[0].capitalize()
        kind = self.random.random()
        if kind < 0.3:
            words.insert(length // 2, f"TICKET-{self.random.randrange(10**6)}")
        elif kind < 0.4:
            words.insert(length // 2, f"src/{words[0]}/{words[-1]}.py:{self.random.randrange(900)}")
        elif kind < 0.5:
            words.append("".join(self.random.choices(HANZI, k=12)) + "。")
        return " ".join(words) + "."

    def word(self) -> str:
        """Return a word, a rare one as often as a common one."""
        return self.random.choice(self.words)


def queries(texts: Texts, said: list[str], number: int) -> dict[str, list[tuple[str, MatchMode]]]:
    """Return queries by kind, most of them with hits."""
    choose = texts.random

    def part(words: int) -> str:
        found = choose.choice(said).split()
        at = choose.randrange(max(1, len(found) - words))
        return " ".join(found[at : at + words])

    def some_words(count: int) -> str:
        found = choose.choice(said).split()
        return " ".join(choose.sample(found, min(count, len(found))))

    def nobody_said() -> str:
        return " ".join(texts.words[choose.randrange(60)] for _ in range(4))

    kinds: dict[str, list[tuple[str, MatchMode]]] = {
        "phrase": [(part(1 + n % 4), "phrase") for n in range(number)],
        "phrase, nobody said it": [(nobody_said(), "phrase") for _ in range(number)],
        "phrase, 1 or 2 characters": [
            ("".join(choose.choices(HANZI, k=1 + n % 2)) if n % 3 else part(1)[:2], "phrase")
            for n in range(number)
        ],
        "all": [
            (some_words(2 + n % 3) if n % 4 else f"{texts.word()} {texts.word()}", "all")
            for n in range(number)
        ],
        "any": [(f"{texts.word()} {some_words(1 + n % 2)}", "any") for n in range(number)],
    }
    return kinds


@contextmanager
def checkpointer(folder: Path, postgres: str | None) -> Iterator[Any]:
    """Open the checkpointer."""
    if postgres is None:
        with SqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
            yield saver
        return
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(postgres) as saver_:
        saver_.setup()
        yield saver_


def notebook(saver: Any) -> Any:
    """Return a graph through which threads are written without a model."""
    schema: Any = ThreadState
    builder = StateGraph(schema)
    builder.add_node("note", lambda _: {})
    builder.add_edge(START, "note")
    builder.add_edge("note", END)
    return builder.compile(checkpointer=saver)


def write_threads(
    saver: Any, workspace: LocalWorkspace, texts: Texts, sizes: list[int]
) -> list[str]:
    """Write the threads; return a sample of what was said."""
    graph = notebook(saver)
    files = workspace.scoped(OWNER)
    sample: list[str] = []
    for number, size in enumerate(sizes):
        said = [texts.message() for _ in range(size)]
        sample += said[:: max(1, size // 3)]
        messages: list[AnyMessage] = [
            (AIMessage if at % 2 else HumanMessage)(text, id=f"m{at}")
            for at, text in enumerate(said)
        ]
        key = ThreadKey(f"thread-{number}")
        register_thread(
            files, key, messages=messages, count=size, moment=datetime(2026, 1, 1, tzinfo=UTC)
        )
        owner = {"user": OWNER.user, "agent": OWNER.agent}
        graph.update_state(key.config(), {"messages": messages, "owner": owner}, as_node="note")
    return sample


class Timing:
    """Times of some searches, in milliseconds of the clock and of the processor."""

    def __init__(self) -> None:
        self.clock: list[float] = []
        self.processor: list[float] = []
        self.hits = 0

    def search(self, journal: ThreadJournal, query: str, mode: MatchMode = "phrase") -> None:
        """Search once."""
        clock, processor = time.perf_counter(), time.process_time()
        self.hits += len(journal.search(query, mode))
        self.clock.append((time.perf_counter() - clock) * 1_000)
        self.processor.append((time.process_time() - processor) * 1_000)

    def report(self, title: str) -> None:
        """Print one line of the table."""
        clock, processor = sorted(self.clock), sorted(self.processor)
        at = min(len(clock) - 1, int(len(clock) * 0.95))
        figures = (statistics.median(clock), clock[at], clock[-1], processor[at])
        cells = "".join(f"{figure:>9.1f}" for figure in (*figures, self.hits / len(clock)))
        print(f"{title:<28}{len(clock):>6}{cells}", flush=True)


def measure(
    journal: ThreadJournal, kinds: dict[str, list[tuple[str, MatchMode]]], rounds: int
) -> None:
    """Print how long searches take, the slowest included."""
    columns = "".join(f"{name:>9}" for name in ("p50", "p95", "max", "cpu p95", "hits"))
    print(f"{'kind':<28}{'n':>6}{columns}   milliseconds")
    for kind, asked in kinds.items():
        timing = Timing()
        for _ in range(rounds):
            for query, mode in asked:
                timing.search(journal, query, mode)
        timing.report(kind)


def search_for_news(journal: ThreadJournal, saver: Any, number: int) -> Timing:
    """Return how long a search takes right after something was said in a thread."""
    graph, timing = notebook(saver), Timing()
    for at in range(number):
        message = HumanMessage(f"news number {at}.", id=f"news-{at}")
        graph.update_state(ThreadKey("thread-0").config(), {"messages": [message]}, as_node="note")
        timing.search(journal, f"news number {at}.")
    return timing


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--full", action="store_true", help="a million messages")
    parser.add_argument("--threads", type=int, default=5)
    parser.add_argument("--messages", type=int, default=20, help="in each thread")
    parser.add_argument("--queries", type=int, default=40, help="of each kind")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="an empty folder; default: a temporary one")
    parser.add_argument("--postgres", metavar="URL", help="an empty database instead of a file")
    arguments = parser.parse_args()
    threads, messages = (
        (1_000, 1_000) if arguments.full else (arguments.threads, arguments.messages)
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        workspace = LocalWorkspace(folder / "workspace")
        with checkpointer(folder, arguments.postgres) as saver:
            began = time.perf_counter()
            texts = Texts(seed=7)
            sample = write_threads(saver, workspace, texts, [messages] * threads)
            print(
                f"{threads * messages:,} messages in {threads:,} threads: "
                f"written in {time.perf_counter() - began:.1f} s",
                flush=True,
            )
            journal = ThreadJournal(saver, workspace)
            began = time.perf_counter()
            journal.search("nothing like this")
            print(f"indexed in {time.perf_counter() - began:.1f} s", flush=True)
            index = Path(getattr(workspace.scoped(OWNER), "search_index", ""))
            if index.is_file():
                print(f"index {index.stat().st_size / 1e6:,.0f} MB")
            measure(journal, queries(texts, sample, arguments.queries), arguments.rounds)
            search_for_news(journal, saver, arguments.queries).report("phrase, said just now")


if __name__ == "__main__":
    main()
