"""What is wrong in the settings: file, field, value and fix of every mistake, and no secret."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from ...state.errors import ConfigurationError
from ...state.redaction import redact_secrets

__all__ = [
    "HIDDEN",
    "Mistake",
    "SettingsError",
    "closest",
    "is_key",
    "is_secret_name",
    "may_hold_key",
    "named",
    "quoted",
    "shown",
]

HIDDEN = "<hidden>"

_LONGEST = 80  # characters of a value in a message
_SECRET = re.compile(
    r"(^|[._-])(api_?key|access_?key|private_?key|key|token|secret|pass(word|wd|phrase)?"
    r"|credentials?|authorization|auth|bearer|cookie)$"
)
# How keys of known providers begin, and how one is sent.
_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|xai|key|ghp|hf)[-_]|AIza)[-_A-Za-z0-9]{12,}"
    r"|\b(?:sk|pk|rk|gsk|xai)-[-_A-Za-z0-9]{3,}|\bbearer\s+\S"
    r"|\bbasic\s+(?=\S*[\d=])[\w+/]{8,}=*(?!\S)",
    re.IGNORECASE,
)
# Those, long words with nothing but letters and digits, and addresses that hold more than a path.
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|key|ghp|hf|AIza)[-_A-Za-z0-9]{12,}|bearer\s"
    r"|\b[A-Za-z0-9_+/=-]{32,}|://\S*[@?#]",
    re.IGNORECASE,
)
# A word too long and too mixed for a name: 24 letters and digits, or a part of a path with digits.
_LONG_WORD = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24,}")
_PATH_PART = re.compile(r"(?<=[^/:]/)(?=[^/]*\d)[^/\s]{16,}")


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong in the settings.

    Attributes:
        file: The file as a path below the folder, or `"environment"`.
        field: The field as it is written there, dotted; `""`: the file as a whole.
        value: The value as it can be shown; None: there is none.
        fix: What is wrong, and what to do.
    """

    file: str
    field: str
    value: str | None
    fix: str

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.field) if part)
        return f"{place}: {self.fix}" if self.value is None else f"{place}={self.value}: {self.fix}"


class SettingsError(ConfigurationError):
    """The settings cannot be used.

    Attributes:
        mistakes: Every mistake that was found, in the order of the files.
    """

    code = "INVALID_SETTINGS"

    def __init__(self, folder: str, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        count = f"{len(self.mistakes)} mistake{'s' if len(self.mistakes) != 1 else ''}"
        lines = "\n".join(f"- {mistake}" for mistake in self.mistakes)
        super().__init__(f"{count} in the settings of {folder}:\n{lines}")


def shown(value: Any, *, field: str = "", secret: bool = False) -> str:
    """Return a value as it may stand in a message.

    Args:
        value: The value.
        field: The name of its field: one that sounds like a secret hides the value.
        secret: Hide it in any case.
    """
    if value is None or isinstance(value, bool):
        return repr(value)
    if secret or is_secret_name(field) or isinstance(value, dict | list | tuple | set):
        # What a collection holds has names of its own, and those may be secrets' names.
        return HIDDEN if secret or is_secret_name(field) else _kind(value)
    text = repr(value)
    if _SECRET_VALUE.search(text) or may_hold_key(unquote(text)):
        return HIDDEN
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def quoted(text: str) -> str:
    """Return a name in quotes, unless it looks like a key that was put in the wrong place."""
    return HIDDEN if _SECRET_VALUE.search(text) or is_key(text) else repr(text[:_LONGEST])


def named(text: str) -> str:
    """Return a field's name as it may stand in a message."""
    if _SECRET_VALUE.search(text) or is_key(text):
        return HIDDEN
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{…}} ({len(value)} fields)"
    return f"[…] ({len(value)} items)"


def is_secret_name(name: str) -> bool:
    """Say whether a field's name sounds like that of a secret: `apiKey`, `token`, `password`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return bool(_SECRET.search(snake))


def is_key(text: str) -> bool:
    """Say whether a text holds what is a key for certain: by how it begins, or is called."""
    return bool(_KEY.search(text)) or redact_secrets(text) != text


def may_hold_key(text: str) -> bool:
    """Say whether a text may hold a key, so that it is better not shown: a setting's value."""
    if is_key(text) or _LONG_WORD.search(text):
        return True
    return "://" in text and bool(_PATH_PART.search(text))


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like this one, if any is."""
    folded = {each.lower().replace("_", "").replace("-", ""): each for each in known}
    word = name.lower().replace("_", "").replace("-", "")
    found = difflib.get_close_matches(word, folded, n=1, cutoff=0.7)
    return folded[found[0]] if found else None
