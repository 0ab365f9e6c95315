"""Chat templates that take user and assistant only in turn.

The templates of several open models (Gemma, Mistral and others, as served by llama.cpp or vLLM)
refuse two human messages in a row. That is a property of the served model, not of the thread: it is
learned from the refusal, and from then on adjacent human messages are sent as one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage

from ..state.overflow_evidence import evidence_of_exception

__all__ = ["must_alternate", "with_merged_humans"]

Content = str | list[str | dict[Any, Any]]

_REFUSAL = re.compile(r"\broles? must alternate\b|\balternat\w+ (?:between )?user\b", re.IGNORECASE)


def must_alternate(error: Exception, request: Sequence[AnyMessage]) -> bool:
    """Whether a request was refused for human messages that follow each other."""
    if len(with_merged_humans(request)) == len(request):
        return False
    return any(_REFUSAL.search(text) for text in evidence_of_exception(error).texts)


def with_merged_humans(request: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the request with each run of human messages as one, a blank line between them."""
    merged: list[AnyMessage] = []
    for message in request:
        last = merged[-1] if merged else None
        if isinstance(message, HumanMessage) and isinstance(last, HumanMessage):
            merged[-1] = last.model_copy(
                update={"content": _joined(last.content, message.content), "id": message.id}
            )
        else:
            merged.append(message)
    return merged


def _joined(first: Content, second: Content) -> Content:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Content) -> list[str | dict[Any, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
