"""Memory as HTTP sees it: files by name, each known by its ETag. All of it may block."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ...nodes.identity import utc_now
from ...state.errors import ToolInputError, WorkspaceError
from ...stores.memory.memory_paths import check_memory_path, check_new_memory_path, search_order
from ...stores.memory.rewriting import overwrite_memory
from ...stores.memory.scopes import Scope
from ...stores.workspace import ScopedWorkspace
from .answers import HttpError

__all__ = ["Condition", "MemoryFolder", "etag_of"]

_SHARED = "global/"
_LONGEST = 1_000
"""Characters of a name: any longer, and the disk would refuse the path."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a client expects of a file: `If-Match` and `If-None-Match`.

    Attributes:
        match: ETags of which the file must have one; `*`: it must be there. None: whatever.
        none_match: ETags of which it must have none; `*`: it must not be there. None: whatever.
    """

    match: Collection[str] | None = None
    none_match: Collection[str] | None = None

    def holds(self, text: str | None) -> bool:
        """Whether a file with this text, or no file (None), is what was expected."""
        known = set() if text is None else {etag_of(text), "*"}
        if self.match is not None and known.isdisjoint(self.match):
            return False
        return self.none_match is None or known.isdisjoint(self.none_match)


@dataclass(frozen=True, slots=True)
class MemoryFolder:
    """The memory files of one scope.

    Attributes:
        files: The files of the user and an agent.
        agent: The agent whose memory it is; None: what all agents of the user share.
    """

    files: ScopedWorkspace
    agent: str | None

    def listed(self) -> list[dict[str, Any]]:
        """Return what is known of each file without reading it."""
        paths = search_order(self.files.list_files("" if self.agent is not None else "global"))
        infos = (self._about(self._name(path), path) for path in paths)
        return [info for info in infos if info is not None]

    def read(self, name: str) -> tuple[dict[str, Any], str] | None:
        """Return what is known of a file, and its text; None: there is no such file.

        Raises:
            HttpError: No memory file can have that name.
        """
        path = self.path(name)
        text, about = self.files.read_text(path), self._about(name, path)
        return None if text is None or about is None else (about, text)

    def replace(self, name: str, text: str, condition: Condition) -> tuple[dict[str, Any], bool]:
        """Replace or create a file; return what is known of it now, and whether it is new.

        What a MEMORY.md held can be put back with `longthread memory undo`.

        Raises:
            HttpError: No memory file can have that name, or it is not as the client expects.
        """
        path, replaced = self.path(name, new=True), list[str | None]()

        def check(old: str | None) -> None:
            if not condition.holds(old):
                raise HttpError(
                    412,
                    "PRECONDITION_FAILED",
                    f"{name!r} has changed or is not there; read it again and repeat the change",
                )

        def replacement(old: str | None) -> str:
            check(old)
            replaced[:] = [old]
            return text

        if name == "MEMORY.md":
            scope: Scope = "global" if self.agent is None else "agent"
            run, moment = f"put {uuid.uuid4()}", utc_now()
            replaced[:] = [overwrite_memory(self.files, scope, text, check, run=run, moment=moment)]
        else:
            self.files.update_text(path, replacement)
        about = self._about(name, path)
        assert about is not None, "it has just been written"
        return about, replaced == [None]

    def path(self, name: str, *, new: bool = False) -> str:
        """Return where a file of that name is, in the workspace.

        Args:
            name: The name.
            new: Whether it is to be written, and so must not name a day or a month that never is.

        Raises:
            HttpError: No memory file can have that name.
        """
        check = check_new_memory_path if new else check_memory_path
        if len(name) > _LONGEST:
            raise HttpError(400, "INVALID_PATH", f"the name is longer than {_LONGEST} characters")
        try:
            path = check(name if self.agent is not None else _SHARED + name)
        except (ToolInputError, WorkspaceError) as error:
            raise HttpError(400, "INVALID_PATH", str(error)) from None
        if self.agent is not None and path.startswith(_SHARED):
            raise HttpError(400, "INVALID_PATH", f"{name!r}: what is shared is below /memory/")
        return path

    def _name(self, path: str) -> str:
        return path if self.agent is not None else path.removeprefix(_SHARED)

    def _about(self, name: str, path: str) -> dict[str, Any] | None:
        info = self.files.info(path)
        if info is None:
            return None
        about: dict[str, Any] = {"scope": "global" if self.agent is None else "agent"}
        if self.agent is not None:
            about["agent"] = self.agent
        return about | {
            "file": name,
            "size": info.size,
            "modified": info.modified.isoformat(),
        }


def etag_of(text: str) -> str:
    """Return the ETag of a text: equal texts, equal ETags."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f'"{digest[:32]}"'
