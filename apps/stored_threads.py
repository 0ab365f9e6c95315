"""Opening threads that are there, for one command: none are made by looking into them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .options import checkpointer_url

if TYPE_CHECKING:
    from ..graphs.compiled import AgentGraph
    from ..stores.journal import ThreadJournal
    from ..stores.settings import Settings

__all__ = ["agent_over", "journal_of"]


@contextmanager
def journal_of(
    checkpointer: str | None, workspace: Path, user: str | None, agent: str
) -> Iterator[ThreadJournal]:
    """Open the journal of a checkpointer."""
    from ..stores.checkpointers.opening import open_checkpointer
    from ..stores.journal import ThreadJournal

    with open_checkpointer(checkpointer_url(checkpointer, workspace), create=False) as saver:
        yield ThreadJournal(saver, workspace, user=user, agent=agent)


@contextmanager
def agent_over(
    checkpointer: str | None,
    workspace: Path,
    name: str,
    model: str | None = None,
    settings: Settings | None = None,
) -> Iterator[AgentGraph]:
    """Open an agent over the threads of a checkpointer.

    Without a model and settings that name one it may not be asked.
    """
    from ..graphs.agent import create_agent_graph
    from ..graphs.scripted import ScriptedModel
    from ..stores.checkpointers.opening import open_checkpointer

    # Uncompressed, which a saver that was not opened by us reads too.
    with open_checkpointer(
        checkpointer_url(checkpointer, workspace), compress=False, create=False
    ) as saver:
        yield create_agent_graph(
            model or (ScriptedModel(script=lambda _: "") if settings is None else None),
            name=name,
            settings=settings,
            workspace=workspace,
            checkpointer=saver,
        )
