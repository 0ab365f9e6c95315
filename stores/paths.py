"""Names and relative paths: what a workspace accepts, and how any id becomes a safe name.

Everything here is lexical. Whether a path leaves the workspace through a link is a question for the
disk, and `local` asks it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

from ..state.errors import WorkspaceError

__all__ = [
    "HIDDEN",
    "MAX_SEGMENT_BYTES",
    "check_segment",
    "check_user",
    "safe_segment",
    "shown",
    "split_path",
]

MAX_SEGMENT_BYTES = 255
"""The longest file name, in UTF-8 bytes, that every common file system takes."""

HIDDEN = ".longthread"
"""The folder of bookkeeping records and locks. Names that start like it cannot be addressed."""

_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"]
    + [f"{port}{digit}" for port in ("COM", "LPT") for digit in "0123456789¹²³"]
)
# Cc control characters, Cs lone surrogates, Zl and Zp line and paragraph separators.
_UNPRINTABLE = frozenset(["Cc", "Cs", "Zl", "Zp"])
_VERBATIM = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
_PREFIX_LENGTH = 40
_HASH_LENGTH = 16


def shown(value: str) -> str:
    """Return `value` as an error message shows it: its repr, cut in the middle when it is long."""
    if len(value) <= 300:
        return repr(value)
    return f"{value[:120]!r}…{value[-80:]!r} ({len(value)} characters)"


def check_segment(name: str, what: str = "name") -> str:
    """Return `name` unchanged if it is safe as one file or folder name on every system.

    Args:
        name: One segment: the name of an agent, one part of a path.
        what: What the segment is, for the error message.

    Raises:
        WorkspaceError: The name is empty, `.` or `..`, holds a separator, a control character, a
            line separator or a lone surrogate, ends in a dot or a space, is reserved on Windows,
            or is longer than `MAX_SEGMENT_BYTES`.
    """
    problem = _problem(name)
    if problem is not None:
        raise WorkspaceError(f"{what} {shown(name)} {problem}")
    return name


def check_user(user: str) -> str:
    """Return the id of a user unchanged if it can be one.

    Whoever issues identities chooses them (an OpenID Connect subject may be a URL), so any text
    will do, separators and `..` included: it is not used as a name, but turned into one that is
    safe and belongs to it alone.

    Raises:
        WorkspaceError: It is empty, or holds a control character, a line separator or a lone
            surrogate, which not everything that has to store an id can store.
    """
    problem = _unprintable(user) if user else "is empty; leave it out (None) for the default user"
    if problem is not None:
        raise WorkspaceError(f"user {shown(user)} {problem}")
    return user


def split_path(path: str) -> tuple[str, ...]:
    """Return the segments of a relative path such as `memory/2026-11-30.md`.

    Args:
        path: Segments joined by `/`, on every operating system.

    Raises:
        WorkspaceError: The path is empty or absolute, holds a backslash or a colon, an empty
            segment, a segment that `check_segment` refuses, or one that starts like the hidden
            folder.
    """
    if not path:
        raise WorkspaceError("path '' is empty; name a file in the workspace, such as 'MEMORY.md'")
    if path.startswith("/"):
        raise WorkspaceError(
            f"path {shown(path)} is absolute; give one below the workspace, such as 'MEMORY.md'"
        )
    if "\\" in path:
        raise WorkspaceError(f"path {shown(path)} holds a backslash; separate folders with '/'")
    if ":" in path:
        # `C:x` leaves the folder and `a:b` names a hidden stream of `a`, both on Windows only.
        raise WorkspaceError(
            f"path {shown(path)} holds a colon, a drive or a stream on Windows; leave it out"
        )
    segments = tuple(path.split("/"))
    for segment in segments:
        problem = _problem(segment)
        if problem is not None:
            raise WorkspaceError(f"path {shown(path)}: the part {shown(segment)} {problem}")
        if segment.casefold().startswith(HIDDEN):
            raise WorkspaceError(
                f"path {shown(path)}: names that start with {HIDDEN!r} are kept for bookkeeping;"
                " choose another name"
            )
    return segments


def safe_segment(text: str) -> str:
    """Turn any id into one short name that is safe on every system and belongs to it alone.

    Lower-case ASCII ids of up to 64 characters stay as they are. Everything else becomes a readable
    prefix, `~`, and 16 hex digits of the id's SHA-256. No id that stays as it is holds a `~`, and
    nothing returned holds an upper-case letter, so two ids never share a name, not even where file
    names ignore case or are normalised.

    Args:
        text: A thread id, tool call id, user id or agent name; anything, the empty string included.

    Returns:
        1 to 64 characters out of `a-z 0-9 . _ - ~`, starting with a letter or a digit.
    """
    if _VERBATIM.fullmatch(text) and _problem(text) is None:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    # Without dots: `con.x~…` would still be the device CON.
    prefix = re.sub(r"[^a-z0-9_]+", "-", text[: 4 * _PREFIX_LENGTH].lower(), flags=re.ASCII)
    prefix = prefix[:_PREFIX_LENGTH].strip("-_")
    return f"{prefix or 'id'}~{digest}"


def _problem(segment: str) -> str | None:
    """Say what is wrong with one segment and what to do about it, or None when it is fine."""
    if not segment:
        return "is empty; give it at least one character"
    if segment in (".", ".."):
        return "points at a folder instead of naming something; leave it out"
    if "/" in segment or "\\" in segment:
        return "holds a path separator; give one plain name"
    if (problem := _unprintable(segment)) is not None:
        return problem
    if segment[-1] in ". ":
        return "ends in a dot or a space, which Windows drops; remove it"
    if segment.split(".", 1)[0].rstrip(" ").upper() in _DEVICES:
        return "is the name of a device on Windows; choose another name"
    size = len(segment.encode("utf-8"))
    if size > MAX_SEGMENT_BYTES:
        return f"takes {size} bytes, more than the {MAX_SEGMENT_BYTES} allowed; shorten it"
    return None


def _unprintable(text: str) -> str | None:
    """Say which character of a text cannot be shown and stored everywhere, or None."""
    for character in text:
        if unicodedata.category(character) in _UNPRINTABLE:
            return (
                f"holds {character!r}, a control character, line separator or lone surrogate;"
                " remove it"
            )
    return None
