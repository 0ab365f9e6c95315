"""How many tokens a message takes in a request, estimated.

Text is counted with `load_tokenizer()`; an image or file has a flat cost, never the length of its
base64.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from .journal import Journal
from .tokenizer import load_tokenizer

__all__ = [
    "FILE_TOKENS",
    "IMAGE_TOKENS",
    "count_known",
    "count_media",
    "count_message",
    "count_schemas",
    "count_text",
    "is_media",
    "text_of",
]

IMAGE_TOKENS = 1_200
"""One image: what providers ask for a picture of about one megapixel."""
FILE_TOKENS = 3_000
"""One attached document, recording or film: a guess that errs on the safe side."""
MESSAGE_OVERHEAD = 4
CALL_OVERHEAD = 8
RESULT_OVERHEAD = MESSAGE_OVERHEAD + CALL_OVERHEAD

_IMAGE_TYPES = frozenset({"image", "image_url", "input_image"})
_FILE_TYPES = frozenset(
    {"file", "input_file", "document", "audio", "input_audio", "video", "media", "pdf"}
)
_NOT_SAID = frozenset(
    {"tool_use", "tool_call", "function_call", "thinking", "redacted_thinking", "reasoning"}
)
# Short texts come back often (placeholders, previews); of long ones only prompts and references do.
_SHORT, _LONG = 8_192, 262_144


def count_text(text: str) -> int:
    """Estimate the tokens of a text."""
    if len(text) <= _SHORT:
        return _count_short(text)
    return _count_long(text) if len(text) <= _LONG else load_tokenizer().count(text)


@lru_cache(maxsize=4_096)
def _count_short(text: str) -> int:
    return load_tokenizer().count(text)


@lru_cache(maxsize=64)
def _count_long(text: str) -> int:
    return load_tokenizer().count(text)


def is_media(block: Any) -> TypeGuard[Mapping[str, Any]]:
    """Whether a content block is an image, a recording, or a document that is not plain text."""
    if not isinstance(block, Mapping) or block.get("type") not in _IMAGE_TYPES | _FILE_TYPES:
        return False
    return _document_text(block) is None


def _document_text(block: Mapping[str, Any]) -> str | None:
    """Return the text of a document that is given as plain text."""
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "text":
        return None
    return str(source.get("data", ""))


def text_of(content: str | Sequence[Any]) -> str:
    """Return what a message's content says, its blocks joined by newlines.

    Blocks of data (JSON rows, search results) are given as JSON. Left out are attachments, calls
    (they stand in `tool_calls` too) and the model's reasoning.
    """
    if isinstance(content, str):
        return content
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif not isinstance(block, Mapping):
            parts.append(str(block))
        elif isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif (text := _document_text(block)) is not None:
            parts.append(text)
        elif not is_media(block) and block.get("type") not in _NOT_SAID:
            parts.append(json.dumps(dict(block), ensure_ascii=False, default=str))
    return "\n".join(parts)


def count_message(message: BaseMessage) -> int:
    """Estimate the tokens of one message: content, tool calls and framing."""
    total = MESSAGE_OVERHEAD + _count_content(message.content)
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
            total += CALL_OVERHEAD + count_text(call["name"]) + count_text(arguments)
        for invalid in message.invalid_tool_calls:
            total += CALL_OVERHEAD + count_text(invalid.get("name") or "")
            total += count_text(invalid.get("args") or "")
    elif isinstance(message, ToolMessage):
        total += CALL_OVERHEAD
    return total


def count_media(message: BaseMessage) -> int:
    """Estimate what of a message's tokens its images, recordings and documents take."""
    if isinstance(message.content, str):
        return 0
    return sum(_count_block(block) for block in message.content if is_media(block))


def count_known(message: BaseMessage, journal: Journal) -> int:
    """`count_message`, remembered on the journal while the message stays the same object."""
    known = journal.counts.get(message.id or "")
    if known is not None and known[0] is message:
        return known[1]
    tokens = count_message(message)
    if message.id:
        journal.counts[message.id] = (message, tokens)
    return tokens


def count_schemas(tools: Sequence[Mapping[str, Any]]) -> int:
    """Estimate the tokens of the tool schemas sent with every request (OpenAI function format)."""
    return sum(
        CALL_OVERHEAD + count_text(json.dumps(tool, ensure_ascii=False, default=str))
        for tool in tools
    )


def _count_content(content: str | Sequence[Any]) -> int:
    if isinstance(content, str):
        return count_text(content)
    return sum(_count_block(block) for block in content)


def _count_block(block: Any) -> int:
    if isinstance(block, str):
        return count_text(block)
    if not isinstance(block, Mapping):
        return count_text(str(block))
    kind = block.get("type")
    if kind in _IMAGE_TYPES:
        return IMAGE_TOKENS
    if kind in _FILE_TYPES:
        text = _document_text(block)
        return FILE_TOKENS if text is None else count_text(text)
    if isinstance(block.get("text"), str):
        return count_text(block["text"])
    if kind in ("tool_use", "tool_call", "function_call"):
        return 0  # the same call stands in `tool_calls`, where it is counted
    return count_text(json.dumps(dict(block), ensure_ascii=False, default=str))
