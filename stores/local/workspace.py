"""The workspace on the local disk.

`<root>/users/<user>/agents/<agent>/` holds the files of one agent and `<root>/users/<user>/global/`
what its user's agents share. `.longthread/` in each of the two holds bookkeeping records, and
`<root>/.longthread/locks/` one empty file for each file that was ever changed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat

from ...state.errors import WorkspaceError
from ..paths import HIDDEN, check_segment, check_user, safe_segment, shown
from ..workspace import Owner, Workspace
from .files import disk_errors
from .places import Places
from .scope import LocalScope

__all__ = ["LocalWorkspace", "workspace_at"]

_NO_USER = "_default"


class LocalWorkspace:
    """Files below one folder, safe to use from many threads and processes at once.

    Users and agents get the folder of their own name where it is lower-case ASCII. Other names
    (with capitals, `@`, spaces, …) get a readable prefix and a hash (`paths.safe_segment`),
    because `Ann` and `ann` are one folder on many systems; so do users whose id is no name, such as
    `https://…/42` or `..`. Without a user the folder is `_default`, which no user can reach: one
    who is really called that is mapped to a hashed name.

    Creating the object neither reads nor creates a file; it only looks whether the root can be a
    folder.

    Args:
        root: The folder, created on the first write. `~` is expanded, and a relative path counts
            from the current folder at this moment.
        lock_timeout: Seconds to wait for a file that somebody else is changing.

    Raises:
        WorkspaceError: The root is empty, cannot be a path, or is a file.
    """

    def __init__(self, root: str | os.PathLike[str], *, lock_timeout: float = 60.0) -> None:
        given = os.fspath(root) if isinstance(root, (str, os.PathLike)) else ""
        if not given or "\0" in given:
            raise WorkspaceError(f"workspace root {shown(str(root))} is not a path; name a folder")
        self._root = os.path.abspath(os.path.expanduser(given))
        self._lock_timeout = lock_timeout
        if os.path.exists(self._root) and not os.path.isdir(self._root):
            raise WorkspaceError(
                f"workspace root {shown(self._root)} is a file; name a folder or a new path"
            )

    @property
    def root(self) -> str:
        """The absolute path of the workspace, links not resolved."""
        return self._root

    def __repr__(self) -> str:
        return f"LocalWorkspace({self._root!r})"

    def scoped(self, owner: Owner) -> LocalScope:
        """Return the view of one owner's files. Cheap: nothing is read or created.

        Raises:
            WorkspaceError: The user's id cannot be one, or the agent's name is no name.
        """
        home = _user_segment(owner.user)
        agent = safe_segment(check_segment(owner.agent, "agent"))
        return LocalScope(Places(self._root, home, agent), self._lock_timeout)

    def erase_user(self, user: str | None) -> bool:
        """Remove every file and record of a user; return whether there were any.

        The folder disappears at once and is emptied afterwards. A call that still runs for the user
        starts a new, empty folder.
        """
        root = os.path.realpath(self._root)
        users = os.path.join(root, "users")
        folder = os.path.join(users, _user_segment(user))
        with disk_errors("erase", folder):
            if os.path.realpath(folder) != folder:
                raise WorkspaceError(
                    f"cannot erase {shown(folder)}: it is reached through a link; remove the link"
                )
            try:
                if not stat.S_ISDIR(os.lstat(folder).st_mode):
                    raise WorkspaceError(
                        f"cannot erase {shown(folder)}: it is not a folder; move that file away"
                    )
            except FileNotFoundError:
                return False
            trash = os.path.join(root, HIDDEN, f"erased-{secrets.token_hex(8)}")
            os.makedirs(os.path.dirname(trash), exist_ok=True)
            os.rename(folder, trash)
            shutil.rmtree(trash)
        return True


def workspace_at(given: str | os.PathLike[str] | Workspace | None) -> Workspace:
    """Return the workspace that an argument means: itself, a folder, or None for `.longthread/`.

    Raises:
        WorkspaceError: It is none of these.
    """
    if isinstance(given, Workspace):
        return given
    if given is not None and not isinstance(given, str | os.PathLike):
        raise WorkspaceError(
            f"workspace={given!r}: pass a folder, LocalWorkspace(…), StoreWorkspace(…), or None "
            "for .longthread/"
        )
    return LocalWorkspace(".longthread" if given is None else given)


def _user_segment(user: str | None) -> str:
    # safe_segment() never returns a leading underscore, so nobody shares the folder of "no user".
    return _NO_USER if user is None else safe_segment(check_user(user))
