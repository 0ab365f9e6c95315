"""`thread_search`: find what was said in past threads."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from ...state.counting import count_text
from ...state.text import clip_end
from ...stores.effects import Steps, adrive, drive
from ...stores.journal import ThreadHit, ThreadKey
from ...stores.matching import compile_query, excerpt
from ..node import Run
from .own_threads import OwnThreads, in_this_call
from .own_tool import MatchModeArgument, own_tool

__all__ = ["thread_search_tool"]

_EXCERPTS = (300, 150, 80)


class Arguments(BaseModel):
    """What the model says."""

    query: str
    match_mode: MatchModeArgument = "phrase"
    max_results: int = Field(10, ge=1, le=100)


def thread_search_tool(
    threads: OwnThreads,
    *,
    page_tokens: int = 8_000,
    name: str = "thread_search",
    history_tool: str = "thread_history",
) -> BaseTool:
    """Make the tool.

    Args:
        threads: Where it looks.
        page_tokens: The most tokens that one call returns.
        name: Its name, when the application has a tool of that name.
        history_tool: Name of the tool that reads the messages around a hit.
    """

    echoes = {f"tool {name}", f"tool {history_tool}"}

    def core(run: Run, query: str, match_mode: Any, max_results: int) -> Steps[str]:
        wanted = compile_query(query, match_mode)
        key = ThreadKey.of_run(run.config)
        here = {message.id for message in in_this_call(run)}
        owned = threads.of(run)
        limit = max_results + 1 + len(here)
        while True:
            every: list[ThreadHit] = yield from owned.search(query, match_mode, limit, None, None)
            # What the model has just been asked, and has just asked itself, is no answer; and what
            # these tools have shown is found where it was said.
            found = [
                hit
                for hit in every
                if hit.role not in echoes and not (_key(hit) == key and hit.message_id in here)
            ]
            if len(found) > max_results or len(every) < limit:
                break
            limit *= 4
        shown = found[:max_results]
        asked = clip_end(query, 200)
        if not shown:
            return f"No matches for {asked!r} in past threads."
        more = len(found) > len(shown)
        for size in _EXCERPTS:
            lines = [_line(hit, excerpt(hit.text, wanted, size)) for hit in shown]
            if count_text("\n".join(lines)) <= page_tokens:
                break
        while len(lines) > 1 and count_text("\n".join(lines)) > page_tokens:
            lines, more = lines[: (len(lines) + 1) // 2], True
        count = f"{len(lines)} {'match' if len(lines) == 1 else 'matches'}"
        lines.insert(0, f"{f'The newest {count}' if more else count} for {asked!r}, newest first:")
        if more:
            lines.append("[there are more: make the query more specific, or raise max_results]")
        return "\n".join(lines)

    return own_tool(
        lambda *args, **given: drive(core(*args, **given)),
        afunction=lambda *args, **given: adrive(core(*args, **given)),
        name=name,
        description=(
            "Search the messages, calls and results of past conversations, word for word. Each "
            f"hit is one message, `[thread_id #number role] text`; {history_tool} with a number a "
            "little greater as before= reads around it. match_mode: the query literally (phrase), "
            "or messages with all or any of its words."
        ),
        arguments=Arguments,
    )


def _key(hit: ThreadHit) -> ThreadKey:
    return ThreadKey(hit.thread_id, hit.checkpoint_ns)


def _line(hit: ThreadHit, shown: str) -> str:
    return f"[{_key(hit).spoken} #{hit.position} {hit.role}] {' '.join(shown.split())}"
