"""langmem's `SummarizationNode` in front of a model, as its documentation wires it."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

from .checkpoints import LastCheckpoint
from .player import Build, Materials, count_tokens

__all__ = ["summarization_graph"]


class State(MessagesState):
    """The conversation, and langmem's running summary."""

    context: dict[str, Any]


class ModelInput(TypedDict):
    """What the model is sent."""

    summarized_messages: list[AnyMessage]
    context: dict[str, Any]


def summarization_graph(*, before: float = 0.7) -> Build:
    """Return how to build the loop of summarization, model and tools.

    Args:
        before: Share of the window at which it summarises; `max_tokens` is the whole window.
    """

    def build(materials: Materials) -> Any:
        from langmem.short_term import (  # type: ignore[import-untyped,unused-ignore]
            SummarizationNode,
        )

        def call_model(state: ModelInput) -> dict[str, Any]:
            bound = materials.model.bind_tools(materials.tools)
            return {"messages": [bound.invoke(state["summarized_messages"])]}

        builder = StateGraph(State)
        builder.add_node(
            "summarize",
            SummarizationNode(
                model=materials.summariser,
                max_tokens=materials.window,
                max_tokens_before_summary=int(before * materials.window),
                max_summary_tokens=materials.summary_tokens,
                token_counter=count_tokens,
            ),
        )
        builder.add_node("call_model", call_model)
        builder.add_node("tools", ToolNode(materials.tools))
        builder.add_edge(START, "summarize")
        builder.add_edge("summarize", "call_model")
        builder.add_conditional_edges(
            "call_model",
            lambda state: "tools" if state["messages"][-1].tool_calls else END,
            ["tools", END],
        )
        builder.add_edge("tools", "summarize")
        return builder.compile(checkpointer=LastCheckpoint())

    return build
