"""What the nodes ask of a workspace, whoever keeps the files.

All methods are synchronous and may block on the disk or on another process's lock: asynchronous
callers go through `asyncio.to_thread`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "FileInfo",
    "FileVersion",
    "JsonRecord",
    "Owner",
    "ScopedWorkspace",
    "SweptFiles",
    "TextPage",
    "VersionedFiles",
    "Workspace",
]

JsonRecord: TypeAlias = dict[str, Any]
"""One bookkeeping record: a JSON object."""


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose files these are.

    Args:
        user: The id of the user, any printable text, or None when there is only one.
        agent: The name of the agent.
    """

    user: str | None
    agent: str


@dataclass(frozen=True, slots=True)
class FileInfo:
    """What is known of a file without reading it.

    Args:
        path: The path as it was asked for.
        size: Its length in bytes of UTF-8.
        modified: When it last changed, in UTC.
    """

    path: str
    size: int
    modified: datetime


class FileVersion(NamedTuple):
    """What tells one content of a file from every other, without reading it.

    Attributes:
        token: Differs whenever the content does, and between any two files of the process.
        settled: Whether that can be relied on. A file that has only just changed may change again
            within the resolution of its time, and then only reading it tells.
    """

    token: str
    settled: bool


@dataclass(frozen=True, slots=True)
class TextPage:
    """A part of a file, with where it starts and where the next part starts.

    All positions count from 0. A line ends with `\\n` and with nothing else, so `\\r`, form feeds
    and other separators stay inside their line.

    Args:
        text: The characters of this page, unchanged.
        line: The line that the page starts in.
        char: The offset of the page's first character in the file.
        next_line: The line that the next page starts in.
        next_char: The offset of the character after the page.
        at_end: Whether nothing follows.
    """

    text: str
    line: int
    char: int
    next_line: int
    next_char: int
    at_end: bool


@runtime_checkable
class ScopedWorkspace(Protocol):
    """The files of one owner.

    Paths are relative, with `/` between their parts: `MEMORY.md`, `memory/2026-11-30.md`. Those
    that start with `global/` are shared by all agents of the user, the others belong to the one
    agent. Every method raises `WorkspaceError` for a path that is refused and for a disk or store
    that fails, naming the path and the reason. Reading never waits for a lock: it sees the file
    before or after a change, never in between.
    """

    def read_text(self, path: str) -> str | None:
        """Return the whole text, newlines untouched, or None when there is no such file."""
        ...

    def read_lines(
        self, path: str, offset: int = 0, limit: int = 2_000, max_chars: int = 100_000
    ) -> TextPage | None:
        """Return up to `limit` lines from line `offset` on, or None when there is no such file.

        The page also ends after `max_chars` characters, in the middle of a line if need be; go on
        from there with `read_chars`.
        """
        ...

    def read_chars(self, path: str, offset: int = 0, limit: int = 100_000) -> TextPage | None:
        """Return up to `limit` characters from `offset` on, or None when there is no such file."""
        ...

    def write_text(self, path: str, text: str) -> None:
        """Replace the whole file, or create it, at once: it never holds half of the text."""
        ...

    def append_text(
        self,
        path: str,
        text: str,
        *,
        header: str = "",
        unless: Callable[[str], bool] | None = None,
    ) -> bool:
        """Append whole lines in one piece that no other append can come between.

        Args:
            path: The file, created when it is not there.
            text: The lines. A missing final newline is added, also to what was there before.
            header: What a new or empty file starts with.
            unless: Given the present text ("" when there is no file) under the file's lock; nothing
                is appended when it returns True.

        Returns:
            Whether the text was appended.
        """
        ...

    def update_text(self, path: str, transform: Callable[[str | None], str | None]) -> str | None:
        """Read, change and replace one file under its lock.

        Args:
            path: The file, created when it is not there.
            transform: Gets the present text, or None when there is no file. Returns the new text,
                or None to leave the file as it is. It must not change this file itself, and for
                other files there is `update_texts`: two callers that each hold the lock the other
                one waits for both end in an error.

        Returns:
            The text that the file holds afterwards.
        """
        ...

    def update_texts(
        self,
        paths: Iterable[str],
        transform: Callable[[Mapping[str, str | None]], Mapping[str, str | None]],
    ) -> None:
        """Change several files together, all of them or none.

        Args:
            paths: Every file that may change.
            transform: Gets the present text of each, None for a missing one. Returns the new text
                of those that change, in the order to write them in; None deletes.
        """
        ...

    def delete(self, path: str) -> bool:
        """Remove a file; return whether there was one."""
        ...

    def exists(self, path: str) -> bool:
        """Say whether there is a file, not a folder, of that path."""
        ...

    def info(self, path: str) -> FileInfo | None:
        """Return size and time of a file, or None when there is no such file."""
        ...

    def list_files(self, folder: str = "") -> list[str]:
        """Return the sorted paths of all files in a folder and below; [] when it is not there.

        `""` is everything of the agent, `"global"` everything that is shared.
        """
        ...

    def read_json(self, name: str) -> JsonRecord | None:
        """Return a bookkeeping record, or None when there is none.

        Records (cursors, throttle, maintenance times) are kept apart from the files: no path
        reaches them and no listing shows them. Names follow the rules of paths, `global/…`
        included. What cannot be read as a JSON object counts as absent, with one warning in the
        log.
        """
        ...

    def update_json(
        self, name: str, transform: Callable[[JsonRecord | None], JsonRecord | None]
    ) -> JsonRecord | None:
        """Read, change and replace one record under its lock, and return it as it is afterwards.

        `transform` returns None to leave the record as it is and `{}` to remove it.
        """
        ...

    def list_json(self, folder: str = "") -> list[str]:
        """Return the sorted names of all records in a folder of records and below."""
        ...


@runtime_checkable
class VersionedFiles(Protocol):
    """What the files of an owner may offer besides: searching then reads only what has changed."""

    def list_versions(self, folder: str = "", *, deep: bool = True) -> dict[str, FileVersion]:
        """Return the version of every file in a folder and, if `deep`, in the folders below."""
        ...


@runtime_checkable
class SweptFiles(Protocol):
    """What the files of an owner offer where a writer that dies can leave something behind."""

    def remove_left_behind(self, folder: str = "") -> int:
        """Remove what writers that died have left in a folder and below; return how many files."""
        ...


@runtime_checkable
class Workspace(Protocol):
    """Where the files of all owners live."""

    def scoped(self, owner: Owner) -> ScopedWorkspace:
        """Return the view of one owner's files. Cheap: nothing is read or created.

        Raises:
            WorkspaceError: The user's id is empty or unprintable (`paths.check_user`), or the
                agent's name is no name (`paths.check_segment`).
        """
        ...

    def erase_user(self, user: str | None) -> bool:
        """Remove every file and record of a user, shared ones included; return whether any were."""
        ...
