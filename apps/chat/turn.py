"""One turn: the graph is run, and what it says appears while it says it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from ...state.channels import ThreadContext
from ...state.text import clip_end
from .screen import Screen

__all__ = ["run_turn"]

_MODES = ["messages", "updates", "custom"]
_SHORT = 160


async def run_turn(
    graph: Any, given: Any, config: RunnableConfig, context: ThreadContext, screen: Screen
) -> None:
    """Run the graph until it answers or waits.

    Args:
        graph: The agent graph.
        given: New messages, a `Command`, or None to go on with an unfinished turn.
        config: Names the thread.
        context: Who talks.
        screen: Where it appears.
    """
    told: set[str] = set()
    screen.begin()
    try:
        chunks = graph.astream(given, config, context=context, stream_mode=_MODES)
        async with aclosing(chunks):
            async for mode, chunk in chunks:
                if mode == "messages":
                    _said(chunk, told, screen)
                elif mode == "updates":
                    _done(chunk, screen)
                elif isinstance(chunk, Mapping) and (note := _event(chunk)):
                    screen.note(note)
    finally:
        screen.end()


def _said(chunk: Any, told: set[str], screen: Screen) -> None:
    message, metadata = chunk
    if metadata.get("langgraph_node") != "reasoning" or not isinstance(message, AIMessage):
        return
    text = str(message.text)
    if not text:
        return
    # A model that does not stream says it at once; so does the node, once more.
    if type(message) is AIMessage and message.id in told:
        return
    told.add(message.id or "")
    screen.answer(text)


def _done(update: Mapping[str, Any], screen: Screen) -> None:
    for node, made in update.items():
        for part in made if isinstance(made, list) else [made]:
            messages = part.get("messages") if isinstance(part, Mapping) else None
            for message in messages if isinstance(messages, list) else ():
                if node == "reasoning" and isinstance(message, AIMessage):
                    for call in message.tool_calls:
                        screen.note(f"{call['name']}({_short(call['args'])})")
                elif node == "tools" and isinstance(message, ToolMessage):
                    screen.note(f"→ {_short(str(message.text))}")


def _event(event: Mapping[str, Any]) -> str:
    match event.get("type"):
        case "compaction":
            return (
                f"compaction: {event['messages_before']} messages are {event['messages_after']}, "
                f"about {event['tokens_before']:,} tokens are {event['tokens_after']:,}"
            )
        case "eviction":
            return f"eviction: {event['chars']:,} characters went to {event['path']}"
        case "masking":
            return "masking: old tool results are hidden"
        case "overflow":
            return "overflow: the provider refused the request, a shorter one is tried"
        case "seal":
            return f"seal: {event['messages']} messages went to a segment"
    return ""


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}={item!r}" for name, item in value.items())
    line = " ".join(str(value)[: 20 * _SHORT].split())
    return line if len(line) <= _SHORT else f"{clip_end(line, _SHORT)} …"
