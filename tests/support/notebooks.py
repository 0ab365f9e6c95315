"""Threads that tests write directly, without a model: messages said, edited, removed, forked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from longthread import LocalWorkspace, ThreadState
from longthread.stores import Owner, Workspace
from longthread.stores.journal import ThreadJournal, ThreadKey, register_thread
from longthread.stores.matching import compile_query

__all__ = ["Notebook", "naive", "opened", "opened_async"]

_SCHEMA: Any = ThreadState
ANN = Owner("ann", "agent")


class Notebook:
    """Threads in a checkpointer, and the journal that reads them.

    Args:
        saver: The checkpointer.
        root: The workspace, or its folder.
        owner: Whose threads they are.
        schema: The state of the graph that writes them.
    """

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        root: Path | Workspace,
        owner: Owner = ANN,
        schema: Any = _SCHEMA,
    ) -> None:
        self.saver = saver
        self.owner = owner
        self.workspace = LocalWorkspace(root) if isinstance(root, Path) else root
        self.journal = ThreadJournal(saver, self.workspace, user=owner.user, agent=owner.agent)
        builder = StateGraph(schema)
        builder.add_node("note", lambda _: {})
        builder.add_edge(START, "note")
        builder.add_edge("note", END)
        self.graph = builder.compile(checkpointer=saver)

    def write(self, thread: str, messages: Any, at: str | None = None) -> None:
        """Say (or edit, or remove) something in a thread; `at`: from this checkpoint on."""
        update = self._begin(thread, messages)
        self.graph.update_state(_config(thread, at), update, as_node="note")

    async def awrite(self, thread: str, messages: Any) -> None:
        """Do what `write` does, asynchronously."""
        update = self._begin(thread, messages)
        await self.graph.aupdate_state(_config(thread), update, as_node="note")

    def messages(self, thread: str) -> list[AnyMessage]:
        """Return the thread as LangGraph rebuilds it."""
        found: list[AnyMessage] = self.graph.get_state(_config(thread)).values.get("messages", [])
        return found

    def checkpoint(self, thread: str) -> str:
        """Return the id of the newest checkpoint."""
        return str(self.graph.get_state(_config(thread)).config["configurable"]["checkpoint_id"])

    def _begin(self, thread: str, messages: Any) -> dict[str, Any]:
        register_thread(
            self.workspace.scoped(self.owner),
            ThreadKey(thread),
            messages=[],
            count=0,
            moment=datetime(2026, 11, 30, tzinfo=UTC),
        )
        owner = {"user": self.owner.user, "agent": self.owner.agent}
        return {"messages": messages, "owner": owner}


def naive(
    notebook: Notebook, threads: Iterable[str], query: str, mode: str
) -> set[tuple[str, int, str]]:
    """Search by looking at every message that says something: thread, position and text."""
    wanted = compile_query(query, mode)
    return {
        (thread, at, str(message.content))
        for thread in threads
        for at, message in enumerate(notebook.messages(thread))
        if str(message.content).strip() and wanted.matches(str(message.content))
    }


@contextmanager
def opened(kind: str, folder: Path, postgres_url: str | None = None) -> Iterator[Any]:
    """Open a synchronous checkpointer: memory, sqlite or postgres."""
    with ExitStack() as stack:
        if kind == "memory":
            yield InMemorySaver()
        elif kind == "sqlite":
            yield stack.enter_context(SqliteSaver.from_conn_string(str(folder / "threads.db")))
        else:
            from langgraph.checkpoint.postgres import PostgresSaver

            assert postgres_url is not None
            saver = stack.enter_context(PostgresSaver.from_conn_string(postgres_url))
            saver.setup()
            yield saver


@asynccontextmanager
async def opened_async(
    kind: str, folder: Path, postgres_url: str | None = None
) -> AsyncIterator[Any]:
    """Open an asynchronous checkpointer: memory, sqlite or postgres."""
    async with AsyncExitStack() as stack:
        if kind == "memory":
            yield InMemorySaver()
        elif kind == "sqlite":
            manager: Any = AsyncSqliteSaver.from_conn_string(str(folder / "threads.db"))
            yield await stack.enter_async_context(manager)
        else:
            from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

            assert postgres_url is not None
            manager = AsyncPostgresSaver.from_conn_string(postgres_url)
            saver = await stack.enter_async_context(manager)
            await saver.setup()
            yield saver


def _config(thread: str, checkpoint_id: str | None = None) -> Any:
    configurable = {"thread_id": thread}
    if checkpoint_id is not None:
        configurable |= {"checkpoint_id": checkpoint_id, "checkpoint_ns": ""}
    return {"configurable": configurable}
