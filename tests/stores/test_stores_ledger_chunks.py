"""New ledger text in parts: nothing is left out, and the watermark moves by whole entries."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from longthread.state.counting import count_text
from longthread.stores.memory.ledger import LedgerMarker, format_ledger_entry
from longthread.stores.memory.ledger_chunks import ledger_chunks, next_part
from longthread.stores.memory.maintenance import NewText, digest_of

MOMENT = datetime(2026, 3, 2, 14, 5, tzinfo=UTC)
MARKER = LedgerMarker("t", "1", "2")


def ledger(sizes: list[int]) -> str:
    bodies = [f"- Fact {n}: {'word ' * size}" for n, size in enumerate(sizes)]
    return "# 2026-03-02\n\n" + "".join(format_ledger_entry(MOMENT, b, MARKER) for b in bodies)


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=12),
    st.integers(200, 600),
    st.integers(0, 3),
)
def test_every_word_is_in_one_part_and_the_watermark_ends_at_the_end(
    sizes: list[int], room: int, taken: int
) -> None:
    text = ledger(sizes)
    whole = NewText("memory/2026-03-02.md", text, 0)
    start = 0
    for _ in range(taken):  # as maintenance does: one part, then what is left
        part = next_part([NewText(whole.path, text, start)], room)
        start = part[-1].consumed[whole.path]["length"] if part else start
    chunks = list(ledger_chunks([NewText(whole.path, text, start)], room))
    shown = "".join(chunk.text for chunk in chunks)
    assert shown.count("word") >= text[start:].count("word") - len(chunks)
    assert "longthread thread=" not in shown
    assert all(count_text(chunk.text) <= room for chunk in chunks)
    ends = [c.consumed[whole.path] for c in chunks if c.consumed]
    assert [end["length"] for end in ends] == sorted({end["length"] for end in ends})
    assert all(end["length"] > start for end in ends)
    if chunks:
        assert ends[-1] == {"length": len(text), "digest": digest_of(text)}


def test_text_of_several_ledgers_stands_under_their_paths() -> None:
    new = [NewText(f"memory/2026-03-0{n}.md", ledger([1, 1]), 0) for n in (1, 2)]
    [chunk] = ledger_chunks(new, 10_000)
    assert chunk.text.count("memory/2026-03-0") == 2
    assert set(chunk.consumed) == {n.path for n in new}
    assert chunk.newest.isoformat() == "2026-03-02"


def test_text_without_entries_is_text_too() -> None:
    [chunk] = ledger_chunks([NewText("memory/2026-03-01.md", "- Written by hand.\n", 0)], 1_000)
    assert "Written by hand." in chunk.text
    assert {day.isoformat() for day in chunk.dates.values() if day} == {"2026-03-01"}
