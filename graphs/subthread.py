"""The thread that an agent keeps inside the thread of its parent graph.

It is a checkpoint namespace without task ids (LangGraph's `checkpointer=True`), named by the nodes
on the way to the agent. What is private to LangGraph about it is read and written here and nowhere
else.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from ..nodes.node import Steps
from ..state.errors import LongthreadError
from ..stores.checkpointers.leases import Lease
from ..stores.checkpointers.shared_leases import shared_lease_on
from ..stores.journal import ThreadKey
from .lineage import Checkpoints, bound_of_branch, was_rewritten_since

__all__ = [
    "Subthread",
    "is_nested",
    "lasting_namespace",
    "named_namespace",
    "newest_checkpoint",
    "newest_of_thread",
    "saver_of",
    "stored_in",
]

TASK = "__pregel_task_id"
LENT = "__pregel_checkpointer"
CALL = "longthread_call"
"""Under this name each checkpoint of the thread says which task of the parent it was made in."""


def is_nested(config: RunnableConfig) -> bool:
    """Whether a run is a task of another graph's."""
    return TASK in (config.get("configurable") or {})


def saver_of(graph: Any, config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer that a graph uses: the one that its parent lends, or its own.

    None for a graph that wants none, `compile(checkpointer=False)`.
    """
    if graph.checkpointer is False:
        return None
    values = config.get("configurable") or {}
    saver = values.get(LENT, graph.checkpointer)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def lasting_namespace(namespace: str) -> str:
    """Return a checkpoint namespace without task ids: the one of a graph that keeps its state."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))


def named_namespace(namespace: str, name: str) -> str:
    """Return the namespace of a named thread of a node.

    The name becomes a number: numbers in a namespace are LangGraph's own way to tell the threads of
    one node apart, and are left out where the node is looked for.
    """
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]
    return f"{namespace}|{int.from_bytes(digest)}"


def newest_checkpoint(
    graph: Any, config: RunnableConfig
) -> tuple[BaseCheckpointSaver[Any], RunnableConfig] | None:
    """Return where the newest checkpoint is of the thread that a call goes on with.

    None if it goes on with none: a call on an older checkpoint begins a branch, and what follows
    that checkpoint is another one's; a subgraph that does not keep its state has no thread; and a
    call that is resumed takes no new input.

    Args:
        graph: The compiled graph.
        config: How it is called, with everything inherited.
    """
    values = config.get("configurable") or {}
    saver = saver_of(graph, config)
    if saver is None or values.get("thread_id") is None or values.get("checkpoint_id"):
        return None
    namespace = str(values.get("checkpoint_ns") or "")
    if is_nested(config):
        namespace = lasting_namespace(namespace)
        travels = values.get("__pregel_replay_state") or namespace in values["checkpoint_map"]
        if graph.checkpointer is not True or values.get("__pregel_resuming") or travels:
            return None
    return saver, ThreadKey(str(values["thread_id"]), namespace).config()


def newest_of_thread(
    graph: Any, config: RunnableConfig
) -> tuple[BaseCheckpointSaver[Any], RunnableConfig] | None:
    """Return where the newest checkpoint is of a graph's own thread, whichever it is called on."""
    values = config.get("configurable") or {}
    saver = saver_of(graph, config)
    if saver is None or values.get("thread_id") is None or is_nested(config):
        return None
    namespace = str(values.get("checkpoint_ns") or "")
    return saver, ThreadKey(str(values["thread_id"]), namespace).config()


def stored_in(
    saver: BaseCheckpointSaver[Any], config: RunnableConfig, stored: CheckpointTuple | None
) -> RunnableConfig:
    """Return how a graph is updated in a place that its parent may have lent it.

    Args:
        saver: The checkpointer.
        config: The place in it.
        stored: Its newest checkpoint: the next one belongs to the same task of the parent, and to
            whatever else is known of it. (What LangGraph says of each itself goes before that.)
    """
    known: dict[str, Any] = {**stored.metadata} if stored is not None else {}
    facts = {key: value for key, value in known.items() if isinstance(value, (str, int, float))}
    return {"configurable": {**config["configurable"], LENT: saver}, "metadata": facts}


@dataclass(frozen=True, slots=True)
class Subthread:
    """An agent's thread inside the thread of its parent.

    Attributes:
        config: How the agent is called.
        saver: The parent's checkpointer, if it has one.
    """

    config: RunnableConfig
    saver: BaseCheckpointSaver[Any] | None

    @classmethod
    def of(cls, config: RunnableConfig, name: str | None) -> Self:
        """Return the thread of a node.

        Args:
            config: The configuration that the node was called with.
            name: The name of the thread, if the node has several.
        """
        values = dict(config.get("configurable") or {})
        if name is not None:
            values["checkpoint_ns"] = named_namespace(str(values.get("checkpoint_ns") or ""), name)
            pad = values.get("__pregel_scratchpad")
            if pad is not None:
                # LangGraph numbers the graphs that one task calls; a name says it better.
                values["__pregel_scratchpad"] = replace(pad, subgraph_counter=lambda: 0)
        metadata = {**(config.get("metadata") or {}), CALL: str(values.get(TASK))}
        lent = values.get(LENT)
        saver = lent if isinstance(lent, BaseCheckpointSaver) else None
        return cls({**config, "configurable": values, "metadata": metadata}, saver)

    def entered(self) -> Steps[RunnableConfig]:
        """Return how the agent is called so that it goes on where it should.

        LangGraph tells every task of a resumed step that it is resumed, also one that was never
        begun: the agent would then ignore its input, and return what it answered last. And when the
        parent goes on from an older checkpoint with new input, a subgraph is shown its future.
        """
        values = self.config.get("configurable") or {}
        travels = values.get("__pregel_replay_state")
        if self.saver is None or not (travels or values.get("__pregel_resuming")):
            return self.config
        stored = Checkpoints(self.saver, str(values["thread_id"]))
        newest: CheckpointTuple | None = yield stored.get(self.namespace)
        again = newest is not None and newest.metadata.get(CALL) == values[TASK]
        if travels and not again:
            patience = 0 if values.get("__pregel_durability") == "exit" else 2_000
            bound = yield from bound_of_branch(
                stored, self.namespace, self.outer, self.now, patience=patience
            )
            return self._with(__pregel_replay_state=type(travels)(bound))
        if newest is not None and not again:
            again = yield from self._was_begun(stored, newest)
        return self._with(__pregel_resuming=again, __pregel_replay_state=None)

    @property
    def namespace(self) -> str:
        """Where the thread is kept."""
        return lasting_namespace(self._values["checkpoint_ns"])

    @property
    def outer(self) -> str:
        """Where the parent is kept."""
        parts = str(self._values["checkpoint_ns"]).split("|")
        while parts[-1].isdigit():
            parts.pop()
        return "|".join(parts[:-1])

    @property
    def now(self) -> str:
        """The parent's present checkpoint."""
        return str(self._values["checkpoint_map"][self.outer])

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Keep the thread to one call at a time.

        Raises:
            LongthreadError: With code `SESSION_BUSY`: another call is at work in this process.
        """
        if self.saver is None:
            yield
            return
        namespace = self.namespace
        key = (id(self.saver), str(self._values["thread_id"]), namespace)
        with _lock:
            busy = key in _at_work
            _at_work.add(key)
        if busy:
            raise LongthreadError(
                f"the agent at {namespace!r} is called again while a call of it is at work, and "
                "both would go on with one thread: name a thread for each, "
                "agent_node(agent, thread=lambda state: …)",
                code="SESSION_BUSY",
            )
        try:
            yield
        finally:
            with _lock:
                _at_work.discard(key)

    def leased(self) -> Steps[Lease]:
        """Keep other processes from the parent's thread, and so from this one, meanwhile.

        Raises:
            LongthreadError: With code `SESSION_BUSY`: one of them is at work on it.
        """
        if self.saver is None:
            return lambda: None
        return (yield from shared_lease_on(self.saver, str(self._values["thread_id"])))

    def _was_begun(self, stored: Checkpoints, newest: CheckpointTuple) -> Steps[bool]:
        """Whether the newest checkpoint belongs to the call that is resumed.

        Its task may have another id by now: when the application has written to the parent since.
        """
        began = (newest.metadata.get("parents") or {}).get(self.outer)
        if began is None:
            return False
        if began == self.now:
            return CALL not in newest.metadata  # with one, it is another task of the same step
        return (yield from was_rewritten_since(stored, self.outer, began, self.now))

    @property
    def _values(self) -> dict[str, Any]:
        return self.config["configurable"]

    def _with(self, **changed: Any) -> RunnableConfig:
        return {**self.config, "configurable": {**self._values, **changed}}


_lock = threading.Lock()
_at_work: set[tuple[int, str, str]] = set()
