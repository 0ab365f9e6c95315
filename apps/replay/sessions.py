"""Recordings: which files there are, what they hold, and in which steps they are played.

How a recording is read, where it is not simply turn after turn:

- System messages at the beginning join the system prompt; later ones are input like a human's.
- Assistant messages without calls before the first human one are a greeting that no request asked
  for: they are part of the first input. (Without any human message they are answers like others.)
- An assistant message right after one without calls is an answer to a request without new input.
- A result belongs to the latest call of its id and is played right after it, wherever it stands; a
  second one, and one without a call, is left out and counted.
- A call id that comes again gets a number (`call_1~2`), so that each call keeps its own result.
- A call without a result is played as interrupted; those of the last answer are not played at all,
  since no request follows.
- Human messages after the last answer are left out: nobody answered them.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from ...state.counting import count_message
from .lines import SessionError, parse_line

__all__ = ["Session", "SessionError", "Step", "find_sessions", "parse_session", "read_session"]


@dataclass(slots=True)
class Step:
    """One request of a recording and what came of it.

    Attributes:
        inputs: Messages that arrived before it: human ones, and system messages.
        answer: The assistant message that answered it.
        results: What its calls returned, in the recorded order.
    """

    inputs: list[AnyMessage]
    answer: AIMessage
    results: list[ToolMessage] = field(default_factory=list)


@dataclass(slots=True)
class Session:
    """A recording, ready to be played.

    Attributes:
        path: The file.
        steps: Its requests, in order; at least one.
        recorded: Messages in the file.
        tokens: Estimated tokens of all that is played.
        duplicates: Results left out because their call has one already.
        strays: Results left out because nothing called for them.
        unanswered: Calls, other than the last answer's, that have no result.
        leftover: Input after the last answer, left out.
    """

    path: Path
    steps: list[Step]
    recorded: int
    tokens: int
    duplicates: int = 0
    strays: int = 0
    unanswered: int = 0
    leftover: int = 0

    @property
    def tool_names(self) -> list[str]:
        """The tools that were called, in order of first use."""
        names = (call["name"] for step in self.steps for call in step.answer.tool_calls)
        return list(dict.fromkeys(names))


def find_sessions(names: Sequence[str]) -> list[Path]:
    """Return the files that the given files, patterns and folders (their `*.jsonl`) stand for.

    Args:
        names: Paths as they were typed; patterns that a shell has not expanded are expanded here.

    Raises:
        SessionError: One of them stands for no file.
    """
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            files = sorted(path.glob("*.jsonl"))
            if not files:
                raise SessionError(f"{path}: no .jsonl file is in this folder")
            found += files
        elif path.exists():
            found.append(path)
        else:
            matches = map(Path, sorted(glob.glob(name, recursive=True)))
            files = [file for file in matches if not file.is_dir()]
            if not files:
                raise SessionError(f"{path}: no such file")
            found += files
    return list(dict.fromkeys(found))


def read_session(path: Path) -> Session:
    """Read a recording: JSON lines in UTF-8, one message a line, blank lines ignored.

    Raises:
        SessionError: It cannot be read, a line is not a message, or it holds no answer.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SessionError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if data.startswith(b"SQLite format 3"):
            raise SessionError(
                f"{path}: a database, not a recording: write a thread of it to a file with "
                f"longthread thread export THREAD --checkpointer {path} --output session.jsonl"
            ) from error
        number = data.count(b"\n", 0, error.start) + 1
        raise SessionError(
            f"{path}, line {number}: byte {data[error.start]:#04x} is not UTF-8: save the file as "
            "UTF-8"
        ) from error
    return parse_session(text, path)


def parse_session(text: str, path: Path) -> Session:
    """Read a recording from its text; `path` is for errors and reports."""
    # Not `splitlines()`: U+2028 and the like may stand as they are in JSON.
    lines = enumerate(text.split("\n"), start=1)
    messages = [parse_line(line, path, number) for number, line in lines if line.strip()]
    if not messages:
        raise SessionError(f"{path}: the file is empty: write one message a line")
    session = _in_steps(messages, path)
    if not session.steps:
        raise SessionError(f"{path}: no message of role 'assistant': there is nothing to replay")
    session.unanswered = sum(
        len(step.answer.tool_calls) - len(step.results) for step in session.steps[:-1]
    )
    played = [m for s in session.steps for m in (*s.inputs, s.answer, *s.results)]
    session.tokens = sum(map(count_message, played))
    return session


def _in_steps(messages: Sequence[AnyMessage], path: Path) -> Session:
    session = Session(path=path, steps=[], recorded=len(messages), tokens=0)
    first_human = next((i for i, m in enumerate(messages) if isinstance(m, HumanMessage)), -1)
    inputs: list[AnyMessage] = []
    calls: dict[str, tuple[Step, str]] = {}  # recorded id → the latest step that uses it, played id
    taken: set[str] = set()
    answered: set[str] = set()
    for at, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            step, call_id = calls.get(message.tool_call_id, (None, ""))
            if step is None:
                session.strays += 1
            elif call_id in answered:
                session.duplicates += 1
            else:
                answered.add(call_id)
                step.results.append(message.model_copy(update={"tool_call_id": call_id}))
        elif isinstance(message, AIMessage) and (message.tool_calls or at > first_human):
            answer = _with_unique_ids(message, taken)
            session.steps.append(Step(inputs, answer))
            inputs = []
            for recorded, played in zip(message.tool_calls, answer.tool_calls, strict=True):
                calls[recorded["id"] or ""] = (session.steps[-1], played["id"] or "")
        else:
            inputs.append(message)
    session.leftover = len(inputs) if session.steps else 0
    return session


def _with_unique_ids(message: AIMessage, taken: set[str]) -> AIMessage:
    calls = []
    for call in message.tool_calls:
        recorded = call["id"] or ""
        played, number = recorded, 1
        while played in taken:
            number += 1
            played = f"{recorded}~{number}"
        taken.add(played)
        calls.append({**call, "id": played})
    return message.model_copy(update={"tool_calls": calls})
