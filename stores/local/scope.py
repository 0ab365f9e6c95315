"""One owner's view of a workspace on the local disk."""

from __future__ import annotations

import contextlib
import copy
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from ...state.errors import WorkspaceError
from ..pages import page_by_char, page_by_line, text_chunks
from ..paths import shown
from ..records import dump_record, load_record
from ..workspace import FileInfo, FileVersion, JsonRecord, TextPage
from . import files
from .locks import hold_locks
from .places import Place, Places
from .together import Changes, remove_file

__all__ = ["LocalScope"]

# Seconds. The coarsest clock among the file systems in use, that of FAT.
_SETTLES_AFTER = 2.0


class LocalScope:
    """The files of one owner, as `LocalWorkspace.scoped` makes it.

    Text is UTF-8 and keeps its newlines, NUL and form feeds. Bytes in a file that are not UTF-8 are
    read as `\\xNN`; an append leaves them alone, a rewrite through `update_text` writes them back
    in that form. Lone surrogates in a text are written as `\\udNNN`. Links are followed as long as
    they stay in the user's folder.

    Args:
        places: Where the owner's files are.
        lock_timeout: Seconds to wait for a lock.
    """

    def __init__(self, places: Places, lock_timeout: float) -> None:
        self._places = places
        self._lock_timeout = lock_timeout

    def __repr__(self) -> str:
        return f"LocalScope({self._places!r})"

    def read_text(self, path: str) -> str | None:
        """Return the whole text, or None when there is no such file."""
        place = self._places.file(path)
        self._settle(place)
        return _read(place)

    def read_lines(
        self, path: str, offset: int = 0, limit: int = 2_000, max_chars: int = 100_000
    ) -> TextPage | None:
        """Return up to `limit` lines and `max_chars` characters from line `offset` on."""
        with self._chunks(path) as chunks:
            return None if chunks is None else page_by_line(chunks, offset, limit, max_chars)

    def read_chars(self, path: str, offset: int = 0, limit: int = 100_000) -> TextPage | None:
        """Return up to `limit` characters from `offset` on, or None when there is no such file."""
        with self._chunks(path) as chunks:
            return None if chunks is None else page_by_char(chunks, offset, limit)

    def write_text(self, path: str, text: str) -> None:
        """Replace or create a file at once, also after a crash: it holds all of the text or
        none."""
        place = self._places.file(path)
        with self._lock(place):
            files.atomic_write(place.real, files.encode(text))

    def append_text(
        self,
        path: str,
        text: str,
        *,
        header: str = "",
        unless: Callable[[str], bool] | None = None,
    ) -> bool:
        """Append whole lines in one piece under the file's lock; return whether it was done."""
        place = self._places.file(path)
        if not text:
            return False
        with self._lock(place):
            if unless is not None and unless(_read(place) or ""):
                return False
            lines = files.encode(text if text.endswith("\n") else text + "\n")
            files.append_bytes(place.real, lines, files.encode(header))
        return True

    def update_text(self, path: str, transform: Callable[[str | None], str | None]) -> str | None:
        """Read, change and replace one file under its lock; return what it holds afterwards."""
        place = self._places.file(path)
        with self._lock(place):
            old = _read(place)
            new = transform(old)
            if new is None or new == old:
                return old
            data = files.encode(new)
            files.atomic_write(place.real, data)
            return files.decode(data)

    def update_texts(
        self,
        paths: Iterable[str],
        transform: Callable[[Mapping[str, str | None]], Mapping[str, str | None]],
    ) -> None:
        """Change several files together, all of them or none, also after a crash."""
        places = {path: self._places.file(path) for path in paths}
        with self._lock(*places.values()):
            old = {path: _read(place) for path, place in places.items()}
            changes: dict[Place, bytes | None] = {}
            for path, text in transform(dict(old)).items():
                if path not in places:
                    raise WorkspaceError(
                        f"cannot change {shown(path)}: it is not among the paths that were named"
                    )
                if text != old[path]:
                    changes[places[path]] = None if text is None else files.encode(text)
            self._changes.make(changes)

    def delete(self, path: str) -> bool:
        """Remove a file, and the folders that this leaves empty; return whether there was one."""
        place = self._places.file(path)
        with self._lock(place):
            return remove_file(place)

    def exists(self, path: str) -> bool:
        """Say whether there is a file, not a folder, of that path."""
        return self.info(path) is not None

    def info(self, path: str) -> FileInfo | None:
        """Return size and time of a file, or None when there is no such file."""
        real = self._places.file(path).real
        with files.disk_errors("look at", real):
            try:
                status = os.stat(real)
            except (FileNotFoundError, NotADirectoryError):
                return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return FileInfo(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def list_files(self, folder: str = "") -> list[str]:
        """Return the sorted paths of all files in a folder and below; [] when it is not there."""
        return self._places.files_below(folder)

    def list_versions(self, folder: str = "", *, deep: bool = True) -> dict[str, FileVersion]:
        """Return the version of every file in a folder and, if `deep`, in the folders below."""
        moment = time.time()
        return {
            path: _version(status, moment)
            for path, status in self._places.status_below(folder, deep=deep).items()
        }

    def read_json(self, name: str) -> JsonRecord | None:
        """Return a bookkeeping record, or None when there is none that can be read."""
        real = self._places.record(name).real
        return load_record(files.read_bytes(real), real)

    def update_json(
        self, name: str, transform: Callable[[JsonRecord | None], JsonRecord | None]
    ) -> JsonRecord | None:
        """Read, change and replace one record under its lock; `{}` removes it."""
        place = self._places.record(name)
        with self._lock(place):
            old = load_record(files.read_bytes(place.real), place.real)
            new = transform(copy.deepcopy(old))
            if new is None:
                return old
            if not new:
                remove_file(place)
                return None
            files.atomic_write(place.real, dump_record(new, name))
            return new

    def remove_left_behind(self, folder: str = "") -> int:
        """Remove what writers that died have left in a folder and below; return how many files."""
        self._changes.finish(None, self._lock_timeout)
        return files.remove_left_behind(self._places.folder(folder).real)

    @property
    def search_index(self) -> str:
        """The absolute path of the search index of the owner's threads; it need not be there."""
        return self._places.private("thread-search.sqlite")

    def list_json(self, folder: str = "") -> list[str]:
        """Return the sorted names of all records in a folder of records and below."""
        return self._places.records_below(folder)

    @contextlib.contextmanager
    def _chunks(self, path: str) -> Iterator[Iterator[str] | None]:
        place = self._places.file(path)
        self._settle(place)
        real = place.real
        with files.disk_errors("read", real):
            descriptor = files.open_regular(real)
            if descriptor is None:
                yield None
                return
            try:
                yield text_chunks(descriptor)
            finally:
                os.close(descriptor)

    @property
    def _changes(self) -> Changes:
        return Changes(self._places.root, self._places.changes, self._places.locks)

    def _settle(self, place: Place) -> None:
        """See to it that nobody who died has left the file half-way between two others.

        Somebody alive may still be at it: then it is read as it is.
        """
        with contextlib.suppress(WorkspaceError):
            self._changes.finish([place.real], 0)

    @contextlib.contextmanager
    def _lock(self, *places: Place) -> Iterator[None]:
        paths = [place.real for place in places]
        changes = self._changes
        while True:
            changes.finish(paths, self._lock_timeout)
            with hold_locks(self._places.locks, paths, self._lock_timeout):
                # Who held the locks until now may have died in the middle of a change.
                if changes.unfinished(paths):
                    continue
                yield
                return


def _version(status: os.stat_result, moment: float) -> FileVersion:
    """Name one content of a file on this machine.

    Its owner can set the time of a change (`st_mtime`) at will, but not that of the change of its
    status (`st_ctime`), which Windows does not have.
    """
    changed = status.st_mtime if os.name == "nt" else status.st_ctime
    times = f"{status.st_mtime_ns}-{status.st_ctime_ns}"
    token = f"{status.st_dev}-{status.st_ino}-{status.st_size}-{times}"
    return FileVersion(token, moment - changed > _SETTLES_AFTER)


def _read(place: Place) -> str | None:
    data = files.read_bytes(place.real)
    return None if data is None else files.decode(data)
