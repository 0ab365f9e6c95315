"""Time per model step by length of the thread.

    python -m benchmarks.step_time [--lengths 10 100 1000 10000] [--steps 200]

One step is a model call that asks for a tool, and the tool's result. Three graphs do the same work
on the same messages, in memory, with the same scripted model: a bare two-node loop over the same
journal channel, this package's agent with everything on, and (where it is installed) LangChain's
`create_agent`. Figures are milliseconds of processor time, which a busy machine disturbs less than
the clock's; compare them as ratios within one run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from longthread import create_agent_graph
from longthread.graphs.scripted import ScriptedModel
from longthread.state.channels import Messages
from longthread.state.prompts import DEFAULT_FLUSH_PROMPT


def look(at: int) -> str:
    """Return something to read."""
    return f"line {at}: " + "the quick brown fox jumps over the lazy dog. " * 4


def model_for(steps: int, moments: list[float]) -> ScriptedModel:
    """Return a model that calls `look` that many times, then answers; it notes when it is asked."""
    done = 0

    def script(messages: list[BaseMessage]) -> AIMessage:
        nonlocal done
        if messages[0].content == DEFAULT_FLUSH_PROMPT:
            return AIMessage("NO_REPLY")
        if "<previous_summary>" in str(messages[-1].content):
            return AIMessage("## Intent\nLook at lines.")
        moments.append(time.process_time())
        done += 1
        if done > steps:
            return AIMessage("finished")
        call = {"name": "look", "args": {"at": done}, "id": f"new-{done}"}
        return AIMessage("", tool_calls=[call])

    return ScriptedModel(script=script)


def history(length: int) -> list[BaseMessage]:
    """Return a thread of that many messages: one request, then steps."""
    messages: list[BaseMessage] = [HumanMessage("look at everything", id="h0")]
    while len(messages) < length:
        at = len(messages)
        call = {"name": "look", "args": {"at": at}, "id": f"c{at}"}
        messages.append(AIMessage("", tool_calls=[call], id=f"a{at}"))
        messages.append(ToolMessage(look(at), tool_call_id=f"c{at}", name="look", id=f"t{at}"))
    return messages[:length] if length % 2 else [*messages[: length - 1], AIMessage("ok", id="z")]


def two_nodes(model: ScriptedModel) -> Any:
    """Build the bare loop: the same channel, no context management."""

    class State(TypedDict):
        messages: Messages

    def reasoning(state: State) -> dict[str, Any]:
        # The bare loop sends what a managed context would hold, so that only the graph is compared.
        return {"messages": [model.invoke(state["messages"][-50:])]}

    def tools(state: State) -> dict[str, Any]:
        answer = state["messages"][-1]
        assert isinstance(answer, AIMessage)
        call = answer.tool_calls[0]
        result = ToolMessage(look(**call["args"]), tool_call_id=call["id"], id=f"r{call['id']}")
        return {"messages": [result]}

    graph = StateGraph(State)
    graph.add_node("reasoning", reasoning)
    graph.add_node("tools", tools)
    graph.add_edge(START, "reasoning")
    graph.add_conditional_edges(
        "reasoning", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END]
    )
    graph.add_edge("tools", "reasoning")
    return graph.compile(checkpointer=InMemorySaver())


def ours(model: ScriptedModel) -> Any:
    """Build this package's agent, everything on."""
    return create_agent_graph(
        model,
        [look],
        checkpointer=InMemorySaver(),
        workspace=tempfile.mkdtemp(prefix="longthread-bench-"),
    )


def langchain_agent(model: ScriptedModel) -> Any:
    """Build LangChain's agent, where it is installed."""
    from langchain.agents import create_agent  # type: ignore[import-not-found,unused-ignore]

    return create_agent(model, [look], checkpointer=InMemorySaver())


def per_step(build: Callable[[ScriptedModel], Any], length: int, steps: int) -> float:
    """Return milliseconds per step on a thread of `length` messages, without opening and closing
    it.

    The median of the times from one request to the next: a step that evicts, masks or compacts
    counts once among many, as it does in a thread.
    """
    moments: list[float] = []
    graph = build(model_for(steps, moments))
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000_000}
    graph.update_state(config, {"messages": history(length)})
    graph.invoke({"messages": [HumanMessage("go on", id="go")]}, config)
    return statistics.median(b - a for a, b in pairwise(moments)) * 1_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    graphs: dict[str, Callable[[ScriptedModel], Any]] = {"two nodes": two_nodes, "longthread": ours}
    try:
        langchain_agent(model_for(1, []))
        graphs["create_agent"] = langchain_agent
    except ImportError:
        print("create_agent: not installed (pip install langchain)")
    print(f"{'messages':>10}" + "".join(f"{name:>14}" for name in graphs) + "   CPU ms per step")
    for length in arguments.lengths:
        row = []
        for build in graphs.values():
            runs = [per_step(build, length, arguments.steps) for _ in range(arguments.repeat)]
            row.append(statistics.median(runs))
        print(f"{length:>10}" + "".join(f"{value:>14.2f}" for value in row))


if __name__ == "__main__":
    main()
