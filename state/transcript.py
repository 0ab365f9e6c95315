"""Messages as plain text, for a model that reads about a conversation from outside."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from .counting import count_text, is_media, text_of
from .redaction import Redact, redacted, redacted_values
from .text import clip_end, clip_start, head_and_tail, well_formed

__all__ = [
    "chunked",
    "message_text",
    "newest_tokens",
    "role_of",
    "transcript",
    "without_secrets",
]

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


M = TypeVar("M", bound=BaseMessage)


def without_secrets(message: M, redact: Redact | None) -> M:
    """Return a message with every text in it redacted; attachments stay.

    Raises:
        RedactionError: The redactor failed.
    """
    if redact is None:
        return message
    content: Any = message.content
    if isinstance(content, str):
        content = redacted(redact, content)
    else:
        content = [b if is_media(b) else redacted_values(redact, b) for b in content]
    update: dict[str, Any] = {"content": content}
    if isinstance(message, AIMessage):
        update["tool_calls"] = [
            {**call, "args": redacted_values(redact, call["args"])} for call in message.tool_calls
        ]
        update["invalid_tool_calls"] = [
            {**call, "args": redacted(redact, str(call["args"]))}
            for call in message.invalid_tool_calls
        ]
    return message.model_copy(update=update)


def transcript(
    message: BaseMessage, *, result_chars: int | None = None, redact: Redact | None = None
) -> str:
    """Render one message: its role, its text, its calls, a marker for each attachment.

    Args:
        message: The message.
        result_chars: Characters of a tool result, and of each call's arguments, to show, head and
            tail; None: all.
        redact: Takes secrets out, before anything is cut: half a secret is not recognised.

    Raises:
        RedactionError: The redactor failed.
    """
    said = message_text(message, result_chars=result_chars, redact=redact)
    return f"[{role_of(message)}]\n{said}" if said else f"[{role_of(message)}]"


def role_of(message: BaseMessage) -> str:
    """Name who speaks: user, assistant, system, or the tool by its name."""
    role = _ROLES.get(message.type, message.type)
    return f"{role} {message.name}" if isinstance(message, ToolMessage) and message.name else role


def message_text(
    message: BaseMessage, *, result_chars: int | None = None, redact: Redact | None = None
) -> str:
    """Return what a message says: its text, a marker for each attachment, its calls.

    Args:
        message: The message.
        result_chars: As for `transcript`.
        redact: As for `transcript`.

    Raises:
        RedactionError: The redactor failed.
    """
    message = without_secrets(message, redact)
    text = redacted(redact, text_of(message.content))
    if isinstance(message, ToolMessage):
        text = _shortened(text, result_chars)
    lines = [text] if text.strip() else []
    if not isinstance(message.content, str):
        lines += [f"[attachment: {b.get('type')}]" for b in message.content if is_media(b)]
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            arguments = json.dumps(call["args"], ensure_ascii=False, default=str)
            arguments = redacted(redact, arguments)  # beside its name, a value is more telling
            lines.append(f"[calls {call['name']} {_shortened(arguments, result_chars)}]")
        for invalid in message.invalid_tool_calls:
            arguments = _shortened(str(invalid["args"]), result_chars)
            lines.append(f"[calls {invalid['name']} {arguments}]")
    return well_formed("\n".join(lines))


def _shortened(text: str, length: int | None) -> str:
    if length is None or len(text) <= length:
        return text
    head, tail = head_and_tail(text, length // 2)
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters …]\n{tail}"


def chunked(texts: Iterable[str], max_tokens: int) -> list[str]:
    """Join texts into as few chunks as fit, in order; a text that is too long alone is split.

    Args:
        texts: The texts; nothing of them is left out.
        max_tokens: Bound on each chunk.

    Returns:
        The chunks, none of them empty.
    """
    chunks: list[str] = []
    parts: list[str] = []
    used = 0
    for text in texts:
        for piece in _pieces(text, max_tokens):
            tokens = count_text(piece) + 2
            if parts and used + tokens > max_tokens:
                chunks.append("\n\n".join(parts))
                parts, used = [], 0
            parts.append(piece)
            used += tokens
    if parts:
        chunks.append("\n\n".join(parts))
    return chunks


def newest_tokens(text: str, max_tokens: int) -> str:
    """Return as much of the end of a text as fits, from the beginning of a line on if it can be."""
    kept = text
    while kept and (tokens := count_text(kept)) > max_tokens:
        kept = clip_start(kept, min(len(kept) - 1, len(kept) * max_tokens // tokens))
    if kept == text:
        return text
    line = kept.find("\n") + 1
    return kept[line:] if 0 < line < len(kept) // 2 else kept


def _pieces(text: str, max_tokens: int) -> Sequence[str]:
    if not text:
        return []
    if count_text(text) <= max_tokens:
        return [text]
    pieces = []
    rest = text
    while rest:
        # Four characters a token is the most that ordinary text gets; dense text is halved until
        # it fits.
        size = max_tokens * 4
        piece = clip_end(rest, size) or rest[:1]
        while size > 1 and count_text(piece) > max_tokens:
            size = min(size, len(piece)) // 2
            piece = clip_end(rest, size) or rest[:1]
        line = piece.rfind("\n") + 1
        if len(piece) < len(rest) and line > len(piece) // 2:
            piece = piece[:line]  # at the end of a line, if that is not far back
        pieces.append(piece)
        rest = rest[len(piece) :]
    return pieces
