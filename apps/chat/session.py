"""A chat: reads what is typed, runs turns and commands, until there is no more."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, StateSnapshot

from ...graphs.compiled import AgentGraph
from ...nodes.background import drain
from ...state.channels import ThreadContext
from ...state.text import visible
from ...stores.journal import ThreadJournal
from ...stores.local.workspace import LocalWorkspace
from ...stores.workspace import Owner, ScopedWorkspace
from .interrupts import Interrupts
from .questions import Question, open_questions
from .reader import Reader
from .screen import Screen
from .turn import run_turn

__all__ = ["Session", "new_thread_id"]

Result = TypeVar("Result")

PROMPT = "you> "
_DETAIL_LINES = 40
_GLANCE_SECONDS = 2.0


def new_thread_id() -> str:
    """Return the id of a thread that nobody has."""
    return f"chat-{uuid.uuid4().hex[:12]}"


class Session:
    """One chat.

    Between turns nothing runs but memory work; a turn is a task that Ctrl-C cancels, at a place
    where it waits: what was committed stays, and the rest is done when the turn is resumed.

    Args:
        interrupts: Runs what can be interrupted, in one event loop.
        graph: The agent.
        saver: Its checkpointer.
        workspace: Its workspace.
        reader: Where input comes from.
        screen: Where output goes.
        thread: The id of the thread.
        user: Who talks.
        agent: The agent's name.
    """

    def __init__(
        self,
        *,
        interrupts: Interrupts,
        graph: AgentGraph,
        saver: BaseCheckpointSaver[Any],
        workspace: LocalWorkspace,
        reader: Reader,
        screen: Screen,
        thread: str,
        user: str | None,
        agent: str,
    ) -> None:
        self.interrupts = interrupts
        self.graph = graph
        self.workspace = workspace
        self.reader = reader
        self.screen = screen
        self.thread = thread
        self.owner = Owner(user, agent)
        workspace.scoped(self.owner)  # what cannot be an owner is refused at once
        self._saver = saver
        self.journal = ThreadJournal(saver, workspace, user=user, agent=agent)
        self.over = False
        self.failed = False
        self._context = ThreadContext(user_id=user)
        self._unsent: dict[str, list[HumanMessage]] = {}

    @property
    def config(self) -> RunnableConfig:
        """Names the thread to LangGraph."""
        return {"configurable": {"thread_id": self.thread}}

    @property
    def files(self) -> ScopedWorkspace:
        """The memory files of this user and agent."""
        return self.workspace.scoped(self.owner)

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run something asynchronous to its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; it was cancelled.
        """
        return self.interrupts.run(coroutine)

    def drained(self, seconds: float) -> bool:
        """Wait for memory to be written, and return whether it is.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        with self.interrupts.waiting():
            return drain(seconds)

    def state(self, thread: str | None = None) -> StateSnapshot:
        """Return the thread, or another one, as it is."""
        config: RunnableConfig = {"configurable": {"thread_id": thread or self.thread}}
        return self.run(self.graph.aget_state(config))

    def glance(self) -> StateSnapshot | None:
        """Return the thread as it is, or None if that cannot be said at once."""
        try:
            return self.run(asyncio.wait_for(self.graph.aget_state(self.config), _GLANCE_SECONDS))
        except (Exception, KeyboardInterrupt):  # what is wrong has been said, or will be
            return None

    def talk(self, run_command: Callable[[Session, str], None]) -> None:
        """Take messages and commands until there are no more.

        Args:
            run_command: Runs what begins with a slash.
        """
        while not self.over:
            self.interrupts.forget()  # it was meant for what is over
            try:
                line = self._line(PROMPT)
            except KeyboardInterrupt:
                if not self.reader.interactive:
                    raise
                print()
                self.screen.note("Ctrl-D or /quit ends the chat")
                continue
            if line is None:
                return
            text = line.strip()
            try:
                if text.startswith("/") and "\n" not in text:
                    run_command(self, text)
                elif text:
                    self.say(line)
                else:
                    self.resume(asked=False)
            except KeyboardInterrupt:
                self._interrupted()
            except Exception as error:  # whatever it is, the thread is there still
                self.failed = True
                self.screen.error(error)
                self._hint()

    def say(self, text: str) -> None:
        """Send a message, after those that could not be sent before, and take the answer."""
        kept = self._unsent.get(self.thread, [])
        self._unsent[self.thread] = [*kept, HumanMessage(text, id=str(uuid.uuid4()))]
        if kept:
            missing = self._missing(self.state())
            if [str(each.text) for each in missing[-2:]] == [text, text]:
                del missing[-1]  # said again because it was not stored
            self._unsent[self.thread] = missing
        self._turn({"messages": list(self._unsent[self.thread])})

    def resume(self, *, asked: bool = True) -> None:
        """Go on with an unfinished turn.

        Args:
            asked: Whether to say so when there is none.
        """
        state = self.state()
        if missing := self._missing(state):
            self._turn({"messages": missing})
        elif questions := self._questions(state):
            self._confirm(questions)
        elif state.next or state.tasks:
            self._turn(None)
        elif asked:
            self.screen.note("there is nothing to resume")

    def unfinished(self, state: StateSnapshot) -> bool:
        """Whether a turn waits to be resumed."""
        return bool(self._missing(state) or state.next or state.tasks)

    def unsent(self) -> list[str]:
        """Return what was said and is, as far as is known, not stored."""
        return [str(message.text) for kept in self._unsent.values() for message in kept]

    def move(self, thread: str) -> None:
        """Go to another thread."""
        self.thread = thread

    def _line(self, prompt: str) -> str | None:
        with self.interrupts.waiting():
            return self.reader.line(prompt)

    def _missing(self, state: StateSnapshot) -> list[HumanMessage]:
        """Return those of the messages said here that the thread does not have."""
        missing = [m for m in self._unsent.get(self.thread, []) if not _holds(state, m)]
        self._unsent[self.thread] = missing
        return list(missing)

    def _turn(self, given: Any) -> None:
        self.run(run_turn(self.graph, given, self.config, self._context, self.screen))
        self._unsent.pop(self.thread, None)
        if questions := self._questions(self.state()):
            self._confirm(questions)

    def _questions(self, state: StateSnapshot) -> list[Question]:
        """Return what the tools ask and nobody has answered."""
        if not state.interrupts:
            return []
        return open_questions(state.tasks, self.run(self._saver.aget_tuple(self.config)))

    def _confirm(self, questions: list[Question]) -> None:
        """Ask what the tools ask, and go on with the answers."""
        answers = {
            each.id: False if each.settled else self._answer(each.asked) for each in questions
        }
        self._turn(Command(resume=answers))

    def _answer(self, question: Any) -> Any:
        if not isinstance(question, dict) or question.get("type") != "confirmation":
            question = {"action": str(question), "detail": ""}
        action, detail = str(question.get("action")), str(question.get("detail"))
        if not self.reader.interactive:
            self.screen.note(f"no terminal to confirm it on, so it is refused: {action}")
            return False
        lines = visible(detail, keep="\n").split("\n")
        self.screen.note(f"the agent wants to {action}:")
        for line in lines[:_DETAIL_LINES]:
            print(f"    {line}")
        if len(lines) > _DETAIL_LINES:
            print(f"    … and {len(lines) - _DETAIL_LINES} lines more")
        answer = self._line("Allow it? [y/N] ")
        return (answer or "").strip().lower() in ("y", "yes")

    def _interrupted(self) -> None:
        self.screen.end()
        if not self.reader.interactive:
            raise KeyboardInterrupt
        print()
        self.screen.note("interrupted")
        self._hint()

    def _hint(self) -> None:
        """Say what became of what was said, and how to go on."""
        state = self.glance()
        if state is None:
            if self._unsent.get(self.thread):
                self.screen.note(
                    "the thread cannot be read now; what you said is kept here, and an empty line "
                    "sends it again if it is not stored"
                )
        elif self._missing(state):
            self.screen.note(
                "what you said is not stored: an empty line or /resume sends it again, and so "
                "does the next message"
            )
        elif self.unfinished(state):
            self.screen.note("an empty line or /resume goes on with the turn; or say more")


def _holds(state: StateSnapshot, message: HumanMessage) -> bool:
    messages = (state.values or {}).get("messages") or ()
    return any(each.id == message.id for each in reversed(messages))
