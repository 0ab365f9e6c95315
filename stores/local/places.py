"""Where a path is on the local disk, links resolved.

Every operation turns its path into a real one first: segments are checked, links are resolved, and
what leaves the user's own folder is refused. Somebody who can create links in that folder while an
operation runs could still win the race against the check; the workspace protects from the paths
that it is given, not from other programs of the same account.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...state.errors import WorkspaceError
from ..paths import HIDDEN, shown, split_path
from .files import disk_errors

__all__ = ["Place", "Places"]

_GLOBAL = "global"
_RECORD_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder on the disk.

    Args:
        real: Its absolute path, all links resolved.
        scope: The folder of the agent's or the shared files that it belongs to.
    """

    real: str
    scope: str


class Places:
    """Finds the files of one owner.

    Args:
        root: The absolute root of the workspace.
        user: The folder of the user below `users/`.
        agent: The folder of the agent below `agents/`.
    """

    def __init__(self, root: str, user: str, agent: str) -> None:
        self._root = root
        self._user = user
        self._agent = agent

    def __repr__(self) -> str:
        return f"Places({self._root!r}, user={self._user!r}, agent={self._agent!r})"

    @property
    def locks(self) -> str:
        """The folder of the lock files."""
        return os.path.join(os.path.realpath(self._root), HIDDEN, "locks")

    @property
    def changes(self) -> str:
        """The folder of the notes on what is about to change in several files."""
        return os.path.join(os.path.realpath(self._root), HIDDEN, "changes")

    @property
    def root(self) -> str:
        """The workspace's folder, all links resolved."""
        return os.path.realpath(self._root)

    def file(self, path: str) -> Place:
        """Find a file; `WorkspaceError` when the path is refused."""
        segments = split_path(path)
        if segments == (_GLOBAL,):
            raise WorkspaceError(f"path {path!r} is the shared folder; name a file in it")
        return self._find(segments, path)

    def folder(self, folder: str) -> Place:
        """Find a folder, "" for all of the agent's; `WorkspaceError` when the path is refused."""
        return self._find(split_path(folder) if folder else (), folder)

    def record(self, name: str) -> Place:
        """Find a bookkeeping record; `WorkspaceError` when the name is refused."""
        *folders, last = split_path(name)
        return self._find((*folders, split_path(last + _RECORD_SUFFIX)[0]), name, HIDDEN)

    def private(self, name: str) -> str:
        """Return the path of a file beside the bookkeeping records that no path can reach."""
        return self._find((name,), name, HIDDEN).real

    def files_below(self, folder: str) -> list[str]:
        """Return the sorted paths of all files in a folder and below that a path can reach."""
        return self._below(folder)

    def records_below(self, folder: str) -> list[str]:
        """Return the sorted names of all records in a folder of records and below."""
        names = self._below(folder, HIDDEN)
        return sorted(
            name.removesuffix(_RECORD_SUFFIX) for name in names if name.endswith(_RECORD_SUFFIX)
        )

    def status_below(self, folder: str, *, deep: bool) -> dict[str, os.stat_result]:
        """Return what the system knows of each file in a folder and, if `deep`, below."""
        found = {}
        for path, entry in self._entries(folder, deep=deep):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                found[path] = entry.stat()
        return found

    def _below(self, folder: str, *inside: str) -> list[str]:
        return sorted(path for path, _ in self._entries(folder, *inside))

    def _entries(
        self, folder: str, *inside: str, deep: bool = True
    ) -> Iterator[tuple[str, os.DirEntry[str]]]:
        folder = folder.removesuffix("/")
        place = self._find(split_path(folder) if folder else (), folder, *inside)
        return self._walk(place.real, f"{folder}/" if folder else "", deep)

    def _find(self, segments: tuple[str, ...], path: str, *inside: str) -> Place:
        shared = segments[:1] == (_GLOBAL,)
        folders = (_GLOBAL,) if shared else ("agents", self._agent)
        scope = os.path.join(self._home(), *folders, *inside)
        real = os.path.realpath(os.path.join(scope, *segments[shared:]))
        if not self._holds(real):
            raise WorkspaceError(
                f"path {shown(path)} leaves the workspace through a link, to {shown(real)};"
                " remove the link"
            )
        return Place(real, scope)

    def _home(self) -> str:
        # The root itself may be a link, and may be made one later: resolved anew each time.
        return os.path.join(os.path.realpath(self._root), "users", self._user)

    def _holds(self, real: str) -> bool:
        return real.startswith(self._home() + os.sep)

    def _walk(self, folder: str, prefix: str, deep: bool) -> Iterator[tuple[str, os.DirEntry[str]]]:
        """Yield every file of a folder. Folders that are links are not entered, which also rules
        out circles; names that no path can spell are left out."""
        with disk_errors("list", folder):
            try:
                with os.scandir(folder) as entries:
                    found = list(entries)
            except (FileNotFoundError, NotADirectoryError):
                return
            for entry in found:
                if not _can_be_spelt(entry.name):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if deep:
                        yield from self._walk(entry.path, f"{prefix}{entry.name}/", deep)
                elif entry.is_file(follow_symlinks=False) or self._links_to_a_file(entry):
                    yield prefix + entry.name, entry

    def _links_to_a_file(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return False
        real = os.path.realpath(entry.path)
        return self._holds(real) and os.path.isfile(real)


@lru_cache(maxsize=16_384)
def _can_be_spelt(name: str) -> bool:
    """Say whether a path can lead to a file of that name. A listing asks for the same ones again
    and again."""
    try:
        split_path(name)
    except WorkspaceError:
        return False
    return True
