"""Anthropic takes only plain ids of tool calls; the journal keeps them as they came."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, look, say, thread
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from longthread import create_agent_graph
from longthread.graphs.models import needs_plain_ids
from longthread.graphs.routed_model import RoutedModel
from longthread.graphs.scripted import ScriptedModel
from longthread.nodes.plain_ids import with_plain_ids

ODD = "functions.look:0"


class Anthropic(ScriptedModel):
    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"


def called(call_id: str) -> AIMessage:
    block = {"type": "tool_use", "id": call_id, "name": "look", "input": {"at": "a"}}
    call: Any = {"name": "look", "args": {"at": "a"}, "id": call_id, "type": "tool_call"}
    return AIMessage([{"type": "text", "text": "I look."}, block], tool_calls=[call])


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_calls_blocks_and_results_stay_together_and_apart_from_others(one: str, two: str) -> None:
    sent: list[Any] = with_plain_ids(
        [called(one), ToolMessage("r", tool_call_id=one), called(two), HumanMessage("go on")]
    )
    first, result, second = sent[0].tool_calls[0]["id"], sent[1].tool_call_id, sent[2]
    assert first == result == sent[0].content[1]["id"]
    assert first.isascii()
    assert first.replace("-", "_").replace("_", "a").isalnum()
    assert (first == second.tool_calls[0]["id"]) == (one == two)


def test_plain_ones_are_not_touched() -> None:
    messages: list[AnyMessage] = [called("call_1-a"), ToolMessage("r", tool_call_id="call_1-a")]
    assert all(a is b for a, b in zip(with_plain_ids(messages), messages, strict=True))


@pytest.mark.parametrize("kind", [Anthropic, ScriptedModel])
def test_only_where_they_are_needed(kind: type[ScriptedModel], tmp_path: Path) -> None:
    script = Scripted(called(ODD), "done")
    models = [("kimi", script.model, False), ("second", kind(script=script), False)]
    model = RoutedModel.of(models)
    assert needs_plain_ids(model) == (kind is Anthropic)
    graph = create_agent_graph(
        model, [look], workspace=tmp_path, memory=None, checkpointer=InMemorySaver()
    )
    graph.invoke(say("look"), thread())
    ids = {_ids(message) for message in script.requests[-1]} - {None}
    assert ids == ({ODD} if kind is ScriptedModel else {"functions_look_0_" + _mark(ids)})
    kept = graph.get_state(thread()).values["messages"]
    assert {_ids(message) for message in kept} - {None} == {ODD}


def _mark(ids: set[str | None]) -> str:
    return str(next(iter(ids))).rpartition("_")[2]


def _ids(message: BaseMessage) -> str | None:
    if isinstance(message, AIMessage) and message.tool_calls:
        return message.tool_calls[0]["id"]
    return message.tool_call_id if isinstance(message, ToolMessage) else None
