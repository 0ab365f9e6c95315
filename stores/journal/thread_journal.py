"""`ThreadJournal`: what was said in the threads of a user, in full and for ever."""

from __future__ import annotations

from os import PathLike
from typing import Any

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from ...state.errors import ConfigurationError
from ..effects import adrive, drive
from ..local.workspace import workspace_at
from ..matching import MatchMode
from ..workspace import Owner, Workspace
from .owned import OwnedThreads
from .results import HistoryPage, Reindexed, ThreadHit, ThreadInfo

__all__ = ["ThreadJournal"]


class ThreadJournal:
    """Lists, reads and searches threads in a checkpointer.

    Every method looks at the threads of one user and one agent and never at another's. Nothing that
    shortens what a model is sent takes anything away here. Each method has an asynchronous twin;
    with an asynchronous checkpointer, synchronous ones work from other threads than its event
    loop's.

    What is found is what the checkpointer holds now: edits, removals and new messages are looked
    for before every search. The first search of many threads that were never searched has to read
    them all (about 0.2 ms a message).

    Args:
        checkpointer: The checkpointer that holds the threads.
        workspace: The agent's workspace, or its folder, which has the registry of threads; None:
            `.longthread/`.
        user: The user that the methods mean unless they are told another; None: the default user.
        agent: The agent that they mean.

    Raises:
        ConfigurationError: The checkpointer is none.
        WorkspaceError: The workspace cannot be used.
    """

    def __init__(
        self,
        checkpointer: BaseCheckpointSaver[Any],
        workspace: str | PathLike[str] | Workspace | None = None,
        *,
        user: str | None = None,
        agent: str = "agent",
    ) -> None:
        if not isinstance(checkpointer, BaseCheckpointSaver):
            raise ConfigurationError(
                f"checkpointer={checkpointer!r}: pass the saver that holds the threads; one of "
                "from_conn_string(…) or open_checkpointer(…) has to be entered first"
            )
        self._saver = checkpointer
        self._workspace = workspace_at(workspace)
        self._user = user
        self._agent = agent
        self._owned: dict[Owner, OwnedThreads] = {}

    def threads(self, user: str | None = None, agent: str | None = None) -> list[ThreadInfo]:
        """List the threads of a user and agent, the one that moved last first.

        Args:
            user: The user; None: the journal's own.
            agent: The agent; None: the journal's own.
        """
        return drive(self._of(user, agent).threads())

    async def athreads(self, user: str | None = None, agent: str | None = None) -> list[ThreadInfo]:
        """Do what `threads` does, asynchronously."""
        return await adrive(self._of(user, agent).threads())

    def history(
        self,
        thread_id: str,
        last_n: int = 20,
        before: int | str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> list[AnyMessage]:
        """Return messages of a thread, oldest first, as they were said.

        Args:
            thread_id: The thread.
            last_n: How many messages.
            before: They end before this message: its id, or its position counted from 0; None: they
                are the last ones.
            user: The user; None: the journal's own.
            agent: The agent; None: the journal's own.
            checkpoint_ns: Of an agent inside a larger graph its place there; None: the thread's
                own journal, or the only one in it.

        Raises:
            LongthreadError: This user and agent have no such thread (code `SESSION_NOT_FOUND`).
            ToolInputError: An argument cannot be used.
        """
        return self.page(
            thread_id, last_n, before, user=user, agent=agent, checkpoint_ns=checkpoint_ns
        ).messages

    async def ahistory(
        self,
        thread_id: str,
        last_n: int = 20,
        before: int | str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> list[AnyMessage]:
        """Do what `history` does, asynchronously."""
        steps = self._of(user, agent).page(thread_id, last_n, before, checkpoint_ns)
        return (await adrive(steps)).messages

    def page(
        self,
        thread_id: str,
        last_n: int = 20,
        before: int | str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> HistoryPage:
        """Return what `history` returns, with where it stands in the thread."""
        return drive(self._of(user, agent).page(thread_id, last_n, before, checkpoint_ns))

    async def apage(
        self,
        thread_id: str,
        last_n: int = 20,
        before: int | str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> HistoryPage:
        """Do what `page` does, asynchronously."""
        return await adrive(self._of(user, agent).page(thread_id, last_n, before, checkpoint_ns))

    def search(
        self,
        query: str,
        match_mode: MatchMode | None = "phrase",
        max_results: int = 10,
        thread_id: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> list[ThreadHit]:
        """Find messages, the newest first. One message is one record.

        Args:
            query: What to look for, in any case; otherwise literally.
            match_mode: "phrase": the whole query; "all", "any": its words, in any order.
            max_results: Most messages to return.
            thread_id: Only in this thread; None: in all of them.
            user: The user; None: the journal's own.
            agent: The agent; None: the journal's own.
            checkpoint_ns: Only what an agent at this place in a larger graph said.

        Raises:
            LongthreadError: This user and agent have no such thread (code `SESSION_NOT_FOUND`).
            ToolInputError: An argument cannot be used.
        """
        owned = self._of(user, agent)
        return drive(owned.search(query, match_mode, max_results, thread_id, checkpoint_ns))

    async def asearch(
        self,
        query: str,
        match_mode: MatchMode | None = "phrase",
        max_results: int = 10,
        thread_id: str | None = None,
        *,
        user: str | None = None,
        agent: str | None = None,
        checkpoint_ns: str | None = None,
    ) -> list[ThreadHit]:
        """Do what `search` does, asynchronously."""
        owned = self._of(user, agent)
        return await adrive(owned.search(query, match_mode, max_results, thread_id, checkpoint_ns))

    def reindex(self, user: str | None = None, agent: str | None = None) -> Reindexed:
        """Build the registry of threads and the search index anew from the checkpointer.

        Threads that no agent of ours has worked on become the default user's.

        Args:
            user: The user; None: the journal's own.
            agent: The agent; None: the journal's own.
        """
        return drive(self._of(user, agent).reindex())

    async def areindex(self, user: str | None = None, agent: str | None = None) -> Reindexed:
        """Do what `reindex` does, asynchronously."""
        return await adrive(self._of(user, agent).reindex())

    def _of(self, user: str | None, agent: str | None) -> OwnedThreads:
        owner = Owner(self._user if user is None else user, agent or self._agent)
        if owner not in self._owned:
            self._owned[owner] = OwnedThreads(self._saver, self._workspace, owner)
        return self._owned[owner]
