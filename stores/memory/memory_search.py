"""Looking for a line in everything that memory holds: MEMORY.md, ledgers, archives."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from ...state.errors import WorkspaceError
from ...state.text import visible
from ..matching import Query, excerpt
from ..workspace import FileVersion, ScopedWorkspace, VersionedFiles
from .line_search import FoldedCache, FoldedText, Needles
from .memory_paths import search_order

__all__ = ["MemoryHit", "MemoryHits", "search_memory"]

log = logging.getLogger("longthread")

# A hundred megabytes of ledgers in both forms, and some room.
_cache = FoldedCache(256 * 1024 * 1024)

# And whether what is in their folders counts. Each by itself: one may be out of reach.
_FOLDERS = (("", False), ("memory", True), ("global", False), ("global/memory", True))
# Where an entry came from is bookkeeping: nobody looks for the word "thread" to find it.
_MARKER = "<!-- longthread "


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A line that was found.

    Attributes:
        path: Its file.
        line: Its number, from 1.
        text: The line, or the part of it around what was found. Control characters are shown as
            `\\\\xNN`, so that it is one line whatever is in it.
    """

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}#{self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class MemoryHits:
    """What a search found.

    Attributes:
        hits: The lines, in search order.
        more: Whether there are further ones.
        unread: Files and folders that could not be read.
    """

    hits: tuple[MemoryHit, ...]
    more: bool
    unread: tuple[str, ...]


def search_memory(
    files: ScopedWorkspace, query: Query, *, max_hits: int = 50, line_chars: int = 300
) -> MemoryHits:
    """Search all of an owner's memory, line by line.

    Args:
        files: The owner's files.
        query: What to look for.
        max_hits: The search ends after so many lines.
        line_chars: Most characters of a line that are shown.
    """
    needles = Needles(query)
    hits: list[MemoryHit] = []
    unread: list[str] = []
    if needles.terms:
        for path, text in _texts(files, unread):
            for number, line in text.lines(needles):
                if line.startswith(_MARKER):
                    continue
                if len(hits) == max_hits:
                    return MemoryHits(tuple(hits), True, tuple(unread))
                hits.append(MemoryHit(path, number, _shown(line, query, line_chars)))
    return MemoryHits(tuple(hits), False, tuple(unread))


def _texts(files: ScopedWorkspace, unread: list[str]) -> Iterator[tuple[str, FoldedText]]:
    """Yield every memory file in search order; what cannot be read is noted and left out."""
    versions = _versions(files, unread)
    search = _cache.begin()
    for path in search_order(versions):
        try:
            text = _text(files, path, versions[path], search)
        except WorkspaceError as error:
            log.warning("a memory file is not searched: %s", error)
            unread.append(path)
            continue
        if text is not None:
            yield path, text


def _versions(files: ScopedWorkspace, unread: list[str]) -> dict[str, FileVersion | None]:
    """Return all files that may be memory, with their versions where the workspace knows them."""
    found: dict[str, FileVersion | None] = {}
    for folder, deep in _FOLDERS:
        try:
            if isinstance(files, VersionedFiles):
                found.update(files.list_versions(folder, deep=deep))
            elif not deep:
                found.update(dict.fromkeys(files.list_files(folder)))
        except WorkspaceError as error:
            log.warning("a folder of memory is not searched: %s", error)
            unread.append(folder or "MEMORY.md")
    return found


def _text(
    files: ScopedWorkspace, path: str, version: FileVersion | None, search: int
) -> FoldedText | None:
    """Return a file, from the cache if its version says that it has not changed."""
    if version is None:
        text = files.read_text(path)
        return None if text is None else FoldedText.of(text)
    if version.settled and (known := _cache.get(version.token, search)) is not None:
        return known
    text = files.read_text(path)
    if text is None:
        return None
    # What was read before its version had settled is read again, but folded again only if need be.
    draft = f"{version.token} draft"
    known = _cache.get(draft, search)
    if known is None or not known.holds(text):
        known = FoldedText.of(text)
    if version.settled:
        _cache.drop(draft)
    _cache.put(version.token if version.settled else draft, known, search)
    return known


def _shown(line: str, query: Query, limit: int) -> str:
    return visible(excerpt(line.removesuffix("\r"), query, limit))
