"""Searching the lines of files that are searched again and again.

A file is kept in two forms: as it is, and folded (`matching.fold`). Both are UTF-8 bytes, in which
searching is fastest and a line is found without decoding the rest. Folding keeps every `\\n`, so
the n-th line of one form is the n-th line of the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import cast

from ..matching import Query, fold

__all__ = ["FoldedCache", "FoldedText", "Needles"]

# Lines with the longest term and without another one, after which it does not lead any more.
_MISSES = 64


class Needles:
    """A query in the form in which lines of bytes are searched for it.

    Args:
        query: The query.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.every = query.mode != "any"
        # A record is one line: a phrase that goes on in the next one is found nowhere.
        self.terms = tuple(_bytes(term) for term in query.terms if "\n" not in term)


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A file, ready to be searched.

    Attributes:
        original: Its text.
        folded: Its folded text.
    """

    original: bytes
    folded: bytes

    @classmethod
    def of(cls, text: str) -> FoldedText:
        """Make one of a text."""
        return cls(_bytes(text), _bytes(fold(text)))

    def holds(self, text: str) -> bool:
        """Say whether this was made of the text."""
        return self.original == _bytes(text)

    def __len__(self) -> int:
        return len(self.original) + len(self.folded)

    def lines(self, needles: Needles) -> Iterator[tuple[int, str]]:
        """Yield number (from 1) and text of every line that matches, in order."""
        lines_with = _every_term if needles.every and len(needles.terms) > 1 else _any_term
        aligned = self.original.isascii()
        number = seen = at = 0
        for start, end in lines_with(self.folded, needles.terms):
            passed = self.folded.count(b"\n", seen, start)
            number, seen = number + passed, start
            if aligned:
                line = self.original[start:end]
            else:
                for _ in range(passed):
                    at = self.original.index(b"\n", at) + 1
                stop = self.original.find(b"\n", at)
                line = self.original[at : len(self.original) if stop < 0 else stop]
            yield number + 1, line.decode("utf-8", "surrogatepass")


class FoldedCache:
    """Files that were searched lately, by a token that stands for one content of one file.

    Args:
        limit: Most bytes that are kept. What does not fit is read and folded again each time;
            nothing that the present search has used makes room for it, so that a search over more
            than the limit still finds most of it in place.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._search = 0
        self._files: OrderedDict[str, tuple[FoldedText, int]] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self) -> int:
        """Begin a search; return its number, for `get` and `put`."""
        with self._lock:
            self._search += 1
            return self._search

    def get(self, token: str, search: int) -> FoldedText | None:
        """Return the file of a token, if it is here."""
        with self._lock:
            if token not in self._files:
                return None
            text, _ = self._files.pop(token)
            self._files[token] = text, search
            return text

    def put(self, token: str, text: FoldedText, search: int) -> None:
        """Keep a file if there is room, or if older searches can make room."""
        with self._lock:
            self._drop(token)
            while self._files and self._size + len(text) > self._limit:
                oldest, (_, used) = next(iter(self._files.items()))
                if used >= search:
                    return
                self._drop(oldest)
            if self._size + len(text) <= self._limit:
                self._files[token] = text, search
                self._size += len(text)

    def drop(self, token: str) -> None:
        """Forget a file."""
        with self._lock:
            self._drop(token)

    def _drop(self, token: str) -> None:
        known = self._files.pop(token, None)
        if known is not None:
            self._size -= len(known[0])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1)
def _finder() -> Callable[[bytes, bytes, int, int], int]:
    """Return what finds bytes in bytes, as `bytes.find` does: five times as fast if installed."""
    try:
        return cast(Callable[[bytes, bytes, int, int], int], import_module("stringzilla").find)
    except ImportError:
        return bytes.find


def _any_term(folded: bytes, terms: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    """Yield start and end of every line that holds one of the terms."""
    find, size = _finder(), len(folded)
    places = {term: at for term in terms if (at := find(folded, term, 0, size)) >= 0}
    while places:
        start, end = _line(folded, min(places.values()), 0)
        yield start, end
        for term, at in list(places.items()):
            if at <= end:
                places[term] = find(folded, term, end, size)
                if places[term] < 0:
                    del places[term]


def _every_term(folded: bytes, terms: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    """Yield start and end of every line that holds all of the terms.

    The longest term, likely the rarest, leads. Where it turns out to be common, the term whose next
    place is furthest away decides each time where to go on, so that the rarest sets the pace.
    """
    find, size = _finder(), len(folded)
    leader = max(terms, key=len)
    start = misses = 0
    while True:
        leaders = (leader,) if misses < _MISSES else terms
        places = [find(folded, term, start, size) for term in leaders]
        if min(places) < 0:
            return
        first, end = _line(folded, max(places), start)
        if all(find(folded, term, first, end) >= 0 for term in terms):
            yield first, end
            start = end
        else:
            misses += 1
            start = end if len(leaders) == 1 else first


def _line(folded: bytes, at: int, floor: int) -> tuple[int, int]:
    """Return start and end of the line around a place, its newline left out."""
    start = folded.rfind(b"\n", floor, at) + 1 or floor
    end = folded.find(b"\n", at)
    return start, len(folded) if end < 0 else end
