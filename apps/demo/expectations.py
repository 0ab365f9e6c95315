"""What the demo claims, held against what is really there. Every one of these can fail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from langchain_core.messages import AnyMessage, ToolMessage

from ...state.counting import text_of
from .performance import Outcome
from .places import Places
from .project import LOG, Truth
from .run_log import RunLog, ToolRun
from .session import LIMIT
from .tally import NODES, Tally
from .tools import run_checks

__all__ = ["Expectation", "evicted_file", "expectations", "ledgers", "ran_once", "repeated"]


class Expectation(NamedTuple):
    """One claim.

    Attributes:
        claim: What should be so.
        holds: Whether it is.
    """

    claim: str
    holds: bool


def expectations(places: Places, truth: Truth, tally: Tally, outcome: Outcome) -> list[Expectation]:
    """Check every claim of the demo.

    Args:
        places: Where everything is.
        truth: What the agent had to find out.
        tally: What happened.
        outcome: What was left behind.
    """
    missing = ", ".join(node for node in NODES if not tally.visits[node])
    stopped = f", but: {outcome.error}" if outcome.error else ""
    return [
        Expectation(f"the session was played to its end{stopped}", not outcome.error),
        Expectation(
            f"every node was visited{f', but not {missing}' if missing else ''}", not missing
        ),
        *_context(places, tally, outcome),
        *_resume(places, outcome),
        *_work(places, truth, outcome),
        *_memory(places, truth, tally, outcome),
        Expectation(
            "it cost less than the same session unmanaged",
            0 < tally.managed.cost < tally.unmanaged.cost,
        ),
    ]


def evicted_file(places: Places) -> Path | None:
    """Return the file that the huge result went to, if there is one."""
    stored = places.agent_files.glob("large_tool_results/*/*.txt")
    return max(stored, key=lambda path: path.stat().st_size, default=None)


def ledgers(places: Places) -> list[Path]:
    """Return the daily ledgers."""
    return sorted(places.agent_files.glob("memory/*.md"))


def _context(places: Places, tally: Tally, outcome: Outcome) -> Iterable[Expectation]:
    stored = evicted_file(places)
    log = places.project / LOG
    yield Expectation(
        "the huge log is in a file, complete",
        stored is not None and stored.read_bytes() == log.read_bytes(),
    )
    yield Expectation(
        "the provider refused one request, and its limit was learned from the error",
        len(tally.refused) == 1 and tally.refused[0] > LIMIT and outcome.limit == LIMIT,
    )
    yield Expectation(
        "no other request was above the limit", max(tally.sent, default=LIMIT + 1) <= LIMIT
    )
    triggers = Counter(facts["trigger"] for facts in tally.facts.get("compaction", ()))
    yield Expectation(
        "one compaction was forced by the overflow, another came in time by itself",
        triggers["overflow"] == 1 and triggers["automatic"] >= 1,
    )
    before = [a for a, b in zip(tally.order, tally.order[1:], strict=False) if b == "compaction"]
    yield Expectation(
        "facts were written down before each compaction",
        bool(before) and set(before) == {"flush"},
    )


def _resume(places: Places, outcome: Outcome) -> Iterable[Expectation]:
    killed = outcome.killed
    yield Expectation(
        "the first process was killed in the middle of a tool step",
        killed is not None and killed.code != 0 and set(outcome.waiting) == {"tools"},
    )
    before, after = ids(outcome.before), ids(outcome.after)
    yield Expectation(
        "the second process lost no message",
        0 < len(before) < len(after) and after[: len(before)] == before,
    )
    runs = RunLog(places.run_log).runs()
    yield Expectation(
        "what was finished before the kill was on disk, and each finished call ran once",
        killed is not None and killed.committed > 0 and ran_once(runs, outcome.after, killed.held),
    )
    yield Expectation("two processes shared the work", len({run.pid for run in runs}) == 2)


def _work(places: Places, truth: Truth, outcome: Outcome) -> Iterable[Expectation]:
    yield Expectation(
        "the project's own checks pass", run_checks(places.project) == "all checks pass"
    )
    changelog = (places.project / "CHANGELOG.md").read_text(encoding="utf-8")
    yield Expectation(
        "the change is entered in CHANGELOG.md, once", changelog.count(truth.incident) == 1
    )
    facts = (truth.incident, truth.culprit, truth.rounding, truth.first_day, f"{truth.cents} cents")
    yield Expectation(
        "the answer has every fact right, long after their messages were gone",
        all(fact in outcome.answer for fact in facts),
    )
    modules = [path.read_text(encoding="utf-8") for path in places.project.glob("harbor/*.py")]
    changed = [line for text in modules for line in text.splitlines() if "# [" in line]
    yield Expectation(
        "every changed line is signed as the user asked",
        bool(changed) and all(f"[{truth.tag}]" in line for line in changed),
    )


def _memory(places: Places, truth: Truth, tally: Tally, outcome: Outcome) -> Iterable[Expectation]:
    written = "".join(path.read_text(encoding="utf-8") for path in ledgers(places))
    memory = places.agent_files / "MEMORY.md"
    curated = memory.read_text(encoding="utf-8") if memory.exists() else ""
    yield Expectation(
        "the day's ledger and MEMORY.md have the facts",
        all(fact in text for text in (written, curated) for fact in (truth.incident, "14:30")),
    )
    said = text_of(outcome.later[-1].content) if outcome.later else ""
    facts = (truth.incident, truth.culprit, truth.first_day, f"{truth.cents} cents", "14:30")
    yield Expectation(
        "a new thread answered from memory, without a tool",
        all(fact in said for fact in facts) and len(outcome.later) == 2,
    )
    flushes = [facts["path"] for facts in tally.facts.get("flush", ())]
    yield Expectation("no fact was written twice", bool(flushes) and not repeated(written))


def ids(journal: Iterable[AnyMessage]) -> list[str | None]:
    """Return the ids of messages."""
    return [message.id for message in journal]


def ran_once(runs: Iterable[ToolRun], journal: Iterable[AnyMessage], held: str) -> bool:
    """Whether every logged call has one result in the journal and ran to its end exactly once.

    Args:
        runs: The lines of the log.
        journal: The whole thread.
        held: The call that the kill interrupted; it may have begun twice.
    """
    runs = list(runs)
    started = Counter(run.call for run in runs if run.state == "started")
    finished = Counter(run.call for run in runs if run.state == "finished")
    answered = Counter(m.tool_call_id for m in journal if isinstance(m, ToolMessage))
    again = {call for call, times in started.items() if times > 1}
    return (
        bool(finished)
        and set(finished.values()) == {1}
        and again <= {held}
        and set(started) - {held} <= set(finished)
        and all(answered[call] == 1 for call in started)
    )


def repeated(ledger: str) -> list[str]:
    """Return the facts that a ledger has more than once."""
    facts = Counter(re.findall(r"^- (.+)$", ledger, re.MULTILINE))
    return [fact for fact, times in facts.items() if times > 1]
