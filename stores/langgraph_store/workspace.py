"""The workspace in a LangGraph store."""

from __future__ import annotations

from collections.abc import Callable

from langgraph.store.base import BaseStore

from ...state.errors import WorkspaceError
from ..paths import shown
from ..workspace import Owner
from .access import StoreAccess
from .files import StoreFiles
from .names import ItemKey, Namespace, StoreNames, check_root, user_namespace
from .scope import StoreScope

__all__ = ["StoreWorkspace"]

_ERASED_AT_ONCE = 100


class StoreWorkspace:
    """Files in a LangGraph store, safe to use from many threads, processes and machines at once.

    Every entry that is appended is an item of its own, and so is every entry that an update adds to
    the end of a file; a rewrite is an item that names those it replaces. What was appended while
    somebody rewrote the file therefore stays. When 64 appended items have come together they are
    merged into one version; long texts are kept in parts of at most 256 KB. Reading takes one
    request to the store, and another one for every 16 parts.

    What else holds depends on the store:

    - `InMemoryStore`, `SqliteStore`, `PostgresStore` and their asynchronous twins: all that holds
      for `LocalWorkspace`. Writers take turns by a lock that they let go of when they die: in the
      process, in a folder beside the SQLite file (`….db-longthread-locks`), or in the PostgreSQL
      server, for which up to two more connections stay open. All processes have to use a store of
      the same family.
    - Any other store, the one of LangGraph Server included, has neither locks nor transactions. It
      is taken for granted that a request sees what earlier ones have written, and that a search
      shows the items as they are at one moment. Then appended text is never lost, a file is whole,
      old or new, also after a crash, and several files change together or not at all; updates
      announce themselves, notice each other, and are tried again: `transform` may be called more
      than once. Two processes that append at the same instant may see the two entries change
      places. And one that stands still for ten seconds between its announcement and its decision
      can overwrite an update (not an appended entry) that was made meanwhile. Reading takes one
      request more.

    A name can be both a file and a folder here. All methods wait for the store: call them in a
    thread (`asyncio.to_thread`) from asynchronous code, above all with an asynchronous store, which
    answers on its own event loop. Files have no time to live and are not in the store's search
    index, whatever the store's settings are.

    Args:
        store: The store, or a function that returns it, such as `langgraph.config.get_store` for
            the store that the running graph was compiled with or the server has given it. It is
            asked when a view is made, and once more at its first use if there was none yet.
        namespace: Where in the store, such as `("longthread",)`. Nothing else may use it.
        lock_timeout: Seconds to wait for a file that somebody else is changing.

    Raises:
        WorkspaceError: It is no store, or no store takes the namespace.
    """

    def __init__(
        self,
        store: BaseStore | Callable[[], BaseStore],
        namespace: Namespace,
        *,
        lock_timeout: float = 60.0,
    ) -> None:
        # What `from_conn_string` returns can be called too, as a decorator.
        entered = not hasattr(store, "__enter__") and not hasattr(store, "__aenter__")
        if not isinstance(store, BaseStore) and not (callable(store) and entered):
            raise _not_a_store(store)
        self._store = store
        self._root = check_root(namespace)
        self._lock_timeout = lock_timeout
        self._tally: dict[str, int] = {}
        self._latest: BaseStore | None = None

    def __repr__(self) -> str:
        store = self._store
        name = type(store).__name__ if isinstance(store, BaseStore) else repr(store)
        return f"StoreWorkspace({name}, {self._root!r})"

    def scoped(self, owner: Owner) -> StoreScope:
        """Return the view of one owner's files. Cheap: nothing is read or created.

        Raises:
            WorkspaceError: The user's id or the agent's name cannot be used as a name.
        """
        names = StoreNames(self._root, owner)
        files = StoreFiles(self._access(), names.announcements, self._lock_timeout, self._tally)
        return StoreScope(names, files)

    def erase_user(self, user: str | None) -> bool:
        """Remove every file and record of a user; return whether there were any.

        A call that still runs for the user may leave what it writes meanwhile.
        """
        access = self._access()
        everything = user_namespace(self._root, user)
        what = "_default" if user is None else user
        before: set[ItemKey] = set()
        erased = False
        # Texts in parts come last: as long as something refers to them, they can be found.
        for namespace in ((*everything, "files"), everything):
            while items := access.some_items(namespace, _ERASED_AT_ONCE, what):
                keys = {(item.namespace, item.key) for item in items}
                if keys == before:
                    raise WorkspaceError(
                        f"cannot erase {shown(what)} in the store: what was deleted is still there;"
                        " check the store"
                    )
                access.delete(keys, what)
                erased, before = True, keys
        return erased

    def _access(self) -> StoreAccess:
        if isinstance(self._store, BaseStore):
            return StoreAccess(self._store)
        try:
            # Now, because work in the background goes on after the run whose store it uses.
            return StoreAccess(self._current())
        except WorkspaceError:
            return StoreAccess(self._current)

    def _current(self) -> BaseStore:
        if isinstance(self._store, BaseStore):
            return self._store
        try:
            found = self._store()
        except Exception as error:
            if self._latest is not None:
                return self._latest
            raise WorkspaceError(
                f"cannot get the store of the workspace: {type(error).__name__}: {error}; compile"
                " the graph with a store, or give the store itself"
            ) from error
        if not isinstance(found, BaseStore):
            raise _not_a_store(found)
        self._latest = found
        return found


def _not_a_store(value: object) -> WorkspaceError:
    return WorkspaceError(
        f"store {shown(repr(value))} is not a LangGraph BaseStore; give one, entered if it comes"
        " from from_conn_string(…): with PostgresStore.from_conn_string(…) as store"
    )
