"""One owner's view of a workspace in a store."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from ...state.text import well_formed
from ..pages import page_by_char, page_by_line
from ..records import dump_record, load_record
from ..workspace import FileInfo, FileVersion, JsonRecord, TextPage
from .files import StoreFiles
from .names import StoreNames, StorePlace
from .state import FileState

__all__ = ["StoreScope"]

_CHUNKS_OF_A_PAGE = 2


class StoreScope:
    """The files of one owner, as `StoreWorkspace.scoped` makes it.

    Text keeps its newlines, NUL and form feeds; lone surrogates in it are written as `\\udNNN`.

    Args:
        names: Where the owner's files are.
        files: Reads and changes them.
    """

    def __init__(self, names: StoreNames, files: StoreFiles) -> None:
        self._names = names
        self._files = files

    def __repr__(self) -> str:
        return f"StoreScope({self._names!r})"

    def read_text(self, path: str) -> str | None:
        """Return the whole text, or None when there is no such file."""
        return self._files.read_text(self._names.file(path))

    def read_lines(
        self, path: str, offset: int = 0, limit: int = 2_000, max_chars: int = 100_000
    ) -> TextPage | None:
        """Return up to `limit` lines and `max_chars` characters from line `offset` on."""
        place = self._names.file(path)

        def page(state: FileState) -> TextPage | None:
            if not state.exists:
                return None
            runs, start = state.runs_from(line=max(0, offset))
            texts = self._files.texts(place, runs, _CHUNKS_OF_A_PAGE)
            return page_by_line(texts, offset, limit, max_chars, start=start)

        return self._files.read(place, page)

    def read_chars(self, path: str, offset: int = 0, limit: int = 100_000) -> TextPage | None:
        """Return up to `limit` characters from `offset` on, or None when there is no such file."""
        place = self._names.file(path)

        def page(state: FileState) -> TextPage | None:
            if not state.exists:
                return None
            runs, start = state.runs_from(char=max(0, offset))
            texts = self._files.texts(place, runs, _CHUNKS_OF_A_PAGE)
            return page_by_char(texts, offset, limit, start=start)

        return self._files.read(place, page)

    def write_text(self, path: str, text: str) -> None:
        """Replace or create a file at once, also after a crash: it holds all of the text or
        none."""
        place = self._names.file(path)
        new = well_formed(text)
        self._files.update({path: place}, lambda _: {path: new})

    def append_text(
        self,
        path: str,
        text: str,
        *,
        header: str = "",
        unless: Callable[[str], bool] | None = None,
    ) -> bool:
        """Append whole lines in one piece; return whether it was done."""
        place = self._names.file(path)
        if not text:
            return False
        lines = well_formed(text if text.endswith("\n") else text + "\n")
        return self._files.append(place, lines, well_formed(header), unless)

    def update_text(self, path: str, transform: Callable[[str | None], str | None]) -> str | None:
        """Read, change and replace one file under its lock; return what it holds afterwards.

        In a store without locks `transform` is called again when somebody else was faster.
        """
        return self._update(self._names.file(path), transform)

    def update_texts(
        self,
        paths: Iterable[str],
        transform: Callable[[Mapping[str, str | None]], Mapping[str, str | None]],
    ) -> None:
        """Change several files together, all of them or none.

        In a store without locks `transform` is called again when somebody else was faster.
        """

        def changed(old: dict[str, str | None]) -> dict[str, str | None]:
            return {
                path: text if text is None else well_formed(text)
                for path, text in transform(dict(old)).items()
                if path not in old or text != old[path]
            }

        self._files.update({path: self._names.file(path) for path in paths}, changed)

    def delete(self, path: str) -> bool:
        """Remove a file; return whether there was one."""
        return self._files.delete(self._names.file(path))

    def exists(self, path: str) -> bool:
        """Say whether there is a file of that path."""
        return self.info(path) is not None

    def info(self, path: str) -> FileInfo | None:
        """Return size and time of a file, or None when there is no such file."""

        def described(state: FileState) -> FileInfo | None:
            if not state.exists:
                return None
            return FileInfo(path, state.size, datetime.fromtimestamp(state.modified, UTC))

        return self._files.read(self._names.file(path), described)

    def list_files(self, folder: str = "") -> list[str]:
        """Return the sorted paths of all files in a folder and below; [] when it is not there."""
        prefix, start = self._names.files_below(folder)
        return [path for path in self._files.below(prefix, folder) if path.startswith(start)]

    def list_versions(self, folder: str = "", *, deep: bool = True) -> dict[str, FileVersion]:
        """Return the version of every file in a folder and, if `deep`, in the folders below."""
        prefix, start = self._names.files_below(folder)
        return {
            path: FileVersion(state.token, settled=True)
            for path, state in self._files.below(prefix, folder).items()
            if path.startswith(start) and (deep or "/" not in path[len(start) :])
        }

    def read_json(self, name: str) -> JsonRecord | None:
        """Return a bookkeeping record, or None when there is none that can be read."""
        place = self._names.record(name)
        return _record(self._files.read_text(place), place)

    def update_json(
        self, name: str, transform: Callable[[JsonRecord | None], JsonRecord | None]
    ) -> JsonRecord | None:
        """Read, change and replace one record under its lock; `{}` removes it.

        In a store without locks `transform` is called again when somebody else was faster.
        """
        place = self._names.record(name)
        result: JsonRecord | None = None

        def changed(text: str | None) -> str | None:
            nonlocal result
            old = _record(text, place)
            new = transform(copy.deepcopy(old))
            if new is None:
                result = old
                return text
            result = new or None
            return dump_record(new, name).decode("ascii") if new else None

        self._files.update({name: place}, lambda old: _if_changed(name, old[name], changed))
        return result

    def list_json(self, folder: str = "") -> list[str]:
        """Return the sorted names of all records in a folder of records and below."""
        prefix, start = self._names.records_below(folder)
        return [name for name in self._files.below(prefix, folder) if name.startswith(start)]

    def _update(
        self, place: StorePlace, transform: Callable[[str | None], str | None]
    ) -> str | None:
        result: str | None = None

        def changed(text: str | None) -> str | None:
            nonlocal result
            new = transform(text)
            result = text if new is None or new == text else well_formed(new)
            return result

        self._files.update(
            {place.path: place}, lambda old: _if_changed(place.path, old[place.path], changed)
        )
        return result


def _if_changed(
    path: str, old: str | None, changed: Callable[[str | None], str | None]
) -> dict[str, str | None]:
    new = changed(old)
    return {} if new == old else {path: new}


def _record(text: str | None, place: StorePlace) -> JsonRecord | None:
    return load_record(
        None if text is None else text.encode("utf-8"), f"{place.path}.json in the store"
    )
