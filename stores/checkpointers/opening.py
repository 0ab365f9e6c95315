"""Opening the checkpointer that a URL names.

memory://                          in this process, for as long as it is open
sqlite:///threads.db               a file, from the current folder
sqlite:////var/lib/app/threads.db  a file, by its absolute path
sqlite:///:memory:                 SQLite without a file
postgresql://user:password@host:5432/database
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Literal
from urllib.parse import urlsplit

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from ...state.errors import ConfigurationError
from .serialiser import CompactSerialiser

__all__ = ["aopen_checkpointer", "open_checkpointer"]

Saver = BaseCheckpointSaver[Any]
AllowedType = type | tuple[str, str]
_Kind = Literal["memory", "sqlite", "postgres"]


@contextmanager
def open_checkpointer(
    url: str,
    *,
    allowed: Iterable[AllowedType] = (),
    compress: bool | None = None,
    create: bool = True,
) -> Iterator[Saver]:
    """Open a checkpointer, its tables made, for as long as the block lasts.

        with open_checkpointer("sqlite:///threads.db") as saver:
            graph = create_agent_graph(model, checkpointer=saver)

    Args:
        url: `memory://`, `sqlite:///path`, `sqlite:///:memory:` or `postgresql://…`.
        allowed: Types of your own that the state holds (a structured response, a tool's artifact).
            Others, and all that this does not name, are read back as plain data.
        compress: Whether values are compressed, to about half. A saver that was not opened here
            cannot read those. None: in SQLite and PostgreSQL.
        create: Whether a missing file, folder or table is made; False: that is an error.

    Yields:
        A saver for `invoke` and `stream`; for `ainvoke` and `astream` see `aopen_checkpointer`.

    Raises:
        ConfigurationError: The URL cannot be understood, or needs a package that is missing.
        CheckpointerError: The file or the server cannot be used; says why.
    """
    kind, place = _understood(url)
    opened: AbstractContextManager[Saver]
    serialiser = CompactSerialiser(allowed, compress=_compresses(kind, compress))
    match kind:
        case "memory":
            yield InMemorySaver(serde=serialiser)
            return
        case "sqlite":
            from .sqlite_saver import open_sqlite

            opened = open_sqlite(place, serialiser, create=create)
        case "postgres":
            from .postgres_saver import open_postgres

            opened = open_postgres(place, serialiser, shown=_without_password(url), create=create)
    with opened as saver:
        yield saver


@asynccontextmanager
async def aopen_checkpointer(
    url: str,
    *,
    allowed: Iterable[AllowedType] = (),
    compress: bool | None = None,
    create: bool = True,
) -> AsyncIterator[Saver]:
    """Do what `open_checkpointer` does, for `ainvoke` and `astream`."""
    kind, place = _understood(url)
    opened: AbstractAsyncContextManager[Saver]
    serialiser = CompactSerialiser(allowed, compress=_compresses(kind, compress))
    match kind:
        case "memory":
            yield InMemorySaver(serde=serialiser)
            return
        case "sqlite":
            from .sqlite_saver import aopen_sqlite

            opened = aopen_sqlite(place, serialiser, create=create)
        case "postgres":
            from .postgres_saver import aopen_postgres

            opened = aopen_postgres(place, serialiser, shown=_without_password(url), create=create)
    async with opened as saver:
        yield saver


def _understood(url: str) -> tuple[_Kind, str]:
    """Return what kind of checkpointer a URL names, and where it is."""
    scheme, separator, rest = str(url).partition("://")
    match scheme if separator else "":
        case "memory":
            if rest.strip("/"):
                raise _refused(url, "write memory:// and nothing behind it")
            return "memory", ""
        case "sqlite":
            if not rest.startswith("/"):
                if rest:
                    raise _refused(
                        url, "write sqlite:///name.db, or sqlite:////folder/name.db from the root"
                    )
                return "sqlite", ":memory:"
            path = rest[1:]
            if not path or "\0" in path or "?" in path or path.endswith("/"):
                raise _refused(url, "name a file, as in sqlite:///threads.db, without parameters")
            return "sqlite", path if path == ":memory:" else os.path.expanduser(path)
        case "postgresql" | "postgres":
            return "postgres", url
    raise _refused(
        url, "write memory://, sqlite:///file.db or postgresql://user:password@host/database"
    )


def _refused(url: str, fix: str) -> ConfigurationError:
    return ConfigurationError(f"checkpointer {_without_password(url)}: {fix}")


def _compresses(kind: _Kind, wanted: bool | None) -> bool:
    return kind != "memory" if wanted is None else wanted


def _without_password(url: str) -> str:
    """Return a URL as an error may show it."""
    try:
        parts = urlsplit(str(url))
        host = parts.netloc.rpartition("@")[2]
        user = (parts.username or "") + (":…" if parts.password else "")
    except ValueError:
        return "(a URL that cannot be read)"
    place = f"{user}@{host}" if user else host
    # Parameters can hold a password too.
    return repr(parts._replace(netloc=place, query="", fragment="").geturl())
