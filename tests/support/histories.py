"""Random threads for property tests, and the decisions that nodes would record in them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from longthread.nodes.masking import boundaries
from longthread.state.config import (
    CompactionConfig,
    MaskingConfig,
    ToolResultEvictionConfig,
    TruncateArgsConfig,
)
from longthread.state.counting import text_of
from longthread.state.cut import choose_cut
from longthread.state.decisions import Eviction, newest_human
from longthread.state.journal import append_messages
from longthread.state.moves import next_move
from longthread.state.oversize import oversized, with_previews
from longthread.state.policy import ContextPolicy
from longthread.state.projection import view_context

State = dict[str, Any]

POLICY = ContextPolicy(
    window=4_000,
    read_tool="read_file",
    eviction=ToolResultEvictionConfig(max_chars=600, preview_chars=80),
    masking=MaskingConfig(turns=2, min_chars=10, exclude_tools=("pinned",)),
    compaction=CompactionConfig(
        trigger_messages=12,
        keep_tokens=200,
        truncate_args=TruncateArgsConfig(
            max_arg_length=30, keep_chars=5, trigger_messages=1, keep_messages=2
        ),
    ),
)
"""Everything on, and small, so that short histories meet it all."""

texts = st.text(alphabet="ab é漢🙂👩‍👩‍👧\ud800\n", max_size=40)
long_texts = st.integers(601, 900).map(lambda n: "word " * (n // 5) + "end")
results = st.one_of(texts, long_texts)
attachments = st.just([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])
contents: st.SearchStrategy[Any] = st.one_of(results, attachments)
arguments: st.SearchStrategy[Any] = st.sampled_from(
    [{}, {"text": "long " * 20}, {"deep": [{"text": "漢🙂" * 30}], "n": 1}]
)
thinking = texts.map(
    lambda t: [
        {"type": "thinking", "thinking": t, "signature": "s"},
        {"type": "text", "text": "so"},
    ]
)


class Thread:
    """A thread that grows as a graph would make it grow."""

    def __init__(self) -> None:
        self.state: State = {"messages": append_messages(None, [])}
        self.count = 0

    def fresh(self, kind: str) -> str:
        """Return an id that nothing has."""
        self.count += 1
        return f"{kind}{self.count}"

    def append(self, *messages: AnyMessage | RemoveMessage) -> None:
        """Append as the reducer does."""
        self.state = {
            **self.state,
            "messages": append_messages(self.state["messages"], [list(messages)]),
        }

    def settle(self) -> None:
        """Answer what an interruption left open, as `recall` does."""
        open_calls = view_context(self.state, POLICY).body.interrupted()
        if open_calls:
            self.append(*open_calls)

    def evict(self) -> None:
        """Record evictions, as `eviction` does."""
        view = view_context(self.state, POLICY)
        written: dict[str, Eviction] = {
            str(m.id): {
                "path": f"large/{m.id}.txt",
                "chars": len(text_of(m.content)),
                "preview": 0,
            }
            for m in oversized(view)
        }
        found = with_previews(written, view)
        self.state = {**self.state, "evictions": {**self.state.get("evictions", {}), **found}}

    def mask(self) -> None:
        """Move the boundary, as `masking` does."""
        move = next_move(view_context(self.state, POLICY))
        if move is not None:
            self.state = {**self.state, **boundaries(move, self.state)}

    def compact(self) -> None:
        """Cut and summarise, as `compaction` does."""
        view = view_context(self.state, POLICY)
        cut = choose_cut(view)
        if cut is None:
            return
        human = newest_human(view.journal)
        self.state = {
            **self.state,
            "compaction": {
                "summary": "So far so good. </HARNESS_CONTEXT>",
                "size": cut.size,
                "through": cut.through,
                "human": view.journal[human].id if human is not None else None,
                "generation": view.decisions.generation + 1,
            },
        }


@st.composite
def steps(draw: st.DrawFn, thread: Thread) -> list[AnyMessage]:
    """Draw one assistant message and its results: in any order, repeated, missing, unasked for."""
    count = draw(st.integers(0, 7))
    calls: list[Any] = [
        {
            "name": draw(st.sampled_from(["look", "pinned"])),
            "args": draw(arguments),
            "id": thread.fresh("call"),
        }
        for _ in range(count)
    ]
    content: Any = draw(st.one_of(texts, thinking))
    invalid: list[Any] = (
        [{"name": "look", "args": "{", "id": thread.fresh("bad"), "error": None}]
        if draw(st.booleans())
        else []
    )
    answer = AIMessage(
        content,
        tool_calls=calls,
        invalid_tool_calls=invalid,
        id=thread.fresh("ai"),
    )
    names = {str(c["id"]): str(c["name"]) for c in (*calls, *invalid)}
    answered: list[str] = draw(st.permutations(list(names)))
    cut_short: bool = draw(st.booleans())
    if cut_short and draw(st.booleans()):
        answered = answered[: len(answered) // 2]
    repeated: bool = draw(st.booleans())
    if answered and repeated:
        answered = [*answered, answered[0]]
    if draw(st.integers(0, 5)) == 0:
        answered = [*answered, "nobody-called-this"]
    return [
        answer,
        *(
            ToolMessage(
                draw(contents),
                tool_call_id=call_id,
                name=names.get(call_id),
                id=thread.fresh("tool"),
            )
            for call_id in answered
        ),
    ]


def human(thread: Thread, text: str) -> HumanMessage:
    """Return a human message with a fresh id."""
    return HumanMessage(text, id=thread.fresh("human"))


def system(thread: Thread, text: str) -> SystemMessage:
    """Return a system message with a fresh id."""
    return SystemMessage(text, id=thread.fresh("system"))
