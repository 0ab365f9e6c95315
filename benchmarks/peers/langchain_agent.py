"""LangChain's `create_agent` with its own middleware for long conversations."""

from __future__ import annotations

from typing import Any

from .checkpoints import LastCheckpoint
from .player import Build, Materials, count_tokens

__all__ = ["summarization_agent"]


def summarization_agent(
    *,
    trigger: float = 0.8,
    keep: float | int = 20,
    trim: int | None = None,
    clear: float | None = None,
    clear_keep: int = 3,
) -> Build:
    """Return how to build `create_agent` with `SummarizationMiddleware`.

    Args:
        trigger: Share of the window at which it summarises.
        keep: What it keeps: a share of the window, or a number of messages.
        trim: Tokens of the old messages that the summariser is shown; None: all.
        clear: Share of the window at which `ClearToolUsesEdit` clears older results; None: never.
        clear_keep: Results that it keeps.
    """

    def build(materials: Materials) -> Any:
        from langchain.agents import create_agent
        from langchain.agents.middleware import (
            ClearToolUsesEdit,
            ContextEditingMiddleware,
            SummarizationMiddleware,
        )

        kept: Any = ("fraction", keep) if isinstance(keep, float) else ("messages", keep)
        middleware: list[Any] = [
            SummarizationMiddleware(
                materials.summariser,
                trigger=("fraction", trigger),
                keep=kept,
                trim_tokens_to_summarize=trim,
                token_counter=count_tokens,
            )
        ]
        if clear is not None:
            edit = ClearToolUsesEdit(trigger=int(clear * materials.window), keep=clear_keep)
            middleware.append(ContextEditingMiddleware(edits=[edit], token_counter=count_tokens))
        return create_agent(
            materials.model,
            materials.tools,
            system_prompt=materials.system or None,
            middleware=middleware,
            checkpointer=LastCheckpoint(),
        )

    return build
