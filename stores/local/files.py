"""The disk, one file at a time: what is written or appended is never left there by half.

Paths here are real, absolute and already checked. What the operating system refuses comes back as a
`WorkspaceError` that names the path and the reason.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Iterator

from ...state.errors import WorkspaceError
from ...state.text import well_formed
from ..paths import HIDDEN, shown

__all__ = [
    "append_bytes",
    "atomic_write",
    "decode",
    "disk_errors",
    "encode",
    "open_regular",
    "read_bytes",
    "remove",
    "remove_left_behind",
    "replace_with",
    "stage",
]

_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    # Opening a named pipe would otherwise wait for a writer that never comes.
    | getattr(os, "O_NONBLOCK", 0)
)
_WRITE_FLAGS = (
    getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
)
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
_HINTS = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some of the disk quota",
    errno.EROFS: "choose a workspace on a disk that can be written",
    errno.EACCES: "give this process the permission, or choose another workspace",
    errno.EPERM: "give this process the permission, or choose another workspace",
    errno.ENOTDIR: "a parent folder of it is a file; move that file away",
    errno.EEXIST: "a parent folder of it is a file; move that file away",
    errno.EISDIR: "there is a folder of that name; choose another name",
    errno.ENAMETOOLONG: "shorten the path",
    errno.ELOOP: "remove the link",
}


_HOST = hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]
_TEMPORARY = re.compile(
    rf"{re.escape(HIDDEN)}-(?P<host>[0-9a-f]{{8}})-(?P<process>[0-9]+)-[0-9a-f]{{16}}\.tmp"
)
_ONE_DAY = 86_400.0


def encode(text: str) -> bytes:
    """Return `text` as UTF-8; lone surrogates are escaped as `state.text.well_formed` does."""
    return well_formed(text).encode("utf-8")


def decode(data: bytes) -> str:
    """Return UTF-8 `data` as text, newlines and NUL untouched.

    A byte that is not UTF-8 is shown as `\\xNN`: the reader loses none, and what comes out is
    always well-formed, which lone surrogates (`surrogateescape`) would not be.
    """
    return data.decode("utf-8", "backslashreplace")


@contextlib.contextmanager
def disk_errors(action: str, path: str) -> Iterator[None]:
    """Raise what the operating system refuses as `WorkspaceError`: cannot `action` `path`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        code = errno.errorcode.get(error.errno or 0, type(error).__name__)
        hint = _HINTS.get(error.errno or 0, "check the disk and the folder")
        raise WorkspaceError(f"cannot {action} {shown(path)}: {reason} ({code}); {hint}") from error


def open_regular(path: str) -> int | None:
    """Open a file for reading; the caller closes the descriptor.

    Returns:
        The descriptor, or None when there is no such file.

    Raises:
        WorkspaceError: There is something of that name that is not a regular file.
        OSError: The operating system refuses.
    """
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise WorkspaceError(f"cannot read {shown(path)}: it is a folder or device, not a file")


def read_bytes(path: str) -> bytes | None:
    """Return what a file holds, or None when there is no such file."""
    with disk_errors("read", path):
        descriptor = open_regular(path)
        if descriptor is None:
            return None
        with open(descriptor, "rb") as file:
            return file.read()


def atomic_write(path: str, data: bytes) -> None:
    """Replace or create a file: also after a crash it holds all of the old or all of the new.

    Missing folders are created. An existing file keeps its permissions.
    """
    replace_with(stage(path, data), path)


def stage(path: str, data: bytes) -> str:
    """Write `data` to a temporary file beside `path`, down to the disk, and return its path."""
    with disk_errors("write", path):
        # Not named after the file: that could exceed the length of a name. It says whose it is, so
        # that what a dead process has left is told from what a living one is writing.
        name = f"{HIDDEN}-{_HOST}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
        temporary = os.path.join(os.path.dirname(path), name)
        descriptor = _open_in_folder(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with open(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                _copy_mode(path, descriptor)
                os.fsync(descriptor)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    return temporary


def remove_left_behind(folder: str) -> int:
    """Remove temporary files that nobody will ever use, in a folder and below; return how many.

    They are those of processes of this machine that are gone, and all that are older than a day.
    """
    removed = 0
    with disk_errors("look through", folder):
        for place, _, names in os.walk(folder, topdown=False):
            for name in names:
                if not (found := _TEMPORARY.fullmatch(name)):
                    continue
                path = os.path.join(place, name)
                with contextlib.suppress(FileNotFoundError):
                    gone = found["host"] == _HOST and not _is_alive(int(found["process"]))
                    if gone or time.time() - os.stat(path).st_mtime > _ONE_DAY:
                        os.unlink(path)
                        removed += 1
            if place != folder and removed:
                with contextlib.suppress(OSError):
                    os.rmdir(place)  # a folder named after a thread, with nothing else in it
    return removed


def replace_with(temporary: str, path: str) -> None:
    """Put a staged file in the place of `path`; the staged file is gone either way."""
    with disk_errors("write", path):
        try:
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(os.path.dirname(path))


def append_bytes(path: str, data: bytes, header: bytes = b"") -> None:
    """Append to a file, which is created with `header` when it is missing or empty.

    When the last line has no newline (a crash, or an editor), it gets one first. What fails
    half-way is taken back. The caller holds the file's lock.
    """
    with disk_errors("append to", path):
        descriptor = _open_in_folder(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            size = os.fstat(descriptor).st_size
            if size == 0:
                data = header + data
            elif _last_byte(descriptor, size) != b"\n":
                data = b"\n" + data
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
        if size == 0:
            _sync_folder(os.path.dirname(path))


def remove(path: str) -> bool:
    """Remove a file; return whether there was one."""
    with disk_errors("delete", path):
        try:
            os.unlink(path)
        except OSError as error:
            if error.errno in _ABSENT:
                return False
            raise
        _sync_folder(os.path.dirname(path))
    return True


def _is_alive(process: int) -> bool:
    if os.name == "nt":
        return True  # asking would end it: its age decides
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _open_in_folder(path: str, flags: int) -> int:
    """Open a file for writing, its folders created as needed."""
    attempts = 5
    while True:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            # 0o666 and the umask, as for any new file; tempfile's 0o600 would outlive the rename.
            return os.open(path, flags | _WRITE_FLAGS, 0o666)
        except FileNotFoundError:
            # Deleting the last file of the folder, in another thread, took the folder with it.
            attempts -= 1
            if not attempts:
                raise


def _copy_mode(path: str, descriptor: int) -> None:
    if os.name == "nt":
        return
    with contextlib.suppress(FileNotFoundError):
        os.fchmod(descriptor, stat.S_IMODE(os.stat(path).st_mode))


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _sync_folder(folder: str) -> None:
    """Make a rename, a new name or a removal outlive a power cut, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems cannot sync a folder, and the file itself is safe already.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
