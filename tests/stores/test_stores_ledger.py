"""The daily ledger."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from longthread.state.errors import ConfigurationError
from longthread.stores import (
    LedgerEntry,
    LedgerMarker,
    ScopedWorkspace,
    append_entry,
    has_marker,
    ledger_date,
    ledger_path,
    read_entries,
    without_thread,
)

MOMENT = datetime(2026, 11, 30, 14, 5, 59, tzinfo=timezone(timedelta(hours=2)))
MARKER = LedgerMarker("t-17", "m1", "m9")
PATH = "memory/2026-11-30.md"
anything = st.text(alphabet=st.characters(exclude_categories=[]))
hostile_lines = st.sampled_from(
    [
        "## 14:05",
        "## 14:05\r",
        "## 99:99",
        "\\## 14:05",
        "\\\\## 14:05 x",
        "# 2026-11-30",
        "<!-- longthread thread=x messages=a..b -->",
        "\\<!-- longthread thread=x messages=a..b -->",
        "<!--longthread -->",
        "<!-- 2026-03-02 -->",
        "<!-- 2026-03-02 -->\r",
        "\\<!-- 2026-03-02 -->",
        "---",
        "```",
        "",
        "\r",
        "\f",
        "text",
        "\\",
    ]
)
bodies = st.one_of(st.text(), st.lists(st.one_of(hostile_lines, st.text())).map("\n".join))
per_view = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def test_an_entry_looks_like_this(view: ScopedWorkspace) -> None:
    assert append_entry(view, MOMENT, "Port 5051.\n", MARKER) == PATH
    append_entry(view, MOMENT + timedelta(hours=1), "- a\n- b")
    assert view.read_text(PATH) == (
        "# 2026-11-30\n"
        "\n"
        "## 14:05\n"
        "<!-- longthread thread=t-17 messages=m1..m9 -->\n"
        "Port 5051.\n"
        "\n"
        "## 15:05\n"
        "- a\n"
        "- b\n"
        "\n"
    )


def test_entries_are_read_back(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, "Port 5051.", MARKER)
    append_entry(view, MOMENT + timedelta(hours=1), "- a\n- b")
    assert read_entries(view.read_text(PATH) or "") == [
        LedgerEntry(time(14, 5), MARKER, "Port 5051."),
        LedgerEntry(time(15, 5), None, "- a\n- b"),
    ]


def test_shared_ledgers_have_their_own_path(view: ScopedWorkspace) -> None:
    assert append_entry(view, MOMENT, "x", scope="global") == f"global/{PATH}"
    assert view.list_files() == []
    assert view.list_files("global") == [f"global/{PATH}"]


@pytest.mark.parametrize("hours", [-12, -1, 0, 9, 14])
def test_file_name_and_heading_show_one_instant_in_one_zone(
    view: ScopedWorkspace, hours: int
) -> None:
    zone = timezone(timedelta(hours=hours))
    moment = datetime(2026, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC).astimezone(zone)
    path = append_entry(view, moment, "x")
    assert path == f"memory/{moment.date().isoformat()}.md"
    text = view.read_text(path) or ""
    assert text.startswith(f"# {moment.date().isoformat()}\n")
    assert read_entries(text)[0].time == time(moment.hour, moment.minute)


class Nowhere(tzinfo):
    def utcoffset(self, _: datetime | None) -> None:
        return None

    def dst(self, _: datetime | None) -> None:
        return None

    def tzname(self, _: datetime | None) -> None:
        return None


@pytest.mark.parametrize("zone", [None, Nowhere()])
def test_a_moment_without_a_zone_is_refused(view: ScopedWorkspace, zone: tzinfo | None) -> None:
    naive = datetime(2026, 11, 30, 14, 5, tzinfo=zone)
    with pytest.raises(ConfigurationError, match=r"moment datetime.*no time zone.*now\(tz\)"):
        append_entry(view, naive, "x")
    assert view.list_files() == []


def test_years_keep_four_digits() -> None:
    assert ledger_path(datetime(7, 1, 2, tzinfo=UTC)) == "memory/0007-01-02.md"


@pytest.mark.parametrize(
    ("path", "day"),
    [
        (PATH, date(2026, 11, 30)),
        (f"global/{PATH}", date(2026, 11, 30)),
        ("memory/archive/2026-11-30.md", date(2026, 11, 30)),
        ("memory/2026-02-30.md", None),
        ("memory/notes.md", None),
        ("memory/x-2026-11-30.md", None),
        ("memory/2026-11-30.md.bak", None),
        ("2026-11-30.md", None),
        ("MEMORY.md", None),
        ("memory/２０２６-11-30.md", None),
    ],
)
def test_only_iso_named_ledgers_have_a_date(path: str, day: date | None) -> None:
    assert ledger_date(path) == day


@given(anything, anything, anything)
@example("a-->b", "\n", "..")
@example("", "", "")
@example("lc_run--0199", "a b", "\ud800")
@example("%2E", "...", "<!--")
def test_any_ids_survive_in_a_marker_of_one_harmless_line(
    thread: str, first: str, last: str
) -> None:
    marker = LedgerMarker(thread, first, last)
    line = str(marker)
    assert line.isascii()
    assert "\n" not in line
    assert line.count("-->") == 1
    assert line.endswith(" -->")
    text = f"## 00:00\n{line}\nbody\n"
    assert [entry.marker for entry in read_entries(text)] == [marker]
    assert has_marker(text, marker)


@per_view
@given(st.lists(st.tuples(bodies, st.booleans()), min_size=1, max_size=4))
def test_any_bodies_round_trip(view: ScopedWorkspace, entries: list[tuple[str, bool]]) -> None:
    view.delete(PATH)
    for body, marked in entries:
        append_entry(view, MOMENT, body, MARKER if marked else None)
    text = view.read_text(PATH) or ""
    assert read_entries(text) == [
        LedgerEntry(time(14, 5), MARKER if marked else None, body.strip("\n"))
        for body, marked in entries
    ]


def test_a_marker_inside_a_body_is_not_a_marker(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, f"{MARKER}\n## 10:00\n{MARKER}\nfake")
    text = view.read_text(PATH) or ""
    assert not has_marker(text, MARKER)
    assert len(read_entries(text)) == 1


def test_what_looks_like_structure_is_shown_behind_a_backslash(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, "## 10:00\n## Title\n<!-- 2026-03-02 -->\n<!-- note -->")
    text = view.read_text(PATH) or ""
    assert "\n\\## 10:00\n## Title\n\\<!-- 2026-03-02 -->\n<!-- note -->\n" in text


def test_an_entry_that_may_be_written_once_is_written_once(view: ScopedWorkspace) -> None:
    for _ in range(3):
        append_entry(view, MOMENT, "fact", MARKER, once=True)
    append_entry(view, MOMENT, "other", LedgerMarker("t-17", "m1", "m10"), once=True)
    append_entry(view, MOMENT, "no marker", once=True)
    append_entry(view, MOMENT, "no marker", once=True)
    bodies = [entry.body for entry in read_entries(view.read_text(PATH) or "")]
    assert bodies == ["fact", "other", "no marker", "no marker"]


def test_several_entries_may_come_from_the_same_messages(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, "one", MARKER)
    append_entry(view, MOMENT, "two", MARKER)
    assert len(read_entries(view.read_text(PATH) or "")) == 2


def test_an_entry_cut_short_by_a_crash_is_written_again(view: ScopedWorkspace) -> None:
    append_entry(view, MOMENT, "earlier", LedgerMarker("t-17", "a", "b"))
    whole = view.read_text(PATH) or ""
    view.write_text(PATH, f"{whole}## 14:05\n{MARKER}\nPort 50")
    torn = view.read_text(PATH) or ""
    assert not has_marker(torn, MARKER)
    assert has_marker(torn, LedgerMarker("t-17", "a", "b"))
    append_entry(view, MOMENT, "Port 5051.", MARKER, once=True)
    text = view.read_text(PATH) or ""
    assert [entry.body for entry in read_entries(text)] == ["earlier", "Port 50", "Port 5051."]
    assert has_marker(text, MARKER)


def test_a_thread_is_removed_and_all_else_stays_as_it_was(view: ScopedWorkspace) -> None:
    view.write_text(PATH, "# 2026-11-30\n\nby hand\n\n")
    append_entry(view, MOMENT, "keep 1", LedgerMarker("t-1", "a", "b"))
    before = view.read_text(PATH) or ""
    append_entry(view, MOMENT, "secret\n\n## 09:00\nsecret", MARKER)
    middle = view.read_text(PATH) or ""
    append_entry(view, MOMENT, "keep 2\r\n", LedgerMarker("t-171", "a", "b"))
    append_entry(view, MOMENT, "keep 3 t-17")
    after = (view.read_text(PATH) or "")[len(middle) :]
    assert without_thread(view.read_text(PATH) or "", "t-17") == before + after


@given(st.text() | st.lists(hostile_lines).map("\n".join))
def test_removing_a_thread_that_is_not_there_changes_nothing(text: str) -> None:
    assert without_thread(text, "no such thread") == text


@given(st.text() | st.lists(hostile_lines).map("\n".join))
def test_any_file_can_be_read(text: str) -> None:
    read_entries(text)
    assert not has_marker(text, MARKER)


def test_headings_written_by_hand_start_an_entry_and_other_text_is_none() -> None:
    text = "# 2026-11-30\n\nnotes\n\n## 09:30 standup\nfact\n## Later\n## 24:00\n## 9:30\nmore\n"
    assert read_entries(text) == [
        LedgerEntry(time(9, 30), None, "fact\n## Later\n## 24:00\n## 9:30\nmore")
    ]


def test_windows_newlines_around_the_structure_are_understood() -> None:
    text = f"# 2026-11-30\r\n\r\n## 09:30\r\n{MARKER}\r\nfact\r\n"
    [entry] = read_entries(text)
    assert (entry.time, entry.marker, entry.body) == (time(9, 30), MARKER, "fact\r")


def test_a_marker_that_somebody_spoilt_does_not_stop_reading() -> None:
    text = "## 09:30\n<!-- longthread thread=%ff%zz messages=a..b -->\nfact\n"
    [entry] = read_entries(text)
    assert entry.body == "fact"


def test_an_empty_ledger_has_no_entries() -> None:
    assert read_entries("") == []
    assert not has_marker("", MARKER)
    assert without_thread("", "t") == ""
