"""A summary without a model: what a deterministic reading of the messages can keep.

Stands in when no summariser answers, and in replays, where the same input must give the same
figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from .counting import count_text, text_of
from .identifiers import identifiers_in
from .text import clip_end

__all__ = ["extract_summary"]

_LINE = 240


def extract_summary(previous: str, messages: Sequence[AnyMessage], max_tokens: int) -> str:
    """Summarise messages by what they contain, the newest first to be kept when room runs out.

    Args:
        previous: The summary so far, or "".
        messages: The messages that go.
        max_tokens: Bound on the result.

    Returns:
        Requests, the course of the work, and the identifiers met, within `max_tokens`.
    """
    requests = [_line(m) for m in messages if isinstance(m, HumanMessage)]
    course = [_line(m) for m in messages if isinstance(m, AIMessage)]
    sections = {
        "## Earlier": [line for line in previous.splitlines() if line.strip()],
        "## Requests": [f"- {line}" for line in requests if line],
        "## Course": [f"- {line}" for line in course if line],
        "## Identifiers": [word for word in (", ".join(identifiers_in(messages)),) if word],
    }
    share = max(16, max_tokens // max(1, sum(map(bool, sections.values()))))
    parts = []
    for title, lines in sections.items():
        kept = _newest(lines, share - count_text(title) - 2)
        if kept:
            parts.append("\n".join((title, *kept)))
    text = "\n".join(parts)
    while text and count_text(text) > max_tokens:
        text = clip_end(text, len(text) * max_tokens // (count_text(text) + 1))
    return text


def _line(message: AnyMessage) -> str:
    text = " ".join(text_of(message.content).split())
    if isinstance(message, AIMessage) and message.tool_calls:
        calls = ", ".join(call["name"] for call in message.tool_calls)
        text = f"{text} [{calls}]" if text else f"[{calls}]"
    return clip_end(text, _LINE)


def _newest(lines: Sequence[str], max_tokens: int) -> list[str]:
    """Keep as many of the last lines as fit; a single long line is cut."""
    kept: list[str] = []
    for line in reversed(lines):
        tokens = count_text(line) + 1
        if tokens > max_tokens:
            if not kept and max_tokens > 0:
                kept.append(clip_end(line, len(line) * max_tokens // tokens))
            break
        kept.append(line)
        max_tokens -= tokens
    return kept[::-1]
