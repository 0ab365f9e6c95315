"""Writing messages as a recording: the lines that `longthread replay` reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ...state.text import encodable

__all__ = ["recorded_lines"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
# These stand in `tool_calls` and in messages of their own, and a reader takes them from there.
_ELSEWHERE = ("tool_use", "tool_result", "tool_call", "function_call", "input_json_delta")


def recorded_lines(messages: Iterable[AnyMessage]) -> Iterator[str]:
    """Yield one line of JSON for each message, without its newline.

    Role, content, calls and results, with the message's id. What only an application sees (an
    artifact, a provider's metadata) is left out.
    """
    for message in messages:
        entry: dict[str, Any] = {"role": _ROLES.get(message.type, "user")}
        if message.id:
            entry["id"] = message.id
        if message.name:
            entry["name"] = message.name
        entry["content"] = _content(message.content)
        if isinstance(message, AIMessage) and (calls := list(_calls(message))):
            entry["tool_calls"] = calls
        if isinstance(message, ToolMessage):
            entry["tool_call_id"] = message.tool_call_id
        yield json.dumps(encodable(entry), ensure_ascii=False, default=str)


def _content(content: Any) -> Any:
    if isinstance(content, str):
        return content
    return [
        block for block in content if isinstance(block, str) or block.get("type") not in _ELSEWHERE
    ]


def _calls(message: AIMessage) -> Iterator[dict[str, Any]]:
    """Yield the calls of an answer, those included whose arguments are not JSON."""
    calls: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    for number, call in enumerate(calls):
        arguments = call.get("args")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments or {}, ensure_ascii=False, default=str)
        yield {
            "id": call.get("id") or f"{message.id or 'call'}-{number}",
            "type": "function",
            "function": {"name": call.get("name") or "unknown", "arguments": arguments},
        }
