"""What tools return, as the results of their calls: each call gets one, and none is overwritten."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from ..state.replacement import well_formed_message
from ..state.written import as_messages

__all__ = ["NO_RESULT", "results_of", "stamped"]

NO_RESULT = "[done; the tool returned no result]"


def results_of(output: Any, calls: Sequence[ToolCall]) -> list[Any]:
    """Return tool messages and commands, with a result for every call.

    A tool may return a `Command` that has no message, or a message under the id of another call:
    a call that stays open would be made again and again.

    Args:
        output: What LangGraph's tool node has returned for the calls.
        calls: The calls.
    """
    results = [_stamped_within(each, calls) for each in _flat(output)]
    if any(isinstance(each, Command) and each.graph == Command.PARENT for each in results):
        return results  # this graph ends here, and its parent goes on
    messages = _messages(results)
    if any(message.id == REMOVE_ALL_MESSAGES for message in messages):
        return results  # the calls are gone as well
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    missing = [call for call in calls if call["id"] not in answered]
    strays = [r for r in results if isinstance(r, ToolMessage) and not _answers(r, calls)]
    if len(missing) == len(strays) == 1:
        named = strays[0].model_copy(update={"tool_call_id": missing[0]["id"]})
        return [named if result is strays[0] else result for result in results]
    return [*results, *map(_no_result, missing)]


def stamped(message: ToolMessage) -> ToolMessage:
    """Give a result an id of its own where it is made: what is committed is replayed by id.

    One that the tool made up may repeat, and would take the place of another result. A list that
    it returns is its own, and may grow.
    """
    update: dict[str, Any] = {"id": str(uuid.uuid4())}
    message = well_formed_message(message)
    if isinstance(message.content, list):
        update["content"] = copy.deepcopy(message.content)
    return message.model_copy(update=update)


def _flat(output: Any) -> list[Any]:
    """Return results one by one, in whichever containers LangGraph has put them."""
    if isinstance(output, Mapping):
        return list(output["messages"])
    found: list[Any] = []
    for each in output:
        found += _flat(each) if isinstance(each, (Mapping, list)) else [each]
    return found


def _stamped_within(result: Any, calls: Sequence[ToolCall]) -> Any:
    """Return a command whose results have ids of their own."""
    if not isinstance(result, Command) or result.graph == Command.PARENT:
        return result
    if not isinstance(result.update, Mapping) or not result.update.get("messages"):
        return result
    messages = [
        stamped(m) if isinstance(m, ToolMessage) and _answers(m, calls) else m
        for m in as_messages(result.update["messages"])
    ]
    return replace(result, update={**result.update, "messages": messages})


def _messages(results: Sequence[Any]) -> list[AnyMessage]:
    """Return all messages in results, those in commands too."""
    found: list[AnyMessage] = []
    for each in results:
        if not isinstance(each, Command):
            found.append(each)
        elif isinstance(each.update, Mapping):
            found += as_messages(each.update.get("messages") or [])
    return found


def _answers(message: ToolMessage, calls: Sequence[ToolCall]) -> bool:
    return any(call["id"] == message.tool_call_id for call in calls)


def _no_result(call: ToolCall) -> ToolMessage:
    return ToolMessage(NO_RESULT, tool_call_id=call["id"], name=call["name"])
