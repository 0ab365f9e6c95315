"""A model for `--scripted`: no key, no network, and it streams.

It remembers, looks at files, writes and runs what it is told in so many words, and counts for as
long as anybody likes; everything else it repeats.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk

from ...graphs.scripted import ScriptedModel

__all__ = ["EchoModel", "echo"]

_PACE = 0.02
_ORDERS = (
    (r"remember (?:that )?(.+)", "memory_save", ("content",)),
    (r"list files(?: in (\S+))?", "list_files", ("path",)),
    (r"read (?:file )?(\S+)", "view_file", ("path",)),
    (r"find (.+)", "search_files", ("query",)),
    (r"write (\S+): (.*)", "write_file", ("path", "content")),
    (r"run (.+)", "run_command", ("command",)),
)


class EchoModel(ScriptedModel):
    """A scripted model whose answers come word by word."""

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[Any]:
        for chunk in _chunks(self._answer(messages)):
            time.sleep(_PACE)
            yield chunk

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[Any]:
        for chunk in _chunks(self._answer(messages)):
            await asyncio.sleep(_PACE)
            yield chunk

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        answer = self.script(messages)
        return AIMessage(answer) if isinstance(answer, str) else answer


def echo(messages: list[BaseMessage]) -> AIMessage | str:
    """Answer a request."""
    last = messages[-1]
    text = str(last.text)
    system = str(messages[0].text) if messages[0].type == "system" else ""
    if "<previous_summary>" in text:
        said = text.partition("<messages>")[2].strip()
        return f"## Facts\nThis was said: {said[:200]}"
    if "NO_REPLY" in system:
        return "NO_REPLY"
    if "MEMORY.md" in system:
        kept = text.partition("<memory>")[2].partition("</memory>")[0].strip()
        return kept or text
    if isinstance(last, ToolMessage):
        return f"It says:\n\n{text}"
    if not isinstance(last, HumanMessage):
        return "Go on."
    for order, tool, names in _ORDERS:
        if found := re.fullmatch(order, text.strip(), re.IGNORECASE | re.DOTALL):
            arguments = {n: v for n, v in zip(names, found.groups(), strict=True) if v is not None}
            call = {"name": tool, "args": arguments, "id": f"call-{uuid4().hex[:12]}"}
            return AIMessage("", tool_calls=[call])
    if counted := re.fullmatch(r"count to (\d{1,4})", text.strip(), re.IGNORECASE):
        return " ".join(map(str, range(1, int(counted[1]) + 1)))
    if re.search(r"what do you (remember|know)", text, re.IGNORECASE):
        return _remembered(messages)
    return f"You said {len(text)} characters: {text[:200]}\n\nI was sent {len(messages)} messages."


def _remembered(messages: list[BaseMessage]) -> str:
    for message in messages[:3]:
        if "HARNESS_CONTEXT" in str(message.text):
            return f"From memory:\n\n{message.text}"
    return "Nothing yet."


def _chunks(answer: AIMessage) -> Iterator[ChatGenerationChunk]:
    for piece in re.findall(r"\S*\s*", str(answer.text)):
        if piece:
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
    calls: list[Any] = [
        {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": at}
        for at, call in enumerate(answer.tool_calls)
    ]
    last = AIMessageChunk(
        content="", tool_call_chunks=calls, response_metadata={"finish_reason": "stop"}
    )
    yield ChatGenerationChunk(message=last)
