"""A compiled graph whose steps are on disk before the next one starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any, Self

from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.runnables.config import merge_configs
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.constants import END
from langgraph.errors import InvalidUpdateError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from ..nodes.closed import refuse_closed
from ..nodes.dispatch import ANSWERED
from ..nodes.node import Effect, Steps, adrive, drive
from ..state.channels import ThreadState
from ..stores.checkpointers.leases import Lease, is_leased, lease_on, released
from ..stores.journal.saver_calls import get_tuple
from .subthread import newest_checkpoint, newest_of_thread, saver_of, stored_in
from .thread_access import thread_in
from .unfinished import is_new_input, with_finished, with_undecided, writes_to

__all__ = ["AgentGraph"]


class AgentGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A `CompiledStateGraph` that runs with `durability="sync"` unless told otherwise.

    And one that keeps what finished tasks of an interrupted call have said, when a new message
    comes; that works on a thread in one call at a time, the others raise an error with the code
    `SESSION_BUSY`; and that works on none that is closed.

    LangGraph's default, `"async"`, writes a step while the next one runs: a kill right after a fast
    step loses it, and a tool that has run is run again. Both hold wherever the graph keeps a
    thread: with a saver of its own, inside LangGraph Server, and inside another graph.
    """

    @classmethod
    def of(cls, graph: CompiledStateGraph[Any, Any, Any, Any]) -> Self:
        """Return the same graph as an `AgentGraph`, the way that its `copy` copies."""
        return cls(**{k: v for k, v in vars(graph).items() if k != "__orig_class__"})

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Show the graph in a notebook, which draws it: LangGraph has a server on the net do it."""
        drawing = self.get_graph().draw_mermaid()
        return {
            "text/plain": repr(self),
            "text/markdown": f"```mermaid\n{drawing}\n```",
            "text/vnd.mermaid": drawing,
        }

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Any:
        """Stream as `CompiledStateGraph.stream` does, durably and losing nothing."""
        called = ensure_config(merge_configs(self.config, config))
        options = self._durable(called, options)
        lease = drive(self._lease(called))
        try:
            input = drive(self._taken_in(input, called))
            yield from super().stream(input, _with_answered(called, config), **options)
        finally:
            if lease is not None:
                released(lease).run()

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Stream as `CompiledStateGraph.astream` does, durably and losing nothing."""
        called = ensure_config(merge_configs(self.config, config))
        options = self._durable(called, options)
        lease = await adrive(self._lease(called))
        try:
            input = await adrive(self._taken_in(input, called))
            chunks: Any = super().astream(input, _with_answered(called, config), **options)
            async with aclosing(chunks):  # whoever stops listening stops the run
                async for chunk in chunks:
                    yield chunk
        finally:
            if lease is not None:
                await released(lease).arun()

    def bulk_update_state(self, config: RunnableConfig, supersteps: Any) -> RunnableConfig:
        """Update as `CompiledStateGraph.bulk_update_state` does, while nobody works on the thread.

        Whoever reads a stream of this very graph may do it too, as in LangGraph.
        """
        called = ensure_config(merge_configs(self.config, config))
        lease = drive(self._lease(called, shared=True))
        try:
            return super().bulk_update_state(config, supersteps)
        finally:
            if lease is not None:
                released(lease).run()

    async def abulk_update_state(self, config: RunnableConfig, supersteps: Any) -> RunnableConfig:
        """Do what `bulk_update_state` does, asynchronously."""
        called = ensure_config(merge_configs(self.config, config))
        lease = await adrive(self._lease(called, shared=True))
        try:
            return await super().abulk_update_state(config, supersteps)
        finally:
            if lease is not None:
                await released(lease).arun()

    def _lease(self, called: RunnableConfig, *, shared: bool = False) -> Steps[Lease | None]:
        """See to it that nobody else works on the thread, where that is this graph's business.

        Inside another graph it is that one's, and LangGraph Server has rules of its own.
        """
        values = called.get("configurable") or {}
        saver, thread = self.checkpointer, values.get("thread_id")
        if thread is None or not self._keeps_its_thread(called):
            return None
        assert isinstance(saver, BaseCheckpointSaver)
        name = thread_in(called)  # everybody without a name would share the blank one
        if shared and is_leased(saver, name):
            return None
        return (yield from lease_on(saver, name))

    def _keeps_its_thread(self, called: RunnableConfig) -> bool:
        """Whether the thread is in a checkpointer of the graph's own."""
        lent = "__pregel_checkpointer" in (called.get("configurable") or {})
        return not lent and isinstance(self.checkpointer, BaseCheckpointSaver)

    def _taken_in(self, given: Any, called: RunnableConfig) -> Steps[Any]:
        """Return the input of a call with what is to go into the journal before it.

        Raises:
            LongthreadError: The thread is closed.
        """
        newest = newest_checkpoint(self, called)
        place = newest or newest_of_thread(self, called)
        if place is None:
            return given
        stored: CheckpointTuple | None = yield get_tuple(*place)
        if stored is not None:
            refuse_closed(stored.checkpoint["channel_values"], thread_in(called))
        if newest is None or not is_new_input(given):
            return given
        own = set(self.builder.channels) - set(ThreadState.__annotations__)
        if writes_to(own, stored):
            with suppress(InvalidUpdateError):  # what they wrote cannot stand side by side
                yield self._finished(stored_in(*place, stored))
                return with_undecided(given, stored)
        return with_finished(given, stored)

    def _finished(self, config: RunnableConfig) -> Effect:
        """An effect: store what finished tasks have written, and let go of the others."""
        step = [[StateUpdate(None, END)]]
        inner, ainner = super().bulk_update_state, super().abulk_update_state
        return Effect(run=lambda: inner(config, step), arun=lambda: ainner(config, step))

    def _durable(self, called: RunnableConfig, options: dict[str, Any]) -> dict[str, Any]:
        """Choose how steps are stored, where nobody has: not the caller, not an outer graph's."""
        if options.get("durability") is not None or saver_of(self, called) is None:
            return options
        chosen = "__pregel_durability" in (called.get("configurable") or {})
        return options if chosen else {**options, "durability": "sync"}


def _with_answered(called: RunnableConfig, config: RunnableConfig | None) -> RunnableConfig | None:
    """Give a call on a thread a place of its own for what the model has asked for in it."""
    if (called.get("configurable") or {}).get("thread_id") is None:
        return config
    return merge_configs(config, {"configurable": {ANSWERED: set()}})
