"""Explicit markers for providers that cache a prompt's prefix only where they are told to.

Anthropic reads a prefix from its cache up to a marked block, and looks back a little from it. So
the stable places are marked: the system prompt, the reference material up to the end of the summary
(a block for each of its parts, so that one that was added to begins as it did), the end of what the
last request already had, and the end of this one. Others cache by themselves and get no markers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from ..state.reference import REFERENCE_ID, reference_blocks

__all__ = ["with_cache_hints"]

_MARKER = {"type": "ephemeral"}
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
    places = {len(messages) - 1, last_step - 1, *range(min(head, 2))}
    return [_marked(message) if at in places else message for at, message in enumerate(messages)]


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
    content[-1] = {**block, "cache_control": _MARKER}
    return message.model_copy(update={"content": content})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
