"""`thread_history`: read a thread back, word for word, however much of it was summarised."""

from __future__ import annotations

from typing import Annotated, Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, WithJsonSchema

from ...state.counting import count_text
from ...state.errors import LongthreadError, ToolInputError
from ...state.text import clip_end
from ...state.transcript import message_text, role_of
from ...stores.effects import Steps, adrive, drive
from ...stores.journal import HistoryPage, OwnedThreads, ThreadKey
from ..node import Run
from .own_threads import OwnThreads
from .own_tool import own_tool

__all__ = ["thread_history_tool"]

_LEAST = 80

INTEGER = WithJsonSchema({"type": "integer"})


class Arguments(BaseModel):
    """What the model says; `before` may be a message's id too."""

    thread_id: Annotated[str | None, WithJsonSchema({"type": "string"})] = None
    last_n: int = Field(20, ge=1, le=100)
    before: Annotated[int | str | None, INTEGER] = None
    message: Annotated[int | None, Field(ge=0), INTEGER] = None
    char_offset: Annotated[int, Field(ge=0), INTEGER] = 0


def thread_history_tool(
    threads: OwnThreads,
    *,
    page_chars: int = 20_000,
    page_tokens: int = 8_000,
    name: str = "thread_history",
) -> BaseTool:
    """Make the tool.

    Args:
        threads: Where it looks.
        page_chars: The most characters of messages that one call returns.
        page_tokens: The most tokens; dense text reaches that first.
        name: Its name, when the application has a tool of that name.
    """

    def core(
        run: Run,
        thread_id: str | None,
        last_n: int,
        before: int | str | None,
        message: int | None,
        char_offset: int,
    ) -> Steps[str]:
        if isinstance(before, str) and before.lstrip("#").isdecimal():
            before = int(before.lstrip("#"))
        if message is not None:
            last_n, before = 1, message + 1
        page = yield from _page(threads.of(run), run, thread_id, last_n, before)
        if message is None:
            return _listed(page, page_chars, page_tokens)
        if page.start != message or not page.messages:
            raise ToolInputError(
                f"message={message!r}: the thread has messages 0 to {page.total - 1}"
            )
        return _part(page, char_offset, page_chars, page_tokens)

    return own_tool(
        lambda *args, **given: drive(core(*args, **given)),
        afunction=lambda *args, **given: adrive(core(*args, **given)),
        name=name,
        description=(
            "Read the last messages, word for word: of this conversation (also what is summarised "
            "or no longer shown), or of a past one by its thread_id. before= a number pages back; "
            "message= and char_offset= read on in one long message."
        ),
        arguments=Arguments,
    )


def _page(
    owned: OwnedThreads,
    run: Run,
    thread_id: str | None,
    last_n: int,
    before: int | str | None,
) -> Steps[HistoryPage]:
    """Read the thread that is meant, the present one if none is named."""
    here = ThreadKey.of_run(run.config)
    if thread_id is None or (here is not None and thread_id in (here.thread_id, here.spoken)):
        if here is None:
            raise ToolInputError("thread_id: name a thread; this conversation is not kept")
        return (
            yield from owned.page(here.thread_id, last_n, before, here.checkpoint_ns, trusted=True)
        )
    try:
        return (yield from owned.page(thread_id, last_n, before, None))
    except LongthreadError as error:
        inner = ThreadKey.of_spoken(thread_id)
        if error.code != "SESSION_NOT_FOUND" or not inner.checkpoint_ns:
            raise
    return (yield from owned.page(inner.thread_id, last_n, before, inner.checkpoint_ns))


def _listed(page: HistoryPage, chars: int, tokens: int) -> str:
    """Show messages, each in one line or a paragraph, as much of every one as there is room for."""
    spoken = ThreadKey(page.thread_id, page.checkpoint_ns).spoken
    if not page.messages:
        return f"Thread {spoken!r} has {page.total} messages, and none before that one."
    first, texts = page.start, [message_text(message) for message in page.messages]
    share = max(_LEAST, chars // len(texts))
    while True:
        lines = [_shown(page, at, text, share) for at, text in enumerate(texts, first)]
        fits = count_text("\n".join(lines)) <= tokens
        if fits or (len(texts) == 1 and share == _LEAST):
            break
        if share > _LEAST:
            share = max(_LEAST, share // 2)
        else:  # only fewer of them help
            dropped = (len(texts) + 1) // 2
            first, texts = first + dropped, texts[dropped:]
    last = first + len(texts) - 1
    numbers = f"message {first}" if first == last else f"messages {first} to {last}"
    lines.insert(0, f"Thread {spoken!r}, {numbers} of {page.total} (counted from 0):")
    if first:
        lines.append(f"[older messages: before={first}]")
    return "\n".join(lines)


def _shown(page: HistoryPage, at: int, text: str, share: int) -> str:
    role = role_of(page.messages[at - page.start])
    shown = clip_end(text, share) if len(text) > share + _LEAST else text
    if shown != text:
        left = len(text) - len(shown)
        shown += f" [… {left:,} more characters: message={at}, char_offset={len(shown)}]"
    return f"#{at} {role}: {shown}"


def _part(page: HistoryPage, offset: int, chars: int, tokens: int) -> str:
    """Show one message from a character on."""
    (message,) = page.messages
    text: Any = message_text(message)
    part = clip_end(text[offset:], chars) or text[offset : offset + 1]
    while len(part) > 1 and (taken := count_text(part)) > tokens:
        part = clip_end(part, len(part) * tokens // taken) or part[:1]
    end = offset + len(part)
    title = f"#{page.start} {role_of(message)}, characters {offset:,} to {end:,} of {len(text):,}:"
    if end < len(text):
        return f"{title}\n{part}\n[read on with message={page.start}, char_offset={end}]"
    return f"{title}\n{part}" if part else f"{title} nothing is left from there on."
