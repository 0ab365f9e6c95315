"""One line of a recording: from JSON to a checked message.

The format is the chat format of OpenAI and of most data sets: `role`, `content`, `tool_calls`,
`tool_call_id`, `name`; other keys are ignored. Roles `developer`, `human` and `ai` are accepted as
well, and so are calls in LangChain's form (`{"name", "args", "id"}`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from ...state.errors import LongthreadError

__all__ = ["SessionError", "parse_line"]

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
}
_SHOWN = 60


class SessionError(LongthreadError):
    """A recording cannot be used: names the file, the line, the field, the value and the fix."""

    code = "INVALID_SESSION"


class Line:
    """Where a value stands, to say what is wrong with it.

    Args:
        path: The file.
        number: The line, counted from 1.
    """

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number

    def wrong(self, field: str, value: Any, fix: str) -> SessionError:
        """Return the error for a field's value."""
        return self.error(f"{field}={_clipped(value)}: {fix}")

    def error(self, what: str) -> SessionError:
        """Return the error for this line."""
        return SessionError(f"{self.path}, line {self.number}: {what}")


def parse_line(text: str, path: Path, number: int) -> AnyMessage:
    """Return the message that a line holds; its id is made of the line's number.

    Args:
        text: The line.
        path: Its file, for errors.
        number: Its place in it, counted from 1.

    Raises:
        SessionError: It is not a message.
    """
    line = Line(path, number)
    try:
        entry = json.loads(text)
    except json.JSONDecodeError as error:
        raise line.error(
            f"not JSON ({error.msg} at column {error.colno}): write one message a line, as one "
            "JSON object"
        ) from error
    except (RecursionError, ValueError) as error:
        raise line.error(
            f"JSON that cannot be read ({str(error) or type(error).__name__})"
        ) from error
    if not isinstance(entry, dict):
        raise line.error(
            f"{_clipped(entry)} is not a message: write one JSON object a line, with 'role' and "
            "'content'"
        )
    return _message(entry, line)


def _message(entry: Mapping[str, Any], line: Line) -> AnyMessage:
    if "role" not in entry:
        raise line.error(f"no 'role': say who speaks, {_roles()}")
    role = entry["role"]
    kind = _ROLES.get(role) if isinstance(role, str) else None
    if kind is None:
        raise line.wrong("role", role, f"use {_roles()}")
    content = _content(entry.get("content"), line)
    if entry.get("tool_calls") and kind != "assistant":
        raise line.wrong("tool_calls", entry["tool_calls"], "only an assistant message has calls")
    message_id = f"line-{line.number}"
    if kind == "system":
        return SystemMessage(content, id=message_id)
    if kind == "user":
        return HumanMessage(content, id=message_id)
    if kind == "assistant":
        calls = _calls(entry.get("tool_calls"), line)
        return AIMessage(content=content, tool_calls=calls, id=message_id)
    call_id = entry.get("tool_call_id")
    if not isinstance(call_id, str) or not call_id:
        raise line.wrong("tool_call_id", call_id, "name the call that this result answers")
    name = entry.get("name")
    if name is not None and not isinstance(name, str):
        raise line.wrong("name", name, "write the tool's name, or leave it out")
    return ToolMessage(content, tool_call_id=call_id, name=name, id=message_id)


def _content(content: Any, line: Line) -> Any:
    """Return text, or content blocks; nothing at all is an empty text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise line.wrong("content", content, "use a text, a list of content blocks, or null")
    for at, block in enumerate(content):
        if isinstance(block, str):
            continue
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            raise line.wrong(f"content[{at}]", block, "use a text, or an object with a 'type'")
        if kind in ("tool_use", "tool_result"):
            raise line.wrong(
                f"content[{at}].type",
                kind,
                "write calls under 'tool_calls' and each result as a message of role 'tool'",
            )
        if kind == "text" and not isinstance(block.get("text"), str):
            raise line.wrong(f"content[{at}].text", block.get("text"), "a text block needs a text")
    return content


def _calls(calls: Any, line: Line) -> list[ToolCall]:
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise line.wrong("tool_calls", calls, "use a list of calls")
    return [_call(call, f"tool_calls[{at}]", line) for at, call in enumerate(calls)]


def _call(call: Any, field: str, line: Line) -> ToolCall:
    if not isinstance(call, dict):
        raise line.wrong(field, call, "use an object with 'id' and 'function'")
    function = call.get("function", call)
    if not isinstance(function, dict):
        raise line.wrong(f"{field}.function", function, "use an object with 'name', 'arguments'")
    field_of = field if function is call else f"{field}.function"
    name = function.get("name")
    if not isinstance(name, str) or not name.strip():
        raise line.wrong(f"{field_of}.name", name, "name the tool that was called")
    call_id = call.get("id")
    if not isinstance(call_id, str) or not call_id:
        raise line.wrong(f"{field}.id", call_id, "give the call an id that its result can name")
    key = "arguments" if "arguments" in function else "args"
    arguments = _arguments(function.get(key), f"{field_of}.{key}", line)
    return ToolCall(name=name, args=arguments, id=call_id, type="tool_call")


def _arguments(arguments: Any, field: str, line: Line) -> dict[str, Any]:
    """Return a call's arguments: an object, or its JSON.

    What a model wrote that is not an object is kept as `{"input": …}`: the result that was recorded
    for the call is the one to play, not an error of ours.
    """
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str):
        raise line.wrong(field, arguments, "use an object, or the text of a JSON object")
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {"input": arguments}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"input": value}


def _roles() -> str:
    return "'system', 'user', 'assistant' or 'tool'"


def _clipped(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
