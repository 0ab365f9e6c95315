"""Tools that look at the files of one folder: list, read, search. None of them changes anything."""

from __future__ import annotations

import stat
import time
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field

from ...nodes.tools.own_tool import MatchModeArgument, own_tool
from ...state.errors import ToolInputError
from ...state.text import clip_end, visible
from ...stores.matching import compile_query, excerpt
from .folder import Folder

__all__ = ["reading_tools"]

_ENTRIES = 500
_PAGE_CHARS = 16_000
_LINES = 1_000
_HITS = 100
_LINE_CHARS = 240
_SEARCH_SECONDS = 15.0
"""A search that takes longer says so: a folder can be a whole disk."""


class _Listing(BaseModel):
    path: str = Field(default="", description="A folder; empty: the whole.")


class _Reading(BaseModel):
    path: str = Field(description="A file.")
    offset: int = Field(default=1, ge=1, description="The first line, counted from 1.")
    limit: int = Field(default=400, ge=1, le=_LINES, description="How many lines.")


class _Searching(BaseModel):
    query: str = Field(description="What to look for, literally, in any case.")
    path: str = Field(default="", description="A file, or the folder to look in; empty: all.")
    match_mode: MatchModeArgument = "phrase"


def reading_tools(folder: Folder) -> list[BaseTool]:
    """Return the tools that look at a folder."""

    def listing(_: Any, path: str) -> str:
        entries = folder.entries(path)
        lines = []
        for entry in entries[:_ENTRIES]:
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            name = visible(entry.name)
            if stat.S_ISDIR(found.st_mode):
                lines.append(f"{name}/")
            elif stat.S_ISLNK(found.st_mode):
                lines.append(f"{name} (link)")
            else:
                lines.append(f"{name} ({found.st_size:,} bytes)")
        if len(entries) > _ENTRIES:
            lines.append(f"… and {len(entries) - _ENTRIES} more")
        return "\n".join(lines) or "The folder is empty."

    def reading(_: Any, path: str, offset: int, limit: int) -> str:
        found = folder.read(folder.path(path))
        if found.refused:
            return f"{path}: {found.refused}"
        lines = found.text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if offset > max(1, len(lines)):
            raise ToolInputError(f"offset={offset}: {path!r} has {len(lines)} lines")
        shown = lines[offset - 1 : offset - 1 + limit]
        text = "\n".join(shown)
        if len(text) > _PAGE_CHARS:
            text = clip_end(text, _PAGE_CHARS)
            last = offset + text.count("\n")
            return (
                f"{text}\n(cut in line {last} of {len(lines)}: a page has {_PAGE_CHARS} characters)"
            )
        last = offset + len(shown) - 1
        if last < len(lines):
            return f"{text}\n(lines {offset} to {last} of {len(lines)})"
        return text or "(The file is empty.)"

    def searching(_: Any, query: str, path: str, match_mode: Any) -> str:
        wanted = compile_query(query, match_mode)
        hits: list[str] = []
        ends = time.monotonic() + _SEARCH_SECONDS
        for file in folder.files(path):
            if time.monotonic() > ends:
                hits.append("(not everything was searched: that takes too long; name a folder)")
                break
            try:
                found = folder.read(file)
            except ToolInputError:
                continue
            if found.refused:
                continue
            name = visible(folder.name(file))
            for number, line in enumerate(found.text.split("\n"), start=1):
                if wanted.matches(line):
                    hits.append(f"{name}:{number}: {visible(excerpt(line, wanted, _LINE_CHARS))}")
                    if len(hits) == _HITS:
                        return "\n".join([*hits, "(there may be more: narrow the search)"])
        return "\n".join(hits) or "No matches."

    made = [
        own_tool(
            listing,
            name="list_files",
            description="List the files in a folder of the user's.",
            arguments=_Listing,
        ),
        own_tool(
            reading,
            name="view_file",
            description="Read a file of the user's, by lines.",
            arguments=_Reading,
        ),
        own_tool(
            searching,
            name="search_files",
            description="Find lines in the user's text files. Folders that begin with a dot are "
            "left out.",
            arguments=_Searching,
        ),
    ]
    for tool in made:
        tool.metadata = {"idempotent": True}
    return made
