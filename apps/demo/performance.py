"""The session itself: two processes, one thread, and a second thread that remembers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from langchain_core.messages import AnyMessage

from .first_process import FirstProcess, Killed
from .places import Places
from .project import Truth, task_text
from .session import Event, open_session

__all__ = ["LATER", "QUESTION", "THREAD", "Outcome", "perform"]

THREAD, LATER = "nightly", "monday"
QUESTION = "Which incident broke the report, since when, and when can I release?"


@dataclass(slots=True)
class Outcome:
    """What the processes left behind.

    Attributes:
        killed: How the first process ended.
        waiting: The nodes that the thread waited for when the second process opened it.
        before: The journal then.
        after: The journal at the end.
        answer: The answer to the task.
        limit: The limit learned from the provider.
        later: The journal of the second thread.
        error: What stopped the session, if something did.
    """

    killed: Killed | None = None
    waiting: tuple[str, ...] = ()
    before: list[AnyMessage] = field(default_factory=list)
    after: list[AnyMessage] = field(default_factory=list)
    answer: str = ""
    limit: int | None = None
    later: list[AnyMessage] = field(default_factory=list)
    error: str = ""


def perform(
    places: Places, truth: Truth, first: FirstProcess, emit: Callable[[Event], None]
) -> Outcome:
    """Play everything. What goes wrong is part of the outcome.

    Args:
        places: Where everything is; the project is there already.
        truth: What the user knows of it.
        first: The process that begins.
        emit: Gets every event, those of the first process included.
    """
    outcome = Outcome()
    try:
        _perform(places, truth, first, emit, outcome)
    except Exception as error:
        outcome.error = f"{type(error).__name__}: {error}"
    return outcome


def _perform(
    places: Places,
    truth: Truth,
    first: FirstProcess,
    emit: Callable[[Event], None],
    outcome: Outcome,
) -> None:
    def note(text: str) -> None:
        emit({"kind": "note", "text": text})

    note("a first process takes on the task: find a bug, repair it, prove it")
    killed = outcome.killed = first.play(THREAD, task_text(truth), emit)
    note(f"process {killed.pid} is killed in the middle of a tool step: exit code {killed.code}")
    with open_session(places, emit) as session:
        outcome.waiting = session.waiting(THREAD)
        outcome.before = session.journal(THREAD)
        note(
            f"a second process resumes: {len(outcome.before)} messages on disk, "
            f"next: {' and '.join(outcome.waiting) or 'nothing'}"
        )
        outcome.answer = session.play(THREAD, None)
        outcome.after = session.journal(THREAD)
        outcome.limit = session.learned_limit(THREAD)
        note(f"a new thread, with memory only: {QUESTION}")
        session.play(LATER, QUESTION)
        outcome.later = session.journal(LATER)
