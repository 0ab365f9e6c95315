"""Where a file is in a store: paths as namespaces.

    <root> / <user> / files   / agents, <agent> | global / <each part of the path> / @
    <root> / <user> / records / …                                                  the same
    <root> / <user> / chunks  / files | records, …     the parts of texts that are long
    <root> / <user> / announcements                    changes on their way (`store_changes`)

A namespace is a tuple of labels, which a store joins with dots and finds by their beginning. So a
label may not hold a dot, and `@`, which no label can be, ends the name of a file: without it the
folder `a` would be found with the file `a`.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TypeAlias

from ...state.errors import WorkspaceError
from ..paths import check_segment, check_user, shown, split_path
from ..workspace import Owner

__all__ = [
    "ItemKey",
    "Namespace",
    "StoreNames",
    "StorePlace",
    "check_root",
    "label",
    "user_namespace",
]

Namespace: TypeAlias = tuple[str, ...]
"""The name of a group of items in a store."""

ItemKey: TypeAlias = tuple[Namespace, str]
"""The namespace and the key of one item."""

_PLAIN = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)
_HASH_LENGTH = 24
_PREFIX_LENGTH = 32
# PostgreSQL refuses keys of more than some 2,700 bytes: what is deeper shares one hashed label.
_DEEPEST = 12
_END = "@"
_NO_USER = "~"
_GLOBAL = "global"
_RECORD_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """A file or record in a store.

    Args:
        path: Its path as it was asked for.
        items: The namespace of its pieces.
        chunks: The namespace of the parts of its long texts.
    """

    path: str
    items: Namespace
    chunks: Namespace

    @property
    def name(self) -> str:
        """What no other place of this store is called."""
        return ".".join(self.items)


class StoreNames:
    """Finds the files of one owner.

    Args:
        root: The namespace of the workspace.
        owner: Whose files.

    Raises:
        WorkspaceError: The user's id cannot be one, or the agent's name is no name.
    """

    def __init__(self, root: Namespace, owner: Owner) -> None:
        self._owner = owner
        self._user = user_namespace(root, owner.user)
        self._agent = ("agents", label(check_segment(owner.agent, "agent")))

    def __repr__(self) -> str:
        return f"StoreNames(user={self._owner.user!r}, agent={self._owner.agent!r})"

    @property
    def announcements(self) -> Namespace:
        """The namespace of the changes on their way."""
        return (*self._user, "announcements")

    def file(self, path: str) -> StorePlace:
        """Find a file; `WorkspaceError` when the path is refused."""
        segments = split_path(path)
        if segments == (_GLOBAL,):
            raise WorkspaceError(f"path {path!r} is the shared folder; name a file in it")
        return self._place("files", segments, path)

    def record(self, name: str) -> StorePlace:
        """Find a bookkeeping record; `WorkspaceError` when the name is refused."""
        segments = split_path(name)
        # The same names as on a disk, where a record is a file with this suffix.
        split_path(segments[-1] + _RECORD_SUFFIX)
        return self._place("records", segments, name)

    def files_below(self, folder: str) -> tuple[Namespace, str]:
        """Return the namespace that holds all files of a folder, and how their paths begin."""
        return self._below("files", folder)

    def records_below(self, folder: str) -> tuple[Namespace, str]:
        """Return the namespace that holds all records of a folder, and how their names begin."""
        return self._below("records", folder)

    def _place(self, kind: str, segments: tuple[str, ...], path: str) -> StorePlace:
        labels = [label(segment) for segment in self._inner(segments)]
        if len(labels) > _DEEPEST:
            rest = label("/".join(self._inner(segments)[_DEEPEST:]))
            labels = [*labels[:_DEEPEST], rest]
        name = (kind, *self._scope(segments), *labels, _END)
        return StorePlace(path, (*self._user, *name), (*self._user, "chunks", *name))

    def _below(self, kind: str, folder: str) -> tuple[Namespace, str]:
        folder = folder.removesuffix("/")
        segments = split_path(folder) if folder else ()
        labels = [label(segment) for segment in self._inner(segments)[:_DEEPEST]]
        prefix = (*self._user, kind, *self._scope(segments), *labels)
        return prefix, f"{folder}/" if folder else ""

    def _scope(self, segments: tuple[str, ...]) -> Namespace:
        return (_GLOBAL,) if segments[:1] == (_GLOBAL,) else self._agent

    def _inner(self, segments: tuple[str, ...]) -> tuple[str, ...]:
        return segments[1:] if segments[:1] == (_GLOBAL,) else segments


def check_root(namespace: object) -> Namespace:
    """Return the namespace of a workspace if any store takes it.

    Raises:
        WorkspaceError: It is not a tuple of strings, is empty, starts with `langgraph`, or a label
            is empty, holds a dot or a character that cannot be stored.
    """
    fix = "give a tuple of plain names, such as ('longthread',)"
    if isinstance(namespace, str) or not isinstance(namespace, tuple | list):
        raise WorkspaceError(f"namespace {shown(repr(namespace))} is not a tuple; {fix}")
    if not namespace:
        raise WorkspaceError(f"namespace {namespace!r} is empty; {fix}")
    for name in namespace:
        if not isinstance(name, str):
            raise WorkspaceError(f"namespace {namespace!r} holds {name!r}, not a string; {fix}")
        check_segment(name, "namespace label")
        if "." in name or "*" in name:
            raise WorkspaceError(f"namespace label {shown(name)} holds a dot or a star; {fix}")
    if namespace[0] == "langgraph":
        raise WorkspaceError(f"namespace label 'langgraph' is LangGraph's own; {fix}")
    return tuple(namespace)


def user_namespace(root: Namespace, user: str | None) -> Namespace:
    """Return the namespace of all that belongs to a user.

    Raises:
        WorkspaceError: The id is empty or unprintable, see `paths.check_user`.
    """
    return (*root, _NO_USER if user is None else label(check_user(user)))


def label(text: str) -> str:
    """Turn any text into one label that belongs to it alone.

    Short names of `a-z 0-9 _ -` stay as they are, everything else becomes a readable beginning,
    `~`, and a part of its SHA-256.
    """
    if _PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    readable = re.sub(r"[^a-z0-9]+", "-", text[: 4 * _PREFIX_LENGTH].lower(), flags=re.ASCII)
    return f"{readable[:_PREFIX_LENGTH].strip('-')}~{digest}"
