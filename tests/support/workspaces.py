"""Opening one workspace from several processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from longthread import LocalWorkspace
from longthread.stores import ScopedWorkspace, Workspace

__all__ = ["SHARED_KINDS", "Shared", "opened_workspace"]

SHARED_KINDS = ["local", "store-sqlite", "store-postgres", "store-plain"]
"""The kinds of workspaces that processes can share."""


@dataclass(frozen=True)
class Shared:
    """A workspace that several processes open by the same `arguments`, and this one as `view`."""

    arguments: tuple[str, str, str]
    view: ScopedWorkspace


@contextmanager
def opened_workspace(kind: str, address: str, namespace: str = "longthread") -> Iterator[Workspace]:
    """Open a workspace for the length of a `with` block.

    Args:
        kind: One of `SHARED_KINDS`; `store-plain` is in SQLite and does not tell.
        address: A folder, the path of a SQLite database, or the URL of a PostgreSQL database in
            which a store is set up.
        namespace: Where in the store.
    """
    # Only what is needed is imported: many processes start here, each for a moment only.
    if kind == "local":
        yield LocalWorkspace(address)
        return
    from longthread import StoreWorkspace

    if kind == "store-postgres":
        from langgraph.store.postgres import PostgresStore

        with PostgresStore.from_conn_string(address) as postgres:
            yield StoreWorkspace(postgres, (namespace,))
        return
    from langgraph.store.sqlite import SqliteStore
    from plain_stores import PlainStore

    with SqliteStore.from_conn_string(address) as sqlite:
        sqlite.setup()
        # Whoever is killed leaves to the system what it has written; a power cut would not.
        sqlite.conn.execute("PRAGMA synchronous = OFF")
        yield StoreWorkspace(PlainStore(sqlite) if kind == "store-plain" else sqlite, (namespace,))
