"""What is written to a thread's journal, in any of the forms that LangChain takes, as messages."""

from __future__ import annotations

from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    message_chunk_to_message,
)

from .text import encodable

__all__ = ["as_messages", "storable"]

_ROLES = frozenset({"user", "human", "assistant", "ai", "system", "developer"})

_DUMPED: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "tool": ToolMessage,
    "system": SystemMessage,
    "remove": RemoveMessage,
}


def as_messages(write: Any) -> list[AnyMessage]:
    """Turn one write into messages; chunks become whole messages.

    A lone pair of role and text is stored as a list, and must be read as one message again.
    """
    items = write if isinstance(write, list) and not _is_pair(write) else [write]
    if not all(isinstance(m, BaseMessage) and not isinstance(m, BaseMessageChunk) for m in items):
        items = [
            message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m
            for m in convert_to_messages([_revived(item) for item in items])
        ]
    return cast("list[AnyMessage]", items)


def _revived(item: Any) -> Any:
    """Return a message that was dumped to JSON as that message, with all its fields."""
    if not isinstance(item, dict) or "role" in item:
        return item
    kind = _DUMPED.get(item.get("type", ""))
    if kind is None:
        return item
    try:
        return kind(**item)
    except ValueError:
        return item  # what it is instead, LangChain may know


def storable(message: AnyMessage) -> AnyMessage:
    """Return the message as a saver gives it back: what cannot be encoded is replaced there too."""
    update = {"content": encodable(message.content)}
    if isinstance(message, AIMessage):
        update["tool_calls"] = encodable(message.tool_calls)
        update["invalid_tool_calls"] = encodable(message.invalid_tool_calls)
    if all(value is getattr(message, field) for field, value in update.items()):
        return message
    return message.model_copy(update=update)


def _is_pair(write: list[Any]) -> bool:
    return len(write) == 2 and all(isinstance(part, str) for part in write) and write[0] in _ROLES
