"""Ids of tool calls as Anthropic takes them.

It refuses every request in which an id holds anything but letters, digits, `_` and `-`. Other
providers make such ids (`functions.look:0`), and want them back as they were: so they are
changed only in what is sent to it, the same id always in the same way.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

__all__ = ["with_plain_ids"]

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def with_plain_ids(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the request with plain ids; messages that have them already are the same objects."""
    return [_plain(message) for message in messages]


def _plain(message: AnyMessage) -> AnyMessage:
    if isinstance(message, ToolMessage):
        plain = _plain_id(message.tool_call_id)
        if plain == message.tool_call_id:
            return message
        return message.model_copy(update={"tool_call_id": plain})
    if not isinstance(message, AIMessage) or not any(_is_odd(c["id"]) for c in message.tool_calls):
        return message
    calls = [{**call, "id": _plain_id(call["id"] or "")} for call in message.tool_calls]
    content: Any = message.content
    if not isinstance(content, str):
        content = [_block(block) for block in content]
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _block(block: Any) -> Any:
    """Blocks repeat the ids of the calls that they are."""
    if not isinstance(block, dict):
        return block
    changed = {
        key: _plain_id(block[key])
        for key in ("id", "call_id", "tool_use_id")
        if isinstance(block.get(key), str) and _is_odd(block[key])
    }
    return {**block, **changed} if changed else block


def _is_odd(call_id: str | None) -> bool:
    return call_id is not None and _ODD.search(call_id) is not None


def _plain_id(call_id: str) -> str:
    if not _is_odd(call_id):
        return call_id
    mark = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_ODD.sub('_', call_id)}_{mark}"
