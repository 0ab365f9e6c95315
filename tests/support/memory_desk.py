"""A desk to test memory work at: files, a clock that stands still, and nodes without a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore

from longthread import LocalWorkspace, MemoryConfig, StoreWorkspace
from longthread.nodes import identity
from longthread.nodes.consolidation import ConsolidationNode
from longthread.nodes.flush import FlushNode
from longthread.state.policy import ContextPolicy
from longthread.stores.workspace import Owner, ScopedWorkspace, Workspace

__all__ = ["Clock", "Desk", "between", "quick_disk", "talk", "workspace_of"]


STORES: dict[Path, InMemoryStore] = {}
"""Of tests that have their files in stores: what a folder stands for."""


def workspace_of(kind: str, folder: Path) -> Workspace:
    """Return the workspace of a folder: `local` files, or a `store` that is kept under its name."""
    if kind == "local":
        return LocalWorkspace(folder)
    return StoreWorkspace(STORES.setdefault(folder, InMemoryStore()), ("memory",))


def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do without what only a power cut needs: most of the time of these tests goes there."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.moment = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
        monkeypatch.setattr(identity, "utc_now", lambda: self.moment)

    def moves(self, **units: float) -> None:
        """Let time pass."""
        self.moment += timedelta(**units)


def talk(*texts: str, start: int = 0) -> list[BaseMessage]:
    """A thread in which so many things were said, each of them answered."""
    messages: list[BaseMessage] = []
    for n, text in enumerate(texts, start=start):
        messages += [HumanMessage(text, id=f"h{n}"), AIMessage("ok", id=f"a{n}")]
    return messages


class Desk:
    """The nodes that write memory, on one workspace.

    Args:
        folder: Where the files go.
        script: What the model answers.
        workspace: Another workspace than that of the folder.
        kind: What kind of workspace the folder has.
        window: The model's context window.
        config: Fields of `MemoryConfig`. Work is done at once, maintenance whenever it is asked
            for.
    """

    def __init__(
        self,
        folder: Path,
        script: Scripted,
        *,
        workspace: Workspace | None = None,
        kind: str = "local",
        window: int = 64_000,
        **config: Any,
    ) -> None:
        config = {"background": False, "consolidation_min_gap": timedelta(0), **config}
        self.script = script
        self.workspace = workspace or workspace_of(kind, folder)
        self.policy = ContextPolicy(window=window, memory=MemoryConfig(**config))

    @property
    def files(self) -> ScopedWorkspace:
        """The files of the default user."""
        return self.workspace.scoped(Owner(None, "agent"))

    @property
    def ledgers(self) -> str:
        """All ledgers, one after the other."""
        paths = self.files.list_files("memory")
        return "".join(self.files.read_text(path) or "" for path in paths)

    @property
    def memory(self) -> str | None:
        """MEMORY.md."""
        return self.files.read_text("MEMORY.md")

    def flush(self, messages: Sequence[BaseMessage], thread: str = "t") -> dict[str, Any]:
        """End a call of a thread."""
        node = FlushNode(self.policy, self.workspace, self.script.model)
        return node.invoke({"messages": list(messages)}, {"configurable": {"thread_id": thread}})

    def consolidate(self) -> None:
        """Do what is due."""
        node = ConsolidationNode(self.policy, self.workspace, self.script.model)
        node.invoke({"messages": talk("hi")})

    def asked(self, kind: str) -> list[str]:
        """The requests for facts (`facts`) or for MEMORY.md (`memory`)."""
        return [str(request[-1].content) for request in self.script.asked[kind]]


def between(text: str, tag: str) -> str:
    """What stands between two tags in a request."""
    return text.partition(f"<{tag}>\n")[2].rpartition(f"\n</{tag}>")[0]
