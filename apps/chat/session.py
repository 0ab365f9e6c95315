"""A chat: reads what is typed, runs turns and commands, until there is no more."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, Interrupt, StateSnapshot

from ...graphs.compiled import AgentGraph
from ...state.channels import ThreadContext
from ...state.text import visible
from ...stores.journal import ThreadJournal
from ...stores.local import LocalWorkspace
from ...stores.workspace import Owner, ScopedWorkspace
from .reader import Reader
from .screen import Screen
from .turn import run_turn

__all__ = ["Session", "new_thread_id"]

Result = TypeVar("Result")

PROMPT = "you> "
_DETAIL_LINES = 40
_RESUME = "__resume__"  # the channel of answers that LangGraph keeps for a task


def new_thread_id() -> str:
    """Return the id of a thread that nobody has."""
    return f"chat-{uuid.uuid4().hex[:12]}"


class Session:
    """One chat.

    Between turns nothing runs but memory work; a turn is a task that Ctrl-C cancels, at a place
    where it waits: what was committed stays, and the rest is done when the turn is resumed.

    Args:
        runner: Runs the asynchronous parts, all in one event loop.
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
        runner: asyncio.Runner,
        graph: AgentGraph,
        saver: BaseCheckpointSaver[Any],
        workspace: LocalWorkspace,
        reader: Reader,
        screen: Screen,
        thread: str,
        user: str | None,
        agent: str,
    ) -> None:
        self.runner = runner
        self.graph = graph
        self.workspace = workspace
        self.reader = reader
        self.screen = screen
        self.thread = thread
        self.owner = Owner(user, agent)
        self._saver = saver
        self.journal = ThreadJournal(saver, workspace, user=user, agent=agent)
        self.over = False
        self.failed = False
        self._context = ThreadContext(user_id=user)
        self._unsent: HumanMessage | None = None

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
        return self.runner.run(coroutine)

    def state(self) -> StateSnapshot:
        """Return the thread as it is."""
        return self.run(self.graph.aget_state(self.config))

    def talk(self, run_command: Callable[[Session, str], None]) -> None:
        """Take messages and commands until there are no more.

        Args:
            run_command: Runs what begins with a slash.
        """
        while not self.over:
            try:
                line = self.reader.line(PROMPT)
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
        """Send a message and take the answer."""
        self._unsent = HumanMessage(text, id=str(uuid.uuid4()))
        self._turn({"messages": [self._unsent]})

    def resume(self, *, asked: bool = True) -> None:
        """Go on with an unfinished turn.

        Args:
            asked: Whether to say so when there is none.
        """
        state = self.state()
        if self._unsent is not None and not _holds(state, self._unsent):
            self._turn({"messages": [self._unsent]})
        elif questions := self._questions(state):
            self._confirm(questions)
        elif state.next or state.tasks:
            self._turn(None)
        elif asked:
            self.screen.note("there is nothing to resume")

    def unfinished(self) -> bool:
        """Whether a turn waits to be resumed."""
        state = self.state()
        unsent = self._unsent is not None and not _holds(state, self._unsent)
        return bool(unsent or state.next or state.tasks)

    def move(self, thread: str) -> None:
        """Go to another thread."""
        self.thread = thread
        self._unsent = None

    def _turn(self, given: Any) -> None:
        self.run(run_turn(self.graph, given, self.config, self._context, self.screen))
        state = self.state()
        self._unsent = None
        if questions := self._questions(state):
            self._confirm(questions)

    def _questions(self, state: StateSnapshot) -> list[Interrupt]:
        """Return what the tools ask and nobody has answered.

        A tool that was interrupted after its answer keeps that answer: asked again, a no would not
        count. It is gone on with, and the model is told that the tool was cut off.
        """
        if not state.interrupts:
            return []
        stored = self.run(self._saver.aget_tuple(self.config))
        writes = (stored.pending_writes or ()) if stored is not None else ()
        answered = {task for task, channel, _ in writes if channel == _RESUME}
        open_tasks = (task for task in state.tasks if task.id not in answered)
        return [each for task in open_tasks for each in task.interrupts]

    def _confirm(self, questions: list[Interrupt]) -> None:
        """Ask what the tools ask, and go on with the answers."""
        answers = {each.id: self._answer(each.value) for each in questions}
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
        answer = self.reader.line("Allow it? [y/N] ")
        return (answer or "").strip().lower() in ("y", "yes")

    def _interrupted(self) -> None:
        self.screen.end()
        if not self.reader.interactive:
            raise KeyboardInterrupt
        print()
        self.screen.note("interrupted")
        self._hint()

    def _hint(self) -> None:
        """Say how to go on, if a turn waits."""
        with contextlib.suppress(Exception):
            if self.unfinished():
                self.screen.note("an empty line or /resume goes on with the turn; or say more")


def _holds(state: StateSnapshot, message: HumanMessage) -> bool:
    messages = (state.values or {}).get("messages") or ()
    return any(each.id == message.id for each in reversed(messages))
