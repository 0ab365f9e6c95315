"""Random models, tools and users through the whole graph: every request is valid and fits."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from agents import Scripted, agent, overflow_error, thread
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

import longthread.nodes.reasoning as reasoning
from longthread import CompactionConfig, MaskingConfig, MemoryConfig, TruncateArgsConfig
from longthread.state.cut import choose_cut
from longthread.state.projection import ContextView, project_context, view_context
from longthread.state.validity import violations

WINDOW = 4_000
names = st.sampled_from(["look", "page", "cjk", "broken", "nowhere", "picture", "write"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("calls"), st.lists(names, min_size=1, max_size=7)),
        st.tuples(st.just("thinking"), st.lists(names, min_size=1, max_size=2)),
        st.tuples(st.just("invalid"), st.just(["look"])),
        st.tuples(st.just("answer"), st.sampled_from(["done", "", "word " * 200, "漢字" * 90])),
    ),
    min_size=1,
    max_size=14,
)
users = st.lists(
    st.one_of(st.just("go"), st.integers(1, 6_000).map(lambda n: "paste " * n)),
    min_size=1,
    max_size=4,
)


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


def page(at: str) -> str:
    """Return a page, or more."""
    return f"{at} " + "lorem ipsum dolor sit amet " * (10 + sum(map(ord, at)) % 400)


def cjk(at: str) -> str:
    """Return ideographs."""
    return "漢字仮名" * 200


def broken(at: str) -> str:
    """Fail."""
    raise RuntimeError(f"no {at}")


def picture(at: str) -> list[dict[str, Any]]:
    """Return a picture."""
    url = {"url": "data:image/png;base64," + "A" * 5_000}
    return [{"type": "text", "text": at}, {"type": "image_url", "image_url": url}]


def write(at: str, text: str = "") -> str:
    """Write a file."""
    return "ok"


class Model:
    """Follows a drawn script; ids, thoughts and arguments depend only on its place in it."""

    def __init__(self, script: list[Any]) -> None:
        self.script = list(script)
        self.count = 0

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        self.count += 1
        kind, what = self.script.pop(0) if self.script else ("answer", "the end")
        if kind == "answer":
            return AIMessage(what, id="msg_1")  # a provider that repeats its ids
        asked: list[Any] = [
            {"name": name, "args": {"at": f"{self.count}-{i}"}, "id": f"c{self.count}-{i}"}
            for i, name in enumerate(what)
        ]
        if kind == "invalid":
            wrong = {"name": "look", "args": "{", "id": f"c{self.count}", "error": "no"}
            return AIMessage("", invalid_tool_calls=[{**wrong, "type": "invalid_tool_call"}])
        for call in asked:
            if call["name"] == "write":
                call["args"]["text"] = "long " * 1_500
        thoughts: Any = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
        return AIMessage(thoughts if kind == "thinking" else "", tool_calls=asked)


def make(script: list[Any], summary: Any, folder: Path) -> tuple[Scripted, Any]:
    scripted = Scripted(Model(script), summary=summary)
    graph = agent(
        scripted,
        folder,
        [look, page, cjk, broken, picture, write],
        context_window=WINDOW,
        memory=MemoryConfig(tools=False, background=False),
        masking=MaskingConfig(turns=2),
        compaction=CompactionConfig(
            trigger_messages=12, truncate_args=TruncateArgsConfig(keep_messages=4)
        ),
    )
    return scripted, graph


def shown(requests: list[list[BaseMessage]]) -> list[list[tuple[str, str]]]:
    # The id of a message without one depends on the id before it, which may be a random one.
    return [
        [(m.type, re.sub(r"lt-\d+-[0-9a-f]+", "lt", str(m.content))) for m in request]
        for request in requests
    ]


slow = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


@slow
@given(script=steps, said=users, summary=st.sampled_from(["## Intent\nGo on.", "", ValueError()]))
def test_every_request_is_valid_and_fits_and_nothing_is_lost(
    script: list[Any], said: list[str], summary: Any
) -> None:
    views: list[tuple[Any, ContextView]] = []
    plain = view_context

    def watched(state: Any, policy: Any, *, system: Any = None) -> ContextView:
        view = plain(state, policy, system=system)
        if not state.get("fresh_results"):
            views.append((state, view))
        return view

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasoning, "view_context", watched)
        scripted, graph = make(script, summary, Path(folder))
        known: list[str] = []
        for text in said:
            given_ = {"messages": [("user", text)]}
            result = graph.invoke(given_, {**thread(), "recursion_limit": 150})
            ids = [m.id for m in result["messages"]]
            assert ids[: len(known)] == known
            assert len(set(ids)) == len(ids)
            known = ids
    for state, view in views:
        assert violations(view.messages, view.journal) == []
        assert not view.body.unanswered
        assert project_context({**state, "messages": list(view.journal)}, view.policy) == (
            view.messages
        )
        if view.estimated > WINDOW and isinstance(summary, str) and summary:
            assert choose_cut(view) is None or max(view.body.tokens) > WINDOW // 5
    assert len(scripted.asked["summary"]) <= 6 * len(scripted.requests)


@slow
@given(script=steps, said=users)
def test_the_asynchronous_graph_sends_the_same_requests(script: list[Any], said: list[str]) -> None:
    sent = []
    for way in ("sync", "async"):
        with TemporaryDirectory() as folder:
            scripted, graph = make(script, "## Intent\nGo on.", Path(folder))
            for number, text in enumerate(said):
                # With an id of its own: one that is made depends on those that a model gave.
                given_ = {"messages": [HumanMessage(text, id=f"said-{number}")]}
                if way == "sync":
                    graph.invoke(given_, thread())
                else:
                    asyncio.run(graph.ainvoke(given_, thread()))
            sent.append((shown(scripted.requests), shown(scripted.asked["summary"])))
    assert sent[0] == sent[1]


@slow
@given(script=steps, limit=st.integers(1_500, 3_500))
def test_a_smaller_window_is_learned_and_every_call_gets_a_result(
    script: list[Any], limit: int
) -> None:
    with TemporaryDirectory() as folder:
        scripted, graph = make(script, "## Intent\nGo on.", Path(folder))
        model = scripted.answers[0]
        assert isinstance(model, Model)

        def provider(messages: list[BaseMessage]) -> AIMessage:
            tokens = sum(map(reasoning_tokens, messages)) + graph_tokens
            if tokens > limit:
                raise overflow_error(limit=limit, requested=tokens)
            return model(messages)

        from longthread import context_policy
        from longthread.state.counting import count_message as reasoning_tokens

        graph_tokens = context_policy(graph).tools_tokens
        scripted.answers = [provider]
        try:
            graph.invoke({"messages": [("user", "go")]}, {**thread(), "recursion_limit": 150})
        except type(overflow_error()):
            assert graph.get_state(thread()).next == ("reasoning",)
        messages = graph.get_state(thread()).values["messages"]
    called = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    assert set(called) <= set(answered)
