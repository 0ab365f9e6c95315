"""Content: whatever people and tools put into messages is counted, kept whole, and found again."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest
import regex
from agents import Scripted, agent, calls, contents, say, thread
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from longthread import MaskingConfig, context_policy, create_agent_graph
from longthread.state.counting import count_message
from longthread.state.projection import view_context


def evicting(tmp_path: Path, text: Any, *then: Any) -> tuple[Scripted, Any]:
    def give(at: str) -> Any:
        """Return the text."""
        return text

    script = Scripted(calls("a", name="give"), *then, "done")
    graph = agent(script, tmp_path, [give], context_window=16_000, memory=None)
    return script, graph


def read_back(**arguments: Any) -> Any:
    def read(messages: list[BaseMessage]) -> AIMessage:
        path = str(messages[-1].content).split("full text at ")[1].split(";")[0]
        call = {"name": "read_file", "args": {"path": path, **arguments}, "id": "r"}
        return AIMessage("", tool_calls=[call])

    return read


def test_a_line_of_a_megabyte_is_bounded_and_can_be_paged(tmp_path: Path) -> None:
    text = base64.b64encode(random.Random(1).randbytes(750_000)).decode()
    script, graph = evicting(tmp_path, text, read_back(char_offset=500_000))
    result = graph.invoke(say("go"), thread())
    page = str(result["messages"][-2].content)
    assert page.startswith(text[500_000:502_000])
    assert "goes on: read it again with char_offset=" in page
    assert all(sum(map(count_message, request)) < 16_000 for request in script.requests)


def test_carriage_returns_form_feeds_and_nul_are_read_back_as_they_were(tmp_path: Path) -> None:
    text = "one\r\ntwo\x0ctwo\r\n\x00three\u2028three\r\n" * 8_000
    _, graph = evicting(tmp_path, text, read_back(offset=3, limit=3))
    result = graph.invoke(say("go"), thread())
    page = str(result["messages"][-2].content)
    assert page.startswith("one\r\ntwo\x0ctwo\r\n\x00three\u2028three\r\n\n[")
    assert "offset=6" in page


def test_previews_end_between_visible_characters(tmp_path: Path) -> None:
    text = "👩‍👩‍👧‍👦🇩🇪é" * 20_000
    script, graph = evicting(tmp_path, text)
    graph.invoke(say("go"), thread())
    head, _, rest = str(script.requests[-1][-1].content).partition("\n\n[")
    tail = rest.partition("]\n\n")[2]
    whole = {"👩‍👩‍👧‍👦", "🇩🇪", "é"}
    assert {*regex.findall(r"\X", head), *regex.findall(r"\X", tail)} == whole


def test_an_error_of_a_megabyte_is_bounded_like_any_result(tmp_path: Path) -> None:
    def broken(at: str) -> str:
        """Fail at length."""
        raise RuntimeError("x" * 1_000_000)

    script = Scripted(calls("a", name="broken"), "done")
    agent(script, tmp_path, [broken], context_window=16_000).invoke(say("go"), thread())
    assert sum(map(count_message, script.requests[-1])) < 16_000


def test_a_thousand_ideographs_are_about_a_thousand_tokens(tmp_path: Path) -> None:
    script = Scripted("ok")
    agent(script, tmp_path, memory=None).invoke(say("漢字" * 500), thread())
    assert 800 <= count_message(script.requests[0][0]) <= 1_200


def test_cached_tokens_are_not_counted_twice_and_missing_usage_is_estimated(tmp_path: Path) -> None:
    def counted(messages: list[BaseMessage]) -> AIMessage:
        tokens = sum(map(count_message, messages)) + context_policy(graph).tools_tokens
        details = {"cache_read": tokens - 10, "cache_creation": 5}
        usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
        return AIMessage("x " * 50, usage_metadata={**usage, "input_token_details": details})

    script = Scripted(counted, counted, "no usage", counted)
    graph = agent(script, tmp_path, memory=None)
    for _ in range(4):
        graph.invoke(say("hi"), thread())
        view = view_context(graph.get_state(thread()).values, context_policy(graph))
        assert view.tokens == pytest.approx(view.estimated, rel=0.2)


def test_thinking_is_whole_or_gone_when_its_step_is_masked(tmp_path: Path) -> None:
    def thought(i: int) -> AIMessage:
        blocks: list[Any] = [
            {"type": "thinking", "thinking": f"hm {i}", "signature": "s"},
            {"type": "tool_use", "id": f"c{i}", "name": "look", "input": {"at": "x"}},
        ]
        call = {"name": "look", "args": {"at": "x"}, "id": f"c{i}"}
        return AIMessage(blocks, tool_calls=[call])

    def look(at: str) -> str:
        """Look at something."""
        return "lorem ipsum dolor sit amet " * 60

    script = Scripted(*map(thought, range(30)), "done")
    masking = MaskingConfig(turns=1, batch=1)
    graph = agent(script, tmp_path, [look], masking=masking, context_window=6_000, memory=None)
    result = graph.invoke(say("go"), thread())
    journal = {m.id: m for m in result["messages"]}
    for request in script.requests:
        answers = [m for m in request if m.type == "ai"]
        assert all(m.content == journal[m.id].content for m in answers)


class Streaming(BaseChatModel):
    """A model that can only stream, and returns its chunks where a message is expected."""

    @property
    def _llm_type(self) -> str:
        return "streaming"

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        parts: list[dict[str, Any]] = [{"content": "do"}, {"content": "ne"}]
        if not isinstance(messages[-1], ToolMessage):
            begun = {"name": "look", "args": '{"at":', "id": "c1", "index": 0}
            rest = {"name": None, "args": '"x"}', "id": None, "index": 0}
            parts = [{"content": "", "tool_call_chunks": [part]} for part in (begun, rest)]
        for part in parts:
            yield ChatGenerationChunk(message=AIMessageChunk(**part))

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages))


def test_a_model_that_only_streams_leaves_whole_messages(tmp_path: Path) -> None:
    def look(at: str) -> str:
        """Look at something."""
        return f"saw {at}"

    graph = create_agent_graph(
        Streaming(), [look], workspace=tmp_path, memory=None, checkpointer=InMemorySaver()
    )
    streamed = [m.content for m, _ in graph.stream(say("go"), thread(), stream_mode="messages")]
    assert "do" in streamed
    messages = graph.get_state(thread()).values["messages"]
    assert contents(messages) == ["go", "", "saw x", "done"]
    assert not any(isinstance(m, AIMessageChunk) for m in messages)


def test_fifty_images_cost_the_same_however_large(tmp_path: Path) -> None:
    def pictures(size: int) -> HumanMessage:
        url = "data:image/png;base64," + "A" * size
        return HumanMessage([{"type": "image_url", "image_url": {"url": url}}] * 50)

    assert count_message(pictures(10)) == count_message(pictures(100_000))
