"""Asking one provider after the other: what every way to call a model has in common."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.constants import TAG_NOSTREAM
from pydantic import SecretStr

from ..state.errors import AnswerCutOff
from ..state.outage import is_outage, is_timeout
from .redaction import without_secrets

__all__ = ["Attempts", "Candidate", "Rests", "aask", "ask", "astream_from", "stream_from"]

log = logging.getLogger("longthread")

# How providers say that an answer is complete.
_ENDS = ("finish_reason", "stop_reason", "status", "done_reason", "done")


@dataclass(frozen=True)
class Candidate:
    """One provider's model, ready to be called.

    Attributes:
        name: `"provider:model"`, for messages.
        runnable: The model, possibly with tools bound or an answer's schema.
        says_when_done: Whether a complete answer says why it ended, as OpenAI's protocol has it.
    """

    name: str
    runnable: Runnable[Any, Any]
    says_when_done: bool = False


class _Watch(BaseCallbackHandler):
    """Notes whether anybody has been shown something of an answer."""

    run_inline = True

    def __init__(self, hidden: bool) -> None:
        self.hidden = hidden
        self.streamed = False  # a stream has begun
        self.shown = False  # and something of the answer was in it

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_: Any) -> None:
        self.streamed = True
        calls = getattr(getattr(chunk, "message", None), "tool_call_chunks", None)
        self.shown = self.shown or (not self.hidden and bool(token or calls))

    def on_stream_event(self, event: Any, **_: Any) -> None:
        self.streamed = True
        begun = str(event.get("event", "")).startswith("content-block")
        self.shown = self.shown or (not self.hidden and begun)


class Rests:
    """Candidates that have kept a caller waiting: for a while they are asked last.

    A failure that comes at once costs nothing, and the preferred provider is asked again with the
    next call; a time-out would cost every step of an agent that long.

    Args:
        seconds: How long a candidate rests.
    """

    def __init__(self, seconds: float = 30.0) -> None:
        self.seconds = seconds
        self._until: dict[str, float] = {}

    def begin(self, candidate: Candidate) -> None:
        """Let a candidate rest from now on."""
        self._until[candidate.name] = monotonic() + self.seconds

    def in_order(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates in the order to ask them now."""
        now = monotonic()
        return sorted(candidates, key=lambda each: self._until.get(each.name, 0) > now)


@dataclass
class Attempts:
    """The attempts of one call, in order.

    Iterating yields each candidate that may be asked; it is asked inside `with attempts:`. There an
    error ends in the next candidate's turn, if `goes_on(error)` says so: only after an outage, and
    never once something of the answer has been shown.
    """

    candidates: Sequence[Candidate]
    secrets: Sequence[SecretStr] = ()
    rests: Rests = field(default_factory=Rests)
    shown: bool = False
    _at: int = -1
    _failures: list[str] = field(default_factory=list)
    _watch: _Watch | None = None

    def __post_init__(self) -> None:
        self.candidates = self.rests.in_order(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        for at, candidate in enumerate(self.candidates):
            self._at = at
            yield candidate

    def __enter__(self) -> None:
        """Begin to ask the candidate whose turn it is."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Keep an error to itself if the next candidate may be asked."""
        return isinstance(error, Exception) and self.goes_on(error)

    def config(self, config: RunnableConfig | None) -> RunnableConfig:
        """Return the configuration for an attempt: it watches what is shown."""
        given: RunnableConfig = {**config} if config else {}
        if self._at > 0:
            given.pop("run_id", None)  # that was the first attempt's
        self._watch = _Watch(hidden=TAG_NOSTREAM in (given.get("tags") or []))
        return merge_configs(given, {"callbacks": [self._watch]})

    def complete(self, answer: Any) -> Any:
        """Return an answer that has ended by itself.

        Raises:
            AnswerCutOff: A stream ended without a word: the connection was cut.
        """
        streamed = self._watch is not None and self._watch.streamed
        if streamed and isinstance(answer, AIMessage):
            self.check_end(any(map(answer.response_metadata.get, _ENDS)))
        return answer

    def ended(self, chunk: Any) -> bool:
        """Say whether a chunk tells that the answer ends with it."""
        names = ("response_metadata", "generation_info")
        return any(any(map((getattr(chunk, name, None) or {}).get, _ENDS)) for name in names)

    def passed_on(self, chunk: Any) -> Any:
        """Return a chunk that the caller is about to see."""
        calls = getattr(chunk, "tool_call_chunks", None)
        self.shown = self.shown or bool(getattr(chunk, "content", chunk) or calls)
        return chunk

    def check_end(self, ended: bool) -> None:
        """Refuse a stream that ended without a word."""
        candidate = self.candidates[self._at]
        if candidate.says_when_done and not ended:
            raise AnswerCutOff(
                f"{candidate.name}: the answer ended in the middle; the connection was cut"
            )

    def goes_on(self, error: Exception) -> bool:
        """Say whether the next candidate may be asked after this error."""
        without_secrets(error, self.secrets)
        shown = self.shown or (self._watch is not None and self._watch.shown)
        is_last = self._at + 1 == len(self.candidates)
        if is_last or shown or not is_outage(error):
            for failure in self._failures:
                error.add_note(f"longthread: asked before, {failure}")
            return False
        name, after = self.candidates[self._at].name, self.candidates[self._at + 1].name
        if is_timeout(error):
            self.rests.begin(self.candidates[self._at])
        failure = f"{name}: {_kind(error)}"
        self._failures.append(failure)
        # What the provider said may hold anything: only the kind of failure is logged.
        log.warning("%s: asking %s instead", failure, after)
        return True


def ask(
    attempts: Attempts, input: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
) -> Any:
    """Ask one candidate after the other, as the attempts allow."""
    for candidate in attempts:
        with attempts:
            answer = candidate.runnable.invoke(input, attempts.config(config), **kwargs)
            return attempts.complete(answer)
    raise AssertionError("there is a candidate")


async def aask(
    attempts: Attempts, input: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
) -> Any:
    """Do what `ask` does, asynchronously."""
    for candidate in attempts:
        with attempts:
            answer = await candidate.runnable.ainvoke(input, attempts.config(config), **kwargs)
            return attempts.complete(answer)
    raise AssertionError("there is a candidate")


def stream_from(
    attempts: Attempts, input: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
) -> Iterator[Any]:
    """Stream from one candidate after the other, as the attempts allow."""
    for candidate in attempts:
        with attempts:
            ended = False
            chunks: Any = candidate.runnable.stream(input, attempts.config(config), **kwargs)
            with closing(chunks):  # whoever stops listening stops the request
                for chunk in chunks:
                    ended = ended or attempts.ended(chunk)
                    yield attempts.passed_on(chunk)
            attempts.check_end(ended)
            return


async def astream_from(
    attempts: Attempts, input: Any, config: RunnableConfig | None, kwargs: dict[str, Any]
) -> AsyncIterator[Any]:
    """Do what `stream_from` does, asynchronously."""
    for candidate in attempts:
        with attempts:
            ended = False
            chunks: Any = candidate.runnable.astream(input, attempts.config(config), **kwargs)
            async with aclosing(chunks):
                async for chunk in chunks:
                    ended = ended or attempts.ended(chunk)
                    yield attempts.passed_on(chunk)
            attempts.check_end(ended)
            return


def _kind(error: Exception) -> str:
    status = getattr(error, "status_code", None)
    kind = type(error).__name__
    return f"{kind} ({status})" if isinstance(status, int) else kind
