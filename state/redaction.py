"""Taking secrets out of a text before anybody on the side gets to see it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .errors import LongthreadError

__all__ = ["Redact", "RedactionError", "redact_secrets", "redacted", "redacted_values"]

Redact = Callable[[str], str]


class RedactionError(LongthreadError):
    """The redactor could not do its work, so the text goes nowhere."""

    code = "REDACTION_FAILED"


def redact_secrets(text: str) -> str:
    """Replace what looks like a secret by `[redacted: what it was]`; all else stays as it is.

    Known are private key blocks, tokens with the prefixes of some fifty issuers (AWS, GitHub,
    GitLab, Slack, OpenAI, Anthropic, Google, Stripe, …), JSON web tokens, passwords and signatures
    in URLs, `Authorization` headers, and values that are called a password, secret, token or key.
    What a person would have to recognise by its meaning is not found: give
    `MemoryConfig(redact=…)` a function of your own for that, which may call this one.

    Args:
        text: Any text.

    Returns:
        The text without them. Redacting it again changes nothing.
    """
    # Only who redacts waits for some fifty patterns to be compiled.
    from .secret_patterns import PLACES, TOKENS

    for name, literals, pattern in TOKENS:
        if any(literal in text for literal in literals):
            text = pattern.sub(f"[redacted: {name}]", text)
    lower = text.lower()  # what is redacted on the way takes no literal of another place with it
    for name, literals, pattern in PLACES:
        if any(literal in lower for literal in literals):
            text = pattern.sub(partial(_without_secret, name=name), text)
    return text


def _without_secret(match: re.Match[str], name: str) -> str:
    group = next(group for group, value in match.groupdict().items() if value is not None)
    whole, start = match[0], match.start(group) - match.start()
    return f"{whole[:start]}[redacted: {name}]{whole[match.end(group) - match.start() :]}"


def redacted(redact: Redact | None, text: str) -> str:
    """Return a text as it may leave the journal.

    Args:
        redact: The redactor; None: nothing is changed.
        text: The text.

    Raises:
        RedactionError: The redactor failed, or returned something that is no text.
    """
    if redact is None or not text:
        return text
    try:
        clean = redact(text)
    except Exception as error:
        # What it says, and what it was raised from, may hold the very text: neither goes on.
        raise RedactionError(
            f"redact={_name(redact)} raised {type(error).__name__}{_place(error)}; the text is "
            "neither sent nor written"
        ) from None
    if not isinstance(clean, str):
        raise RedactionError(
            f"redact={_name(redact)} returned {type(clean).__name__}, not a text; the text is "
            "neither sent nor written"
        )
    return clean


def redacted_values(redact: Redact | None, value: Any) -> Any:
    """Return JSON-like data with every text in it redacted, names of fields left alone."""
    if redact is None:
        return value
    if isinstance(value, str):
        return redacted(redact, value)
    if isinstance(value, dict):
        return {key: redacted_values(redact, item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return [redacted_values(redact, item) for item in value]
    return value


def _place(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__, limit=-1)
    return f" at {frames[0].filename}:{frames[0].lineno}" if frames else ""


def _name(redact: Redact) -> str:
    return getattr(redact, "__qualname__", None) or type(redact).__name__
