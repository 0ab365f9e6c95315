"""Time per model step by length of the thread.

    python -m benchmarks.step_time [--lengths 10 100 1000 10000] [--steps 100] [--repeat 3]

One step is a model call that asks for a tool, and the tool's result. Four graphs do the same work
on the same messages with the same scripted model, in memory and with `durability="sync"`:

- *bare*: a loop of two nodes over the same journal channel; its tool is a plain function call.
- *loop*: the same with LangGraph's own `ToolNode`.
- *longthread*: this package's agent, everything on.
- *create_agent*: LangChain's agent, where it is installed. It sends the whole thread.

Bare and loop send as many of the last messages as longthread has sent in the same step, so that
only the graphs differ. Figures are milliseconds of processor time: for each run the median step,
and of the runs, which take turns, the median; read them as differences and ratios within one call.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from typing_extensions import TypedDict

from longthread import create_agent_graph
from longthread.graphs.scripted import ScriptedModel
from longthread.state.channels import Messages
from longthread.state.prompts import DEFAULT_FLUSH_PROMPT

__all__ = ["StepTimes", "main", "step_times"]

WINDOW = 16_000
"""Small enough for every thread but the shortest to fill it: a step then costs the same work."""


@dataclass
class Script:
    """What the scripted model does, and how long its requests were.

    Attributes:
        steps: Calls of `look` before it answers.
        sent: Messages in each request.
    """

    steps: int
    sent: list[int] = field(default_factory=list)
    done: int = field(default=0, init=False)

    def model(self) -> ScriptedModel:
        """Return the model."""
        return ScriptedModel(script=self._answer)

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        if messages[0].content == DEFAULT_FLUSH_PROMPT:
            return AIMessage("NO_REPLY")
        if "<previous_summary>" in str(messages[-1].content):
            return AIMessage("## Intent\nLook at lines.")
        self.sent.append(len(messages))
        self.done += 1
        if self.done > self.steps:
            return AIMessage("finished")
        call = {"name": "look", "args": {"at": self.done}, "id": f"new-{self.done}"}
        return AIMessage("", tool_calls=[call])


def look(at: int) -> str:
    """Return something to read."""
    return f"line {at}: " + "the quick brown fox jumps over the lazy dog. " * 4


def history(length: int) -> list[BaseMessage]:
    """Return a thread of that many messages: one request, then steps."""
    messages: list[BaseMessage] = [HumanMessage("look at everything", id="h0")]
    while len(messages) < length:
        at = len(messages)
        call = {"name": "look", "args": {"at": at}, "id": f"c{at}"}
        messages.append(AIMessage("", tool_calls=[call], id=f"a{at}"))
        messages.append(ToolMessage(look(at), tool_call_id=f"c{at}", name="look", id=f"t{at}"))
    return messages[:length] if length % 2 else [*messages[: length - 1], AIMessage("ok", id="z")]


def two_nodes(model: ScriptedModel, sent: Sequence[int], *, bare: bool) -> Any:
    """Build a loop over the same channel, without context management.

    Args:
        model: The model.
        sent: How many of the last messages to send in each step.
        bare: Whether the tool is a plain function call instead of LangGraph's tool node.
    """

    lengths = iter(sent)

    class State(TypedDict):
        messages: Messages

    def reasoning(state: State) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"][-next(lengths) :])]}

    def tools(state: State) -> dict[str, Any]:
        answer = state["messages"][-1]
        assert isinstance(answer, AIMessage)
        call = answer.tool_calls[0]
        result = ToolMessage(look(**call["args"]), tool_call_id=call["id"], id=f"r{call['id']}")
        return {"messages": [result]}

    graph = StateGraph(State)
    graph.add_node("reasoning", reasoning)
    graph.add_node("tools", tools if bare else ToolNode([look]))
    graph.add_edge(START, "reasoning")
    graph.add_conditional_edges(
        "reasoning", lambda s: "tools" if s["messages"][-1].tool_calls else END, ["tools", END]
    )
    graph.add_edge("tools", "reasoning")
    return graph.compile(checkpointer=InMemorySaver())


def longthread_agent(model: ScriptedModel) -> Any:
    """Build this package's agent, everything on."""
    return create_agent_graph(
        model,
        [look],
        checkpointer=InMemorySaver(),
        workspace=tempfile.mkdtemp(prefix="longthread-bench-"),
        context_window=WINDOW,
    )


def langchain_agent(model: ScriptedModel) -> Any:
    """Build LangChain's agent, where it is installed."""
    from langchain.agents import create_agent

    return create_agent(model, [look], checkpointer=InMemorySaver())


StepTimes = dict[str, float]
"""Milliseconds of processor time per step, by graph."""


def step_times(length: int, steps: int) -> StepTimes:
    """Return the median time of a step on threads of `length` messages, opening not included.

    A step that evicts, masks or compacts counts once among many, as it does in a thread.
    """
    ours = Script(steps + 1)
    times = {"longthread": _median_step(longthread_agent(ours.model()), length, steps)}
    for name, bare in (("bare", True), ("loop", False)):
        loop = two_nodes(Script(steps + 1).model(), ours.sent, bare=bare)
        times[name] = _median_step(loop, length, steps)
    with suppress(ImportError):
        agent = langchain_agent(Script(steps + 1).model())
        times["create_agent"] = _median_step(agent, length, steps)
    return times


def _median_step(graph: Any, length: int, steps: int) -> float:
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 1_000_000}
    graph.update_state(config, {"messages": history(length)})
    asked = {"messages": [HumanMessage("go on", id="go")]}
    updates = graph.stream(asked, config, stream_mode="updates", durability="sync")
    _step(updates)  # opens the thread
    times = []
    for _ in range(steps):
        begun = time.process_time()
        _step(updates)
        times.append((time.process_time() - begun) * 1_000)
    for _ in updates:
        pass  # to the end, so that nothing is left running
    return statistics.median(times)


def _step(updates: Iterator[Any]) -> None:
    """Go on to the next tool result."""
    for update in updates:
        if "tools" in update:
            return


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lengths", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    runs: dict[int, list[StepTimes]] = {length: [] for length in arguments.lengths}
    for _ in range(arguments.repeat):
        for length, found in runs.items():
            found.append(step_times(length, arguments.steps))
    names = list(runs[arguments.lengths[0]][0])
    print("| messages |" + "".join(f" {name} |" for name in [*names, "over bare", "over loop"]))
    print("|---|" + "---|" * (len(names) + 2))
    for length, found in runs.items():
        row = {name: statistics.median(run[name] for run in found) for name in names}
        over = [row["longthread"] - row[name] for name in ("bare", "loop")]
        print(f"| {length:,} |" + "".join(f" {figure:.2f} |" for figure in (*row.values(), *over)))


if __name__ == "__main__":
    main()
