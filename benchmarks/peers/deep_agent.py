"""deepagents: its summarization, and its eviction of large results to a filesystem."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from longthread.apps.replay.held import HeldAsItIs

from .player import Build, Materials, count_tokens

__all__ = ["deep_agent", "lean_deep_agent"]


def deep_agent() -> Build:
    """Return how to build `create_deep_agent` as it comes, with the stand-in as its summariser."""

    def build(materials: Materials) -> Any:
        from deepagents import create_deep_agent
        from deepagents.backends import StateBackend
        from deepagents.middleware.summarization import create_summarization_middleware

        backend = StateBackend()
        return create_deep_agent(
            materials.model,
            materials.tools,
            system_prompt=materials.system or None,
            backend=backend,
            middleware=[
                create_summarization_middleware(
                    materials.model,
                    backend,
                    summarizer=materials.summariser,
                    token_counter=count_tokens,
                )
            ],
            checkpointer=InMemorySaver(serde=HeldAsItIs()),
        )

    return build


def lean_deep_agent(*, evict: float = 0.1) -> Build:
    """Return how to build `create_agent` with deepagents' two middlewares and one file tool.

    `create_deep_agent` sends the schemas of eight tools and more with every request; an agent that
    has tools of its own needs `read_file` alone, to read what was evicted.

    Args:
        evict: Share of the window above which a result is evicted; the default of 20,000 tokens is
            a tenth of a window of 200,000.
    """

    def build(materials: Materials) -> Any:
        from deepagents.backends import StateBackend
        from deepagents.middleware import FilesystemMiddleware
        from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
        from deepagents.middleware.summarization import create_summarization_middleware
        from langchain.agents import create_agent

        backend = StateBackend()
        middleware: list[Any] = [
            FilesystemMiddleware(
                backend=backend,
                tools=["read_file"],
                tool_token_limit_before_evict=int(evict * materials.window),
            ),
            create_summarization_middleware(
                materials.model,
                backend,
                summarizer=materials.summariser,
                token_counter=count_tokens,
            ),
            PatchToolCallsMiddleware(),
        ]
        return create_agent(
            materials.model,
            materials.tools,
            system_prompt=materials.system or None,
            middleware=middleware,
            checkpointer=InMemorySaver(serde=HeldAsItIs()),
        )

    return build
