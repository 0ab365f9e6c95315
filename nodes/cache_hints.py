"""Explicit markers for providers that cache a prompt's prefix only where they are told to.

Anthropic reads a prefix from its cache up to a marked block, and looks back a little from it. So
the stable places are marked: the system prompt, the reference material up to the end of the summary
(a block for each of its parts, so that one that was added to begins as it did), the end of what the
last request already had, and the end of this one. Others cache by themselves and get no markers.

It refuses a request with more than four. An application's own markers stay and take their places:
the end of this request and of the last one are then worth more than what stands before them. Nor
does it take a marker that holds for an hour after one of ours, which hold for five minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from ..state.reference import REFERENCE_ID, reference_blocks

__all__ = ["with_cache_hints"]

_MARKER = {"type": "ephemeral"}
_MOST = 4
_MARKABLE = frozenset({"text", "image", "document", "tool_result", "tool_use"})


def with_cache_hints(messages: Sequence[AnyMessage], head: int) -> list[AnyMessage]:
    """Return the request with up to four markers; what is sent is otherwise the same.

    Args:
        messages: The request.
        head: How many messages at its beginning are no part of the journal's body: system prompt,
            reference, and a human message shown again.
    """
    last_step = len(messages) - 1
    while last_step > head and isinstance(messages[last_step], ToolMessage):
        last_step -= 1
    hinted = list(messages)
    left = _MOST - sum(map(_markers, messages))
    first = max((at for at, message in enumerate(messages) if _lasts(message)), default=0)
    for at in dict.fromkeys([len(messages) - 1, last_step - 1, *reversed(range(min(head, 2)))]):
        if not first <= at < len(messages):
            continue
        marked = _marked(messages[at])
        more = _markers(marked) - _markers(messages[at])
        if more <= left:
            hinted[at] = marked
            left -= more
    return hinted


def _markers(message: AnyMessage) -> int:
    """How many markers a message has."""
    if isinstance(message.content, str):
        return 0
    return sum(isinstance(block, dict) and "cache_control" in block for block in message.content)


def _lasts(message: AnyMessage) -> bool:
    """Whether a message has a marker that holds for longer than ours."""
    if isinstance(message.content, str):
        return False
    marks = [block.get("cache_control") for block in message.content if isinstance(block, dict)]
    return any(isinstance(mark, dict) and mark.get("ttl", "5m") != "5m" for mark in marks)


def _marked(message: AnyMessage) -> AnyMessage:
    """Return the message with a marker on its last block, itself if that cannot bear one."""
    content: list[Any]
    if isinstance(message.content, str):
        if not message.content.strip():
            return message
        blocks, after = [message.content], ""
        if message.id == REFERENCE_ID:
            blocks, after = reference_blocks(message.content)
        content = [_text(block) for block in blocks]
        content[-1]["cache_control"] = _MARKER
        content += [_text(after)] if after else []
        return message.model_copy(update={"content": content})
    content = list(message.content)
    block = content[-1] if content else None
    if not isinstance(block, dict) or block.get("type") not in _MARKABLE:
        return message
    if block["type"] == "text" and not str(block.get("text", "")).strip():
        return message
    content[-1] = {"cache_control": _MARKER, **block}
    return message.model_copy(update={"content": content})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
