"""A message as every provider takes it, whichever has made it.

What one provider refuses stands in the journal, and would be refused in every later request too.
Nothing here depends on more than the message and the names of the tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from .counting import is_media, text_of
from .text import clip_end, clip_start

__all__ = ["is_call", "is_reasoning", "says_something", "sendable", "unreadable"]

_REASONING = ("thinking", "redacted_thinking", "reasoning")
# Blocks that repeat a call of their message: under which key its id, and its arguments, stand.
_CALLS = {
    "tool_use": ("id", "input", {}),
    "tool_call": ("id", "args", {}),
    "invalid_tool_call": ("id", "args", {}),
    "function_call": ("call_id", "arguments", "{}"),
}
_NOT_IN_TOOL_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_NOT_IN_NAMES = re.compile(r"[\s<|\\/>]+")
_LONGEST_NAME = 64
_SHOWN = 500  # characters at the beginning of what could not be read, and again at the end

Call = Mapping[str, Any]


def is_reasoning(block: Any) -> bool:
    """Whether a content block is a model's reasoning, which providers sign."""
    return isinstance(block, dict) and block.get("type") in _REASONING


def is_call(block: Any) -> bool:
    """Whether a content block repeats a call that stands in `tool_calls`."""
    return isinstance(block, dict) and block.get("type") in tuple(_CALLS)


def says_something(message: AIMessage) -> bool:
    """Whether there is anything in an answer that has no calls."""
    blocks = [message.content] if isinstance(message.content, str) else message.content
    return any(map(_is_said, blocks))


def _is_said(block: Any) -> bool:
    """Whether a block can be all there is in a message.

    Thinking that nothing came of cannot, nor can what is left of calls that were taken away.
    """
    if isinstance(block, str):
        return bool(block.strip())
    if isinstance(block, dict) and block.get("type") == "text":
        return bool(str(block.get("text") or "").strip())
    return not is_reasoning(block) and not is_call(block)


def sendable(message: AnyMessage, tools: Callable[[], Collection[str]]) -> AnyMessage:
    """Return the message itself, or what stands for it in a request.

    Args:
        message: A message of the journal.
        tools: Returns the names of the tools that the model is offered.
    """
    if isinstance(message, AIMessage):
        return _named(_with_calls(message, tools), _NOT_IN_NAMES)
    if isinstance(message, ToolMessage):
        if message.content == []:
            message = message.model_copy(update={"content": "[]"})
        return message if message.name in tools() else _named(message, _NOT_IN_TOOL_NAMES)
    return _named(_filled(message), _NOT_IN_NAMES)


def _filled(message: AnyMessage) -> AnyMessage:
    """Return a question that says nothing with a word for that."""
    if not isinstance(message, HumanMessage) or text_of(message.content).strip():
        return message
    if any(map(is_media, message.content)):
        return message
    return message.model_copy(update={"content": "[empty message]"})


def _named(message: AnyMessage, wrong: re.Pattern[str]) -> AnyMessage:
    """Return the message with a name that OpenAI takes."""
    name = message.name
    if not name or (len(name) <= _LONGEST_NAME and not wrong.search(name)):
        return message
    return message.model_copy(update={"name": wrong.sub("_", name)[:_LONGEST_NAME]})


def _with_calls(message: AIMessage, tools: Callable[[], Collection[str]]) -> AIMessage:
    """Return an answer whose calls all can be read and answered.

    - Arguments that are no JSON are left out: servers that read them back (vLLM, llama.cpp) refuse
      the request. The call's result says what they were.
    - Of calls without an id, or several with the same, the first with one stays, as of results.
    - Names that no tool can have are respelled.
    - Blocks that repeat a call go with it: an application that edits `tool_calls` may leave them.
    """
    if (
        not message.tool_calls
        and not message.invalid_tool_calls
        and isinstance(message.content, str)
    ):
        return message
    calls: dict[str, Call] = {}
    for call in message.tool_calls:
        if call["id"] and call["id"] not in calls:
            name = _tool_name(call["name"], tools)
            calls[call["id"]] = call if name == call["name"] else {**call, "name": name}
    changed = {c["id"] for c in message.tool_calls if c["id"] and calls[c["id"]] is not c}
    for wrong in message.invalid_tool_calls:
        if wrong["id"] and wrong["id"] not in calls:
            changed.add(wrong["id"])
            name = _tool_name(wrong["name"], tools)
            calls[wrong["id"]] = {"name": name, "args": {}, "id": wrong["id"], "type": "tool_call"}
    content = message.content
    if not isinstance(content, str):
        invalid = {call["id"] for call in message.invalid_tool_calls}
        content = _with_blocks(content, calls, changed, invalid)
    kept = list(calls.values())
    if kept == message.tool_calls and not message.invalid_tool_calls and content == message.content:
        return message
    update = {"tool_calls": kept, "invalid_tool_calls": [], "content": content}
    return message.model_copy(update=update)


def _with_blocks(
    content: list[Any],
    calls: Mapping[str, Call],
    changed: Collection[Any],
    invalid: Collection[Any],
) -> list[Any]:
    """Return content blocks of which those that repeat calls repeat these."""
    found: list[Any] = []
    seen: set[str] = set()
    for block in content:
        if not is_call(block):
            found.append(block)
            continue
        key, arguments, none = _CALLS[block["type"]]
        call_id = block.get(key)
        if call_id not in calls or call_id in seen:
            continue
        seen.add(call_id)
        if call_id in changed:
            block = {**block, "name": calls[call_id]["name"]}
        if call_id in invalid and call_id in changed:
            block = {k: v for k, v in block.items() if k not in ("partial_json", "error")}
            block[arguments] = none
            if block["type"] == "invalid_tool_call":
                block["type"] = "tool_call"
        found.append(block)
    return found


def _tool_name(name: str | None, tools: Callable[[], Collection[str]]) -> str:
    """Return the name of a called tool as providers take it."""
    if not name:
        return "unknown_tool"
    if (len(name) <= _LONGEST_NAME and not _NOT_IN_TOOL_NAMES.search(name)) or name in tools():
        return name
    return _NOT_IN_TOOL_NAMES.sub("_", name)[:_LONGEST_NAME]


def unreadable(call: Call) -> str:
    """Return what the model is told of a call whose arguments are no JSON, as its result."""
    written, reason = call.get("args") or "", call.get("error") or "not JSON"
    if written:
        reason = reason.replace(written, "[…]")  # some clients' errors hold all of it
    return (
        f"Error: the arguments of this call could not be read: {reason}. "
        f"Call the tool again with valid JSON arguments.{_as_written(written)}"
    )


def _as_written(arguments: str) -> str:
    """Say what the arguments were: the call itself is shown without what cannot be read."""
    if len(arguments) <= 2 * _SHOWN:
        return f" They were: {arguments}" if arguments else ""
    head, tail = clip_end(arguments, _SHOWN), clip_start(arguments, _SHOWN)
    return f" They began with: {head}\nand ended with: {tail}"
