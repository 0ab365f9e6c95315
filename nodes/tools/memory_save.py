"""`memory_save`: remember something for all conversations to come."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Annotated, Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, BeforeValidator

from ...state.counting import count_text
from ...state.errors import ToolInputError
from ...stores.memory.memory_save import save_memory
from ...stores.memory.scopes import parse_scope
from ...stores.workspace import Workspace
from ..identity import now, owner_of
from ..node import Run
from .own_tool import ScopeArgument, own_tool

__all__ = ["memory_save_tool"]

log = logging.getLogger("longthread")


class Arguments(BaseModel):
    """What the model says; `null` is nothing to save."""

    content: Annotated[str, BeforeValidator(lambda given: "" if given is None else given)]
    scope: ScopeArgument = "agent"


def memory_save_tool(
    workspace: Workspace,
    *,
    agent: str = "agent",
    max_lines: int = 500,
    max_tokens: int = 8_000,
    redact: Callable[[str], str] | None = None,
    automatic: bool = True,
    name: str = "memory_save",
) -> BaseTool:
    """Make the tool.

    Args:
        workspace: Whose memory it writes.
        agent: The agent's name.
        max_lines: See `MemoryConfig.max_lines`.
        max_tokens: Most tokens of one entry: what could never be shown whole is not taken.
        redact: See `MemoryConfig.redact`.
        automatic: Whether facts are also extracted without being asked, which the model is told.
        name: Its name, when the application has a tool of that name.
    """

    def memory_save(run: Run, content: str, scope: Any) -> str:
        where = parse_scope(scope)
        text = content if redact is None else _redacted(content, redact)
        tokens = count_text(text)
        if tokens > max_tokens:
            raise ToolInputError(
                f"content takes about {tokens} tokens, at most {max_tokens} can be saved at once; "
                "nothing was saved: save the facts alone, each in a call of its own"
            )
        files = workspace.scoped(owner_of(run, agent))
        return save_memory(files, text, now(run), scope=where, max_lines=max_lines)

    by_itself = " What is said here is also noted by itself after the call." if automatic else ""
    return own_tool(
        memory_save,
        name=name,
        description=(
            "Remember something for all later conversations: a preference, decision, name or exact "
            "value, in one or two self-contained sentences. scope: agent (yours) or global (shared "
            f"by all agents).{by_itself}"
        ),
        arguments=Arguments,
    )


def _redacted(text: str, redact: Callable[[str], str]) -> str:
    """Return the text without secrets. When that fails, nothing of it may get into a message."""
    try:
        clean = redact(text)
    except Exception as error:
        log.warning("redact failed with %s: nothing was saved", type(error).__name__)
        clean = None
    if not isinstance(clean, str):
        raise ToolInputError(
            "content could not be checked for secrets, so nothing was saved; go on without saving"
        )
    return clean
