"""Telling from a provider's answer that a request did not fit, and by how much.

Current clients keep the provider's answer out of the exception's text, gateways wrap it, and some
models say it without any error at all. So everything that an answer carries is weighed: a code
before a status, a status before prose, and an exception before those that it was raised from. A
status or code that names another cause (a rate limit, a missing key) ends the search.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .overflow_evidence import (
    Evidence,
    evidence_of_body,
    evidence_of_exception,
    evidence_of_message,
    linked,
)

if TYPE_CHECKING:
    from .overflow_sizes import Sizes

__all__ = ["Overflow", "classify_overflow", "is_context_overflow"]

_CHAIN = 64  # exceptions looked at

# Limits of the account, no permission, no answer: nothing that a shorter request would change.
_UNRELATED_STATUSES = {401, 402, 403, 407, 408, 429, 504, 529}
# The HTTP server in front of the model refused an upload: only words about tokens say more.
_UPLOAD_STATUS = 413

# Mistral, Cohere: the answer ran into the window.
_SILENT_STOPS = {"modellength", "errorlimit"}


@dataclass(frozen=True, slots=True)
class Overflow:
    """A request that a provider refused, or cut short, because it did not fit.

    Attributes:
        kind: What has to give. `context_window`: the conversation has to shrink.
            `completion_budget`: the prompt alone takes at most half of the limit, so that reserving
            less for the answer is enough. `payload_bytes`: the request is too big in bytes or
            characters, whatever its tokens.
        limit: The provider's limit if it was named, in tokens; in bytes or characters (whichever
            the provider counts) for `payload_bytes`.
        requested: What was asked for, in the same unit: prompt and reserved answer together if both
            were named.
        prompt: What the prompt alone takes, in tokens, if it was named apart.
        at_least: Whether `requested` and `prompt` are lower bounds, because the provider stopped
            counting at the limit: they cannot size a cut, nor prove a `completion_budget`.
    """

    kind: Literal["context_window", "completion_budget", "payload_bytes"]
    limit: int | None = None
    requested: int | None = None
    prompt: int | None = None
    at_least: bool = False


def is_context_overflow(answer: object, /) -> bool:
    """Say whether an exception, error body, event or model's message reports an overflow."""
    return classify_overflow(answer) is not None


def classify_overflow(answer: object, /) -> Overflow | None:
    """Read a provider's answer. Never raises, never waits, whatever the answer holds.

    Args:
        answer: An exception (read with its causes, contexts and group members), an error body
            (mapping or text), a stream event such as `response.failed`, or a chat model's message,
            whose stop reason can report an overflow without any error.

    Returns:
        What did not fit, with the sizes that were named; None if the answer does not say that the
        request was too long. A message that ended at its `max_tokens` is no overflow.
    """
    if isinstance(answer, BaseException):
        return _search(answer)
    if isinstance(answer, Mapping | list | str | bytes):
        evidence = evidence_of_body(answer)
    else:
        evidence = evidence_of_message(answer)
    verdict = _judge(evidence)
    return verdict if isinstance(verdict, Overflow) else None


def _search(answer: BaseException) -> Overflow | None:
    seen: set[int] = set()
    pending = [answer]
    while pending and len(seen) < _CHAIN:
        error = pending.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        verdict = _judge(evidence_of_exception(error))
        if isinstance(verdict, Overflow):
            return verdict
        if verdict != "unrelated":
            pending.extend(reversed(list(linked(error))))
    return None


def _judge(evidence: Evidence) -> Overflow | Literal["unrelated"] | None:
    # What providers say is compiled when the first of them says something, not on import.
    from .overflow_sizes import Sizes
    from .overflow_text import is_overflow_code, is_unrelated_code, read_text, sizes_in

    if any(_ran_into_the_window(stop) for stop in evidence.stops):
        return Overflow("context_window")
    if any(map(is_overflow_code, evidence.codes)):
        said = max(map(sizes_in, evidence.texts), key=_named, default=Sizes())
        return _tokens(evidence, said)
    if evidence.statuses & _UNRELATED_STATUSES or any(map(is_unrelated_code, evidence.codes)):
        return "unrelated"
    readings = [reading for text in evidence.texts if (reading := read_text(text))]
    tokens = [reading.sizes for reading in readings if reading.about == "tokens"]
    if tokens:
        return _tokens(evidence, max(tokens, key=_named))
    if readings and evidence.from_provider and _UPLOAD_STATUS not in evidence.statuses:
        payload = max((reading.sizes for reading in readings), key=_named)
        return Overflow("payload_bytes", payload.limit, payload.requested)
    return None


def _ran_into_the_window(stop: str) -> bool:
    from .overflow_text import is_overflow_code

    return is_overflow_code(stop) or stop.lower().replace("_", "") in _SILENT_STOPS


def _named(sizes: Sizes) -> int:
    return sum(number is not None for number in sizes[:3])


def _tokens(evidence: Evidence, said: Sizes) -> Overflow:
    from .overflow_sizes import consistent_sizes

    if evidence.limit is not None or evidence.prompt is not None:  # fields before prose
        prompt = said.prompt if evidence.prompt is None else evidence.prompt
        limit = said.limit if evidence.limit is None else evidence.limit
        said = consistent_sizes(limit=limit, prompt=prompt, total=said.requested or prompt)
    limit, prompt, requested, at_least = said
    if limit is not None and prompt is not None and prompt * 2 <= limit:
        return Overflow("completion_budget", limit, requested, prompt, at_least)
    return Overflow("context_window", limit, requested, prompt, at_least)
