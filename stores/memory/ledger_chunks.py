"""New ledger text in parts that a model can read, each with how far it takes the watermark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from ...state.counting import count_text
from ...state.transcript import chunked
from .entry_dates import FactDates, fact_dates, latest
from .ledger import ledger_date, read_entries, split_entries, without_markers
from .maintenance import Consumed, NewText

__all__ = ["LedgerChunk", "ledger_chunks", "next_part"]


@dataclass(frozen=True, slots=True)
class LedgerChunk:
    """A part of what is new in the ledgers.

    Attributes:
        text: What the model is shown: whole entries, each ledger's under its path.
        consumed: What is to be recorded once this part is taken in.
        dates: Normalised fact to the day of its ledger.
        newest: The day of the newest ledger in it.
    """

    text: str
    consumed: Consumed
    dates: FactDates
    newest: date


def next_part(new: Sequence[NewText], room: int) -> list[LedgerChunk]:
    """Return the first chunks of new text up to the one that moves the watermark, which is last."""
    part: list[LedgerChunk] = []
    for chunk in ledger_chunks(new, room):
        part.append(chunk)
        if chunk.consumed:
            break
    return part


def ledger_chunks(new: Sequence[NewText], room: int) -> Iterator[LedgerChunk]:
    """Divide new text into parts.

    Args:
        new: What is new, the oldest ledger first.
        room: Tokens that a part may take. An entry that is longer becomes several parts, of which
            only the last moves the watermark past it.
    """
    open_chunk = _Open()
    for ledger in new:
        day = ledger_date(ledger.path)
        assert day is not None, ledger.path
        end = ledger.start
        for entry in split_entries(ledger.text):
            end += len(entry)
            shown = without_markers(entry)
            if not shown.strip():
                continue
            pieces = chunked([shown], max(64, room - 32))
            for number, piece in enumerate(pieces, start=1):
                if open_chunk.texts and open_chunk.tokens + count_text(piece) > room - 32:
                    yield open_chunk.closed()
                    open_chunk = _Open()
                open_chunk.add(ledger, piece, day)
                if number == len(pieces):
                    open_chunk.ends[ledger.path] = (ledger, end)
    if open_chunk.texts:
        yield open_chunk.closed()


class _Open:
    def __init__(self) -> None:
        self.texts: list[tuple[str, str]] = []
        self.ends: dict[str, tuple[NewText, int]] = {}
        self.dates: list[FactDates] = []
        self.newest = date.min
        self.tokens = 0

    def add(self, ledger: NewText, piece: str, day: date) -> None:
        self.texts.append((ledger.path, piece))
        self.tokens += count_text(piece) + 2
        self.newest = max(self.newest, day)
        for body in [entry.body for entry in read_entries(piece)] or [piece]:
            self.dates.append(fact_dates(body, day))

    def closed(self) -> LedgerChunk:
        parts, last = [], None
        for path, piece in self.texts:
            parts.append(piece if path == last else f"{path}\n{piece}")
            last = path
        consumed = {
            path: record
            for ledger, end in self.ends.values()
            for path, record in ledger.consumed(end).items()
        }
        return LedgerChunk("".join(parts).strip(), consumed, latest(*self.dates), self.newest)
