"""How one message is shown: itself, a preview of its evicted text, or the mask's placeholder."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from .config import MaskingConfig, TruncateArgsConfig
from .counting import RESULT_OVERHEAD, count_text, is_media, text_of
from .decisions import Eviction
from .policy import ContextPolicy
from .reference import render_note
from .sendable import is_call, is_reasoning, sendable
from .text import clip_end, encodable, head_and_tail, well_formed

__all__ = [
    "as_evicted",
    "as_masked",
    "as_shown",
    "as_truncated",
    "eviction_of",
    "is_maskable",
    "masked_tokens",
    "text_hash",
    "well_formed_message",
]

_HASH_IN_PATH = re.compile(r"-([0-9a-f]{16})\.txt\Z")
M = TypeVar("M", bound=BaseMessage)


def eviction_of(message: AnyMessage, evictions: Mapping[str, Eviction]) -> Eviction | None:
    """Return where a journal message's text went; None once the message has been edited."""
    eviction = evictions.get(message.id or "")
    if eviction is None:
        return None
    text = text_of(message.content)
    if len(text) != eviction["chars"]:
        return None
    named = _HASH_IN_PATH.search(eviction["path"])
    return eviction if named is None or named[1] == text_hash(text) else None


@lru_cache(maxsize=32)
def text_hash(text: str) -> str:
    """Return what tells a text in a file from others: 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_maskable(
    message: AnyMessage, eviction: Eviction | None, masking: MaskingConfig | None
) -> bool:
    """Whether the mask, once its boundary has passed this message, hides it."""
    if masking is None or not isinstance(message, ToolMessage):
        return False
    if message.name in masking.exclude_tools or message.additional_kwargs.get("pinned"):
        return False
    length = len(text_of(message.content))
    if length < masking.min_chars:
        return False
    return eviction is not None or length > len(_placeholder(message, eviction, masking))


def as_masked(
    message: ToolMessage, eviction: Eviction | None, masking: MaskingConfig
) -> ToolMessage:
    """Return the message with the placeholder for its content; its call id stays."""
    return message.model_copy(
        update={"content": _placeholder(message, eviction, masking), "artifact": None}
    )


def masked_tokens(message: ToolMessage, eviction: Eviction | None, masking: MaskingConfig) -> int:
    """Return the tokens that the masked message takes, without making it."""
    return RESULT_OVERHEAD + count_text(_placeholder(message, eviction, masking))


def as_truncated(message: AIMessage, config: TruncateArgsConfig) -> AIMessage:
    """Return the message with its long string arguments cut short; itself if it has none.

    A turn with signed reasoning is left alone: it is shown unaltered or not at all.
    """
    if not isinstance(message.content, str) and any(map(is_reasoning, message.content)):
        return message
    calls = [{**call, "args": _cut(call["args"], config)} for call in message.tool_calls]
    if calls == message.tool_calls:
        return message
    shorter = {call["id"]: call["args"] for call in calls}
    content = message.content
    if not isinstance(content, str):
        # Content blocks repeat the call; some clients send those.
        content = [_block_with(block, shorter) for block in content]
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _block_with(block: Any, arguments: Mapping[str | None, Any]) -> Any:
    """Return a block that repeats a call with the arguments that the call is shown with."""
    if not is_call(block):
        return block
    if block["type"] == "function_call":
        known = block.get("call_id") in arguments
        return {**block, "arguments": json.dumps(arguments[block["call_id"]])} if known else block
    key = "input" if block["type"] == "tool_use" else "args"
    known = key in block and block.get("id") in arguments
    return {**block, key: arguments[block["id"]]} if known else block


def _cut(value: Any, config: TruncateArgsConfig) -> Any:
    if isinstance(value, str) and len(value) > config.max_arg_length:
        return clip_end(value, config.keep_chars) + config.truncation_text
    if isinstance(value, dict):
        return {key: _cut(item, config) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut(item, config) for item in value]
    return value


def as_evicted(
    message: ToolMessage | HumanMessage, eviction: Eviction, policy: ContextPolicy
) -> AnyMessage:
    """Return the message with head and tail of its text and a line that says where it all is."""
    head, tail = head_and_tail(text_of(message.content), eviction["preview"])
    how = f"; read it with {policy.read_tool}" if policy.read_tool else ""
    line = f"[{eviction['chars']} characters in all; full text at {eviction['path']}{how}]"
    preview = f"{head}\n\n{line}\n\n{tail}" if head or tail else line
    media = [] if isinstance(message.content, str) else list(filter(is_media, message.content))
    content: str | list[Any] = [{"type": "text", "text": preview}, *media] if media else preview
    return message.model_copy(update={"content": content})


def as_shown(
    message: AnyMessage,
    *,
    masked: bool,
    eviction: Eviction | None,
    policy: ContextPolicy,
    truncated: bool = False,
    shed: bool = False,
) -> AnyMessage:
    """Return what the model is shown of a message; the message itself if nothing applies."""
    message = sendable(message, policy.tool_names)
    if shed:
        # The request is too big in bytes: what is old goes, whatever the policy would rather keep.
        return _shed(message, eviction, policy)
    if (
        masked
        and isinstance(message, ToolMessage)
        and policy.masking is not None
        and is_maskable(message, eviction, policy.masking)
    ):
        return as_masked(message, eviction, policy.masking)
    if eviction is not None and isinstance(message, (ToolMessage, HumanMessage)):
        return well_formed_message(as_evicted(message, eviction, policy))
    if truncated and isinstance(message, AIMessage):
        config = policy.compaction.truncate_args if policy.compaction is not None else None
        return well_formed_message(as_truncated(message, config or TruncateArgsConfig()))
    if isinstance(message, SystemMessage):
        text = render_note(text_of(message.content), source="system message in the conversation")
        return HumanMessage(well_formed(text), id=message.id)
    return well_formed_message(message)


def _shed(message: AnyMessage, eviction: Eviction | None, policy: ContextPolicy) -> AnyMessage:
    masking = policy.masking or MaskingConfig()
    if isinstance(message, ToolMessage) and is_maskable(message, eviction, masking):
        return as_masked(message, eviction, masking)
    message = as_shown(message, masked=False, eviction=eviction, policy=policy)
    if isinstance(message.content, str) or not any(map(is_media, message.content)):
        return message
    content = [
        {"type": "text", "text": f"[attachment left out: {block.get('type')}]"}
        if is_media(block)
        else block
        for block in message.content
    ]
    return message.model_copy(update={"content": content})


def _placeholder(message: ToolMessage, eviction: Eviction | None, masking: MaskingConfig) -> str:
    notes = []
    if eviction is not None:
        notes.append(f"full text at {eviction['path']}")
    notes += _media_names(message.content)
    return f"{masking.placeholder} ({'; '.join(notes)})" if notes else masking.placeholder


def _media_names(content: str | Sequence[Any]) -> list[str]:
    """Name the attachments, such as `2 × image`: that there were any is part of what happened."""
    if isinstance(content, str):
        return []
    kinds = Counter(str(block["type"]).removesuffix("_url") for block in filter(is_media, content))
    return [kind if count == 1 else f"{count} × {kind}" for kind, count in kinds.items()]


def well_formed_message(message: M) -> M:
    """Return the message if any saver can store it, else a copy that can be stored."""
    content = encodable(message.content)
    update: dict[str, Any] = {} if content is message.content else {"content": content}
    if update and isinstance(content, list):
        # Signed reasoning may be left out, but never altered.
        pairs = zip(content, message.content, strict=True)
        update["content"] = [new for new, old in pairs if new is old or not is_reasoning(old)]
    if isinstance(message, AIMessage):
        calls = encodable(message.tool_calls)
        if calls is not message.tool_calls:
            update["tool_calls"] = calls
    return message.model_copy(update=update) if update else message
