"""One folder that the model may see: what of it can be named, and what cannot.

A path is relative to the folder. It is resolved, links included, and has to be inside still; the
file is then opened without following a link in its last part. What usually holds keys is not to be
seen, wherever in the folder it is: by its name, whatever is in it.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ...state.errors import ToolInputError
from ...stores.paths import shown

__all__ = ["Folder", "TextFile"]

MAX_BYTES = 10_000_000
"""Larger files are named, but neither read nor searched."""

_BINARY_LOOK = 8_192

_KEYS = (
    "auth.json",
    ".env",
    ".env.*",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".ssh",
    ".gnupg",
    ".aws",
    ".kube",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_*_sk",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "credentials.json",
    "service-account*.json",
)
_NO_KEYS = (".env.example", ".env.sample", ".env.template", ".env.dist")


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's text, or why there is none.

    Attributes:
        text: The text; what is no UTF-8 is replaced.
        refused: Why it is not read: binary, or too large; "": it is.
    """

    text: str
    refused: str = ""


class Folder:
    """A folder, and nothing outside it.

    Args:
        root: The folder.
        hidden: Files and folders inside that are not to be seen beside those that hold keys: the
            workspace, the checkpointer's file.
    """

    def __init__(self, root: Path, hidden: Iterable[Path] = ()) -> None:
        self.root = root.resolve(strict=True)
        self._hidden = tuple(path.resolve() for path in hidden)

    def path(self, name: str) -> Path:
        """Return where a name leads.

        Raises:
            ToolInputError: It leads out of the folder, or to what is not to be seen.
        """
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise ToolInputError(f"path={shown(name)}: holds characters that no path has")
        given = Path(name or ".")
        if given.is_absolute() or given.drive or ".." in given.parts:
            raise ToolInputError(
                f"path={shown(name)}: name it relative to the folder, without '..'"
            )
        try:
            path = (self.root / given).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise ToolInputError(f"path={shown(name)}: cannot be resolved: {error}") from error
        if not path.is_relative_to(self.root):
            raise ToolInputError(f"path={shown(name)}: a link leads out of the folder")
        if self._is_hidden(path):
            raise ToolInputError(f"path={shown(name)}: is not to be seen by the model")
        return path

    def name(self, path: Path) -> str:
        """Return a path as the model knows it."""
        return path.relative_to(self.root).as_posix()

    def entries(self, name: str) -> list[os.DirEntry[str]]:
        """Return what is in a folder, by name.

        Raises:
            ToolInputError: It is no folder, or cannot be read.
        """
        path = self.path(name)
        try:
            with os.scandir(path) as found:
                listed = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            raise _unreadable(name, error) from error
        return [entry for entry in listed if not self._is_hidden(Path(entry.path))]

    def files(self, name: str) -> Iterator[Path]:
        """Yield the regular files at or below a path, in order; links and dot folders are left out.

        Raises:
            ToolInputError: The path cannot be used.
        """
        path = self.path(name)
        if path.is_file():
            yield path
            return
        if not path.is_dir():
            raise ToolInputError(f"path={shown(name)}: there is no such file or folder")
        for folder, folders, names in os.walk(path):
            here = Path(folder)
            folders[:] = sorted(
                each
                for each in folders
                if not each.startswith(".") and not self._is_hidden(here / each)
            )
            for each in sorted(names):
                found = here / each
                with contextlib.suppress(OSError):
                    if stat.S_ISREG(found.lstat().st_mode) and not self._is_hidden(found):
                        yield found

    def read(self, path: Path) -> TextFile:
        """Return the text of a file that `path` or `files` has given.

        Raises:
            ToolInputError: It is no regular file, or cannot be read.
        """
        name = self.name(path)
        # Non-blocking: opening a named pipe would wait for somebody to write into it.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    raise ToolInputError(f"path={shown(name)}: is no regular file")
                if found.st_size > MAX_BYTES:
                    return TextFile("", f"{found.st_size:,} bytes, too large to read")
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise _unreadable(name, error) from error
        if b"\0" in data[:_BINARY_LOOK]:
            return TextFile("", f"binary file, {len(data):,} bytes")
        return TextFile(data.decode("utf-8", "replace"))

    def write(self, name: str, text: str) -> int:
        """Replace a file, or make it with the folders above it, at once.

        Returns:
            How many bytes it has.

        Raises:
            ToolInputError: It cannot be written.
        """
        path = self.path(name)
        data = text.encode("utf-8", "replace")
        if path == self.root or path.is_dir():
            raise ToolInputError(f"path={shown(name)}: is a folder")
        try:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
            path.parent.mkdir(parents=True, exist_ok=True)
            self.path(self.name(path.parent))  # nobody has put a link there meanwhile
            handle, temporary = tempfile.mkstemp(prefix=".longthread-", dir=path.parent)
            try:
                with open(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(temporary, mode)
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            raise _unreadable(name, error) from error
        return len(data)

    def _is_hidden(self, path: Path) -> bool:
        if any(path == each or path.is_relative_to(each) for each in self._hidden):
            return True
        return any(map(_holds_keys, path.relative_to(self.root).parts))


def _holds_keys(name: str) -> bool:
    name = name.lower()  # on some systems Auth.json is the same file
    return name not in _NO_KEYS and any(fnmatchcase(name, each) for each in _KEYS)


def _unreadable(name: str, error: OSError) -> ToolInputError:
    return ToolInputError(f"path={shown(name)}: {error.strerror or error}")
