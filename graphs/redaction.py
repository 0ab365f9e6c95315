"""Keeping keys out of errors: some endpoints repeat in their answer what they were sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import SecretStr

from ..state.overflow_evidence import linked

__all__ = ["without_secrets"]

_SHORTEST = 8  # characters: a shorter "key", such as "none", is a word that errors may hold
_CHAIN = 64
_ATTRIBUTES = ("message", "body", "detail", "details", "doc", "error")


def without_secrets(error: BaseException, secrets: Iterable[SecretStr]) -> None:
    """Replace keys in an exception's texts, and in those that it was raised from.

    LangGraph writes the texts of errors into checkpoints, applications into logs.

    Args:
        error: The exception; it is changed in place, since a provider's error stays its own.
        secrets: The keys.
    """
    texts = [text for each in secrets if len(text := each.get_secret_value()) >= _SHORTEST]
    pending, seen = [error], set[int]()
    while pending and texts and len(seen) < _CHAIN:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        _clean(one, texts)
        pending.extend(linked(one))


def _clean(error: BaseException, texts: list[str]) -> None:
    error.args = tuple(_cleaned(argument, texts) for argument in error.args)
    for name in _ATTRIBUTES:
        value = vars(error).get(name) if hasattr(error, "__dict__") else None
        if isinstance(value, str | dict | list):
            setattr(error, name, _cleaned(value, texts))


def _cleaned(value: Any, texts: list[str]) -> Any:
    if isinstance(value, str):
        for text in texts:
            value = value.replace(text, "<hidden>")
        return value
    if isinstance(value, bytes):
        for text in texts:
            value = value.replace(text.encode(), b"<hidden>")
        return value
    if isinstance(value, dict):
        return {key: _cleaned(each, texts) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_cleaned(each, texts) for each in value)
    return value
