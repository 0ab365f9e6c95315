"""What a node is: one core for sync and async, written as a generator that asks for its effects.

A node's `steps` yields every model call and every piece of I/O as an `Effect` and returns the state
update (see `stores.effects`). `invoke` performs the effects one way, `ainvoke` the other.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime, get_runtime

from ..state.errors import ConfigurationError
from ..stores.effects import Effect, Steps, adrive, drive, io

__all__ = ["Effect", "Node", "Run", "Steps", "Update", "adrive", "ask", "drive", "io"]

Update = dict[str, Any]


def ask(function: Callable[..., Any], *args: Any) -> Effect:
    """An effect that calls a function of the application's, which may be asynchronous.

    Raises:
        ConfigurationError: It is asynchronous, and the graph was not called so.
    """

    def run() -> Any:
        result = function(*args)
        if not inspect.isawaitable(result):
            return result
        if inspect.iscoroutine(result):
            result.close()
        name = getattr(function, "__name__", repr(function))
        raise ConfigurationError(f"{name} is asynchronous: call the graph so too, with `ainvoke`")

    async def arun() -> Any:
        result = function(*args)
        return await result if inspect.isawaitable(result) else result

    return Effect(run=run, arun=arun)


@dataclass(frozen=True, slots=True)
class Run:
    """Where a node runs.

    Attributes:
        config: The configuration to pass on, with callbacks.
        runtime: LangGraph's runtime; None outside a graph.
    """

    config: RunnableConfig
    runtime: Runtime[Any] | ToolRuntime[Any, Any] | None

    @property
    def thread_id(self) -> str | None:
        """The id of the thread, or None without a checkpointer."""
        thread_id = (self.config.get("configurable") or {}).get("thread_id")
        return None if thread_id is None else str(thread_id)

    @property
    def checkpointer(self) -> BaseCheckpointSaver[Any] | None:
        """The checkpointer that keeps the thread, whichever graph it was given to."""
        # Not offered in public: LangGraph hands it down to subgraphs in this way.
        saver = (self.config.get("configurable") or {}).get("__pregel_checkpointer")
        return saver if isinstance(saver, BaseCheckpointSaver) else None

    @property
    def namespace(self) -> str:
        """Where in an outer graph the agent stands, "" for an agent that stands alone."""
        configurable = self.config.get("configurable") or {}
        parts = str(configurable.get("checkpoint_ns") or "").split("|")
        if self.runtime is not None:
            parts.pop()  # the node's own
        return "|".join(part.partition(":")[0] for part in parts)

    def emit(self, event: str, **facts: Any) -> None:
        """Send an event to `stream_mode="custom"`: `{"type": event, **facts}`."""
        if self.runtime is not None:
            self.runtime.stream_writer({"type": event, **facts})


class Node(Runnable[Any, Update], ABC):
    """A node of the agent graph that can be used in any other `StateGraph` too.

    It reads and writes the channels of `ThreadState` that its docstring names.
    """

    @abstractmethod
    def steps(self, state: Mapping[str, Any], run: Run) -> Steps[Update]:
        """Do the node's work; yield effects, return the update."""

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:
        """Run the node on a state."""
        return drive(self.steps(input, _run(config)))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Update:
        """Run the node on a state, asynchronously."""
        return await adrive(self.steps(input, _run(config)))


def _run(config: RunnableConfig | None) -> Run:
    try:
        runtime = get_runtime()
    except RuntimeError:
        runtime = None
    return Run(config or {}, runtime)
