"""The summariser of a peer: the replay's own stand-in, given whatever prompt the peer writes.

`longthread replay` extracts a summary from what it is shown, the same for the same input. So that a
peer's summary is no better and no worse than ours, the same extract is made here from the messages
in the peer's prompt: LangChain (and deepagents) write them as XML into one message, langmem sends
them as they are with its instruction after them. A summary that a peer sends again as a message is
the previous summary, not something that a user said.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from longthread.graphs.scripted import ScriptedModel
from longthread.state.extract import extract_summary

__all__ = ["previous_and_messages", "stand_in"]

_SHOWN = re.compile(r"<messages>\nMessages to summarize:\n(.*)\n</messages>", re.DOTALL)
_MESSAGE = re.compile(r'<message type="(\w+)">(.*?)</message>', re.DOTALL)
_CONTENT = re.compile(r"<content>(.*?)</content>", re.DOTALL)
_CALL = re.compile(r"<tool_call id=\S* name=([\"'])(.*?)\1>(.*?)</tool_call>", re.DOTALL)
_EARLIER = (
    re.compile(r"^Here is a summary of the conversation to date:\n\n(.*)", re.DOTALL),
    re.compile(
        r"^You are in the middle of a conversation that has been summarized\..*?"
        r"<summary>\n(.*)\n</summary>",
        re.DOTALL,
    ),
)
_EXTENDED = re.compile(
    r"^This is summary of the conversation so far: (.*)\n\nExtend this summary", re.DOTALL
)


def stand_in(*, window: int, max_tokens: int) -> ScriptedModel:
    """Return a model that answers a peer's prompt with an extract.

    Args:
        window: The window that it claims to have, in tokens.
        max_tokens: Bound on each summary.
    """

    def answer(request: list[BaseMessage]) -> str:
        previous, messages = previous_and_messages(request)
        return extract_summary(previous, messages, max_tokens)

    return ScriptedModel(script=answer, profile={"max_input_tokens": window})


def previous_and_messages(request: Sequence[BaseMessage]) -> tuple[str, list[AnyMessage]]:
    """Read the summary so far and the messages to add to it out of a peer's prompt."""
    instruction = str(request[-1].content)
    shown = _SHOWN.search(instruction)
    found: list[Any] = _from_xml(shown[1]) if shown else list(request[:-1])
    extended = _EXTENDED.search(instruction)
    previous = extended[1] if extended else ""
    messages: list[AnyMessage] = []
    for message in found:
        summary = _earlier(message)
        if summary is None:
            messages.append(message)
        else:
            previous = summary
    return previous, messages


def _earlier(message: BaseMessage) -> str | None:
    if isinstance(message, HumanMessage) and isinstance(message.content, str):
        for pattern in _EARLIER:
            if found := pattern.search(message.content):
                return found[1]
    return None


def _from_xml(text: str) -> list[AnyMessage]:
    """Read messages that `get_buffer_string(format="xml")` wrote; content is escaped there."""
    messages: list[AnyMessage] = []
    for kind, body in _MESSAGE.findall(text):
        if kind == "human":
            messages.append(HumanMessage(html.unescape(body)))
        elif kind == "system":
            messages.append(SystemMessage(html.unescape(body)))
        elif kind == "tool":
            messages.append(ToolMessage(html.unescape(body), tool_call_id=""))
        else:
            messages.append(_answer(body))
    return messages


def _answer(body: str) -> AIMessage:
    made = [(name, html.unescape(arguments)) for _, name, arguments in _CALL.findall(body)]
    content = _CONTENT.search(body)
    text = content[1] if content else "" if made else body
    calls = [ToolCall(name=name, args=_arguments(args), id=None) for name, args in made]
    return AIMessage(html.unescape(text), tool_calls=calls)


def _arguments(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"input": text}
