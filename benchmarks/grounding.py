"""Which identifiers an answer uses, and whether they are still in its prompt.

An *identifier* is a word that nobody writes by chance: a path, an address, a dotted or snake_case
or CamelCase name, a word with a digit in it. An answer *uses* one if it stands in its text or in
the arguments of its calls. It counts only if an earlier message of the session has shown it: what
an answer makes up it cannot have lost. It is *in the prompt* if the text of the request holds it,
summary, placeholders and tool names included.

Any player can be measured: `Grounding.ask` wants the messages of a request and the recorded answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tracers.context import register_configure_hook

__all__ = ["Grounding", "Request", "identifiers", "message_text", "requests_watched"]

_IDENTIFIER = re.compile(
    r"""
      [\w.+-]+@[\w-]+(?:\.[\w-]+)+                       # an address
    | (?:https?://)?(?:[\w.~-]*/)+[\w.~-]*\w             # a path
    | \b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b                # a.dotted.name
    | \b(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])\w+(?:-\w+)*\b # letters and digits
    | \b\d{4,}\.\d{4,}\b                                 # a number of a preprint
    | \b\d{5,}\b                                         # a long number
    | \b_*[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b               # a snake_case name
    | \b[A-Z]?[a-z]+(?:[A-Z][a-z0-9]+)+\b                # a CamelCase name
    """,
    re.VERBOSE,
)
_SHORTEST, _LONGEST = 4, 120


def identifiers(text: str) -> set[str]:
    """Return the identifiers in a text."""
    return {found for found in _IDENTIFIER.findall(text) if _SHORTEST <= len(found) <= _LONGEST}


def message_text(message: BaseMessage) -> str:
    """Return what a message says: its text, and the names and arguments of its calls."""
    content = message.content
    parts = [content] if isinstance(content, str) else [_block_text(block) for block in content]
    if isinstance(message, AIMessage):
        for call in message.tool_calls:
            parts += [call["name"], *_strings(call["args"])]
    return "\n".join(parts)


def _strings(value: Any) -> Iterator[str]:
    """The values of arguments, however deep; their own names are the tool's, not the answer's."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _strings(item)
    else:
        yield str(value)


def _block_text(block: str | dict[Any, Any]) -> str:
    return block if isinstance(block, str) else str(block.get("text", ""))


@dataclass(frozen=True, slots=True)
class Request:
    """One request and what its answer needed.

    Attributes:
        used: Identifiers that the answer uses and the session has shown before.
        missing: Those of them that are not in the prompt.
    """

    used: frozenset[str]
    missing: frozenset[str]


class Grounding:
    """Follows a session, request by request.

    Args:
        tools: Names of the tools, which stand in every request.
    """

    def __init__(self, tools: Iterable[str] = ()) -> None:
        self.requests: list[Request] = []
        self._tools = "\n".join(tools)
        self._seen: set[str] = set()

    def show(self, messages: Iterable[BaseMessage]) -> None:
        """Note what the session has said so far."""
        for message in messages:
            self._seen |= identifiers(message_text(message))

    def ask(self, prompt: Sequence[BaseMessage], answer: BaseMessage) -> Request:
        """Hold an answer against the prompt of its request."""
        used = identifiers(message_text(answer)) & self._seen
        shown = "\n".join([self._tools, *map(message_text, prompt)]) if used else ""
        request = Request(frozenset(used), frozenset(word for word in used if word not in shown))
        self.requests.append(request)
        return request

    @property
    def used(self) -> int:
        """Identifiers used, each counted once an answer."""
        return sum(len(request.used) for request in self.requests)

    @property
    def missing(self) -> int:
        """Those that were not in the prompt."""
        return sum(len(request.missing) for request in self.requests)

    @property
    def share(self) -> float:
        """Share of the used identifiers that was in the prompt; 1 if none was used."""
        return 1 - self.missing / self.used if self.used else 1.0


class _Watch(BaseCallbackHandler):
    """Keeps the messages of every request that is not tagged as an auxiliary one."""

    def __init__(self) -> None:
        self.requests: list[list[BaseMessage]] = []

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        messages: list[list[BaseMessage]],
        *,
        tags: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        if not any(tag.startswith("longthread:") for tag in tags or ()):
            self.requests.append(messages[0])


_watch: ContextVar[_Watch | None] = ContextVar("benchmark_watch", default=None)
register_configure_hook(_watch, inheritable=True)


@contextmanager
def requests_watched() -> Iterator[list[list[BaseMessage]]]:
    """Collect the requests that any LangChain model gets while this is open, summaries apart."""
    watch = _Watch()
    token = _watch.set(watch)
    try:
        yield watch.requests
    finally:
        _watch.reset(token)
