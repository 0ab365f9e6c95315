"""Whose thread it is, and that it is there: what the thread journal finds it by."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AnyMessage

from ..state.decisions import ThreadOwner
from ..state.errors import WorkspaceError
from ..state.sealing import count_messages
from ..stores.journal import ThreadKey, register_thread
from ..stores.workspace import Workspace
from .identity import owner_of
from .node import Run, Steps, Update, io

__all__ = ["registration"]

log = logging.getLogger("longthread")


def registration(
    state: Mapping[str, Any], run: Run, workspace: Workspace, agent: str
) -> Steps[Update]:
    """Register the thread at the beginning of a call, unless it belongs to somebody else.

    Without a checkpointer there is no thread to be found. A record that cannot be written is
    logged: the call goes on.

    Args:
        state: The thread's state.
        run: Where the node runs.
        workspace: Where the registry is.
        agent: The graph's own name.

    Returns:
        What is to be recorded of it.
    """
    key = ThreadKey.of_run(run.config)
    owner = owner_of(run, agent)
    mine = ThreadOwner(user=owner.user, agent=owner.agent)
    recorded = state.get("owner")
    kept = key is not None and run.checkpointer is not None
    if key is not None and kept and (recorded is None or recorded == mine):
        messages: Sequence[AnyMessage] = state.get("messages") or []
        try:
            yield io(
                register_thread,
                workspace.scoped(owner),
                key,
                messages=messages,
                count=count_messages(len(messages), state.get("sealed")),
                moment=datetime.now(UTC),
                sealed=state.get("sealed") or None,
            )
        except WorkspaceError as error:
            log.warning("the thread is not in the registry: %s", error)
    return {} if recorded is not None else {"owner": mine}
