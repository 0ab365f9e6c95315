"""Consolidation and maintenance: what is merged, what is refused, what is archived and when."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage
from memory_desk import Clock, Desk, between, quick_disk

from longthread import ToolResultEvictionConfig
from longthread.state.counting import count_message, count_text
from longthread.stores.memory.ledger import LedgerMarker, append_entry
from longthread.stores.memory.memory_file import add_entry
from longthread.stores.memory.undo import undo_consolidation

KIND = ["local"]


@pytest.fixture(autouse=True, params=["local", "store"])
def _every_kind_of_workspace(request: pytest.FixtureRequest) -> None:
    KIND[0] = request.param


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still."""
    quick_disk(monkeypatch)
    return Clock(monkeypatch)


def merge(messages: list[BaseMessage]) -> str:
    """Keep every bullet of the file and add those of the ledgers."""
    prompt = str(messages[-1].content)
    old, new = between(prompt, "memory"), between(prompt, "ledgers")
    lines = [line for line in f"{old}\n{new}".split("\n") if line.startswith("- ")]
    return "\n".join(dict.fromkeys(lines))


def desk(folder: Path, memory: Any = merge, **config: Any) -> Desk:
    return Desk(folder, Scripted(memory=memory), kind=KIND[0], **config)


def note(at: Desk, clock: Clock, *facts: str, scope: Any = "agent") -> None:
    body = "\n".join(f"- {fact}" for fact in facts)
    append_entry(at.files, clock.moment, body, LedgerMarker("t", "1", facts[0]), scope=scope)


def test_both_scopes_are_consolidated_where_there_is_text(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    note(at, clock, "Mine.")
    at.consolidate()
    assert at.files.list_files("global") == []
    assert len(at.script.asked["memory"]) == 1
    note(at, clock, "Of all.", scope="global")
    at.consolidate()
    assert at.memory == "- Mine. <!-- 2026-03-02 -->\n"
    assert at.files.read_text("global/MEMORY.md") == "- Of all. <!-- 2026-03-02 -->\n"
    at.consolidate()
    assert len(at.script.asked["memory"]) == 2  # nothing was new


def test_the_model_is_shown_the_file_and_only_what_is_new(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path, consolidation_prompt="You maintain MEMORY.md: %d tokens, %d: 50%.")
    note(at, clock, "One.")
    at.consolidate()
    clock.moves(days=1)
    note(at, clock, "Two.")
    at.consolidate()
    request = at.script.asked["memory"][1]
    assert str(request[0].content) == "You maintain MEMORY.md: 4000 tokens, 16000: 50%."
    prompt = str(request[1].content)
    assert between(prompt, "memory").strip() == "- One. <!-- 2026-03-02 -->"
    ledgers = between(prompt, "ledgers")
    assert ledgers.startswith("memory/2026-03-03.md\n")
    assert "Two." in ledgers
    assert "One." not in ledgers
    assert "thread=" not in ledgers  # whose thread it was stays here


def test_runs_are_a_gap_apart_in_each_scope(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path, consolidation_min_gap=timedelta(minutes=30))
    asked = []
    for n in range(7):
        note(at, clock, f"Fact {n}.")
        at.consolidate()
        asked.append(len(at.script.asked["memory"]))
        clock.moves(minutes=10)
    assert asked == [1, 1, 1, 2, 2, 2, 3]


def test_a_failed_run_is_not_paid_for_after_every_call(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path, RuntimeError("ill"), consolidation_min_gap=timedelta(minutes=30))
    note(at, clock, "Fact.")
    at.consolidate()
    at.consolidate()
    assert len(at.script.asked["memory"]) == 1
    assert "MEMORY.md stays as it is: ill" in caplog.text
    clock.moves(minutes=30)
    at.consolidate()
    assert len(at.script.asked["memory"]) == 2


OLD = "# Facts\n" + "".join(f"- Fact {n}. <!-- 2026-01-0{n + 1} -->\n" for n in range(6))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "blank"),
        (" \n", "blank"),
        ("```\n```", "blank"),
        ("# Only a heading", "blank"),
        ("- Everything is fine.\n- Really.", "only 2 of 6 entries would be left"),
        ("word " * 20_000, "more than 4,000"),
        (AIMessage(OLD, response_metadata={"finish_reason": "length"}), "answer was cut"),
        (AIMessage(OLD, response_metadata={"stop_reason": "refusal"}), "answer was refused"),
        (AIMessage(OLD, response_metadata={"finish_reason": "error"}), "answer was failed"),
    ],
)
def test_what_cannot_stand_in_for_the_file_is_refused(
    answer: Any, why: str, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path, answer)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    at.consolidate()
    assert at.memory == OLD
    assert why in caplog.text
    at.script.side["memory"] = merge
    at.consolidate()  # nothing was taken for merged
    assert "- New. <!-- 2026-03-02 -->\n" in (at.memory or "")


NON_ANSWERS = [
    "NO_REPLY",
    "<memory></memory>",
    "<memory>\nNO_REPLY\n</memory>",
    "I cannot help with that request.",
    "I'm sorry, but I can't assist with that.",
    "MEMORY.md is up to date.",
    "The file is already up to date, so there are no changes.",
    "(no changes)",
    "Error: rate limit",
    "Error: 429 Too Many Requests, please retry later",
    "- No new facts.",
    "Lo siento, no puedo ayudar con eso.",
    "申し訳ありませんが、お手伝いできません。",
    "---\na: b\n---",
    "# Title",
    "<think>What is new? Ann, Oslo, 5051",
]


@pytest.mark.parametrize("answer", NON_ANSWERS)
@pytest.mark.parametrize("old", [None, "- The port is 5051.\n", "- 5051\n- Ann lives in Oslo.\n"])
def test_an_answer_that_says_nothing_of_what_was_given_is_no_memory(
    answer: str, old: str | None, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path, answer)
    if old is not None:
        at.files.write_text("MEMORY.md", old)
    note(at, clock, "Deploys are on Mondays.", "前の会議は東京で開かれた。")
    at.consolidate()
    assert at.memory == old
    assert "stays as it is" in caplog.text
    assert "0 of 0 entries" not in caplog.text
    at.script.side["memory"] = merge
    at.consolidate()  # nothing was taken for merged
    assert "- Deploys are on Mondays. <!-- 2026-03-02 -->\n" in (at.memory or "")


@pytest.mark.parametrize("answer", NON_ANSWERS)
def test_that_there_is_nothing_to_change_is_believed_when_nothing_is_new(
    answer: str, tmp_path: Path, clock: Clock
) -> None:
    old = "- The port is 5051.\n- Ann lives in Oslo.\n"
    at = desk(tmp_path, answer)
    at.files.write_text("MEMORY.md", old)
    note(at, clock, "Ann lives in Oslo.")
    at.consolidate()
    at.consolidate()
    assert at.memory == old
    assert len(at.script.asked["memory"]) == 1  # it counts as merged


@pytest.mark.parametrize(
    "answer",
    [
        "## Environment\n- Port: 5052 (was 5051).\n\n## People\n- Ann, a baker, is in Oslo.",
        "Ann (baker, Oslo) | port 5052",
        "- Der Port ist 5052.\n- Ann wohnt in Oslo.",
    ],
)
def test_facts_in_other_words_are_still_the_memory(
    answer: str, tmp_path: Path, clock: Clock
) -> None:
    at = desk(tmp_path, answer)
    at.files.write_text("MEMORY.md", "- The port is 5051.\n- Ann lives in Oslo.\n")
    note(at, clock, "The port is 5052 now, no longer 5051.", "Ann is a baker.")
    at.consolidate()
    assert "5052" in (at.memory or "")


def test_new_facts_alone_do_not_replace_the_old_ones(tmp_path: Path, clock: Clock) -> None:
    old = "- The port is 5051.\n- Ann lives in Oslo.\n"
    at = desk(tmp_path, "- Deploys are on Mondays.\n- Kim likes tea.")
    at.files.write_text("MEMORY.md", old)
    note(at, clock, "Deploys are on Mondays.", "Kim likes tea.")
    at.consolidate()
    assert at.memory == old


@pytest.mark.parametrize(
    "around",
    [
        "```markdown\n{}\n```",
        "Here is the updated MEMORY.md:\n\n```\n{}\n```\nI merged the new facts.",
        "Here's the new MEMORY.md:\n\n{}",
        "<think>\nWhat is new?\n</think>\n\n{}",
        "<memory>\n{}\n</memory>",
    ],
)
def test_what_models_put_around_the_file_does_not_get_into_it(
    around: str, tmp_path: Path, clock: Clock
) -> None:
    at = desk(tmp_path, lambda messages: around.format(merge(messages)))
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    at.consolidate()
    assert at.memory == OLD.partition("\n")[2] + "- New. <!-- 2026-03-02 -->\n"


def test_half_of_the_entries_or_what_the_cap_allows_is_enough(tmp_path: Path, clock: Clock) -> None:
    long = "".join(f"- Fact {n}: {'word ' * 100}.\n" for n in range(20))
    at = desk(tmp_path, "- Fact 1.\n- Fact 2.\n- New.", consolidation_max_tokens=400)
    at.files.write_text("MEMORY.md", long)  # the cap has room for three of the twenty
    note(at, clock, "New.")
    at.consolidate()
    assert (at.memory or "").count("\n") == 3
    half = desk(tmp_path / "half", "- Fact 0.\n- Fact 1.\n- Fact 2.")
    half.files.write_text("MEMORY.md", OLD)
    note(half, clock, "New.")
    half.consolidate()
    assert (half.memory or "").count("\n") == 3


def test_merging_what_says_the_same_is_no_loss(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path, "- Kim likes tea.")
    at.files.write_text(
        "MEMORY.md", "- Kim likes tea.\n- kim likes **tea**\n- Kim likes tea!\n" * 3
    )
    note(at, clock, "Kim likes tea.")
    at.consolidate()
    assert (at.memory or "").startswith("- Kim likes tea.")
    assert (at.memory or "").count("\n") == 1


def test_a_text_that_is_too_long_is_shortened_once(tmp_path: Path, clock: Clock) -> None:
    def memory(messages: list[BaseMessage]) -> str:
        if "too long" in str(messages[-1].content):
            return "- Long, short."
        return "- Long.\n" + "- word\n" * 300

    at = desk(tmp_path, memory, consolidation_max_tokens=200)
    note(at, clock, "Long.")
    at.consolidate()
    assert at.memory == "- Long, short. <!-- 2026-03-02 -->\n"
    assert len(at.script.asked["memory"]) == 2
    assert "at most 200 tokens" in at.asked("memory")[1]


def test_entries_keep_their_dates_and_new_ones_get_their_ledgers(
    tmp_path: Path, clock: Clock
) -> None:
    answer = (
        "# People\n"
        "- Kim likes tea. <!-- 1999-01-01 -->\n"  # made up: the file knows better
        "- Kim is a baker.\n"
        "- Ada knows Kim. <!-- 2026-02-01 -->\n"  # put together from two: a date that is there
        "- Somebody new. <!-- 2031-01-01 -->\n"  # a day that nothing is from
        "- As it ever was.\n\n"
        "```\ncode\n```\n"
    )
    at = desk(tmp_path, answer)
    saved = add_entry("- As it ever was.\n", date(2026, 1, 5), "- Kim likes tea.\n- Ada!")
    at.files.write_text("MEMORY.md", add_entry(saved, date(2026, 2, 1), "Ada was here."))
    note(at, clock, "Kim is a baker.")
    clock.moves(days=2)
    note(at, clock, "Other news.")
    at.consolidate()
    assert (at.memory or "").split("\n") == [
        "# People",
        "- Kim likes tea. <!-- 2026-01-05 -->",
        "- Kim is a baker. <!-- 2026-03-02 -->",
        "- Ada knows Kim. <!-- 2026-02-01 -->",
        "- Somebody new. <!-- 2026-03-04 -->",
        "- As it ever was.",
        "",
        "```",
        "code",
        "```",
        "",
    ]


def test_a_date_line_of_a_day_that_nothing_is_from_is_put_right(
    tmp_path: Path, clock: Clock
) -> None:
    at = desk(tmp_path, "<!-- 2020-01-01 -->\nA fact.\n\n<!-- 2026-03-02 -->\nAnother.")
    note(at, clock, "A fact.")
    at.consolidate()
    assert at.memory == "<!-- 2026-03-02 -->\nA fact.\n\n<!-- 2026-03-02 -->\nAnother.\n"


def test_frontmatter_is_not_the_models_to_change(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    at.files.write_text("MEMORY.md", "---\ntitle: Kim's\n---\n\n- Old.\n")
    note(at, clock, "New.")
    at.consolidate()
    assert at.memory == "---\ntitle: Kim's\n---\n\n- Old.\n- New. <!-- 2026-03-02 -->\n"


def test_much_new_text_is_taken_in_part_by_part(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    sizes = []

    def memory(messages: list[BaseMessage]) -> str:
        sizes.append(sum(map(count_message, messages)))
        if len(sizes) == 4:
            raise RuntimeError("ill")
        old = between(str(messages[-1].content), "memory")
        return f"{old}\n- Part {len(sizes)}."

    at = desk(tmp_path, memory, window=4_000)
    for n in range(40):
        note(at, clock, f"Fact {n}: {'word ' * 150}")
    note(at, clock, f"The longest: {'word ' * 6_000}")
    at.consolidate()
    assert (at.memory or "").count("Part") == 3  # what was done before the failure stays
    at.consolidate()
    assert max(sizes) <= 4_000
    shown = "".join(at.asked("memory")[:3] + at.asked("memory")[4:])
    assert [n for n in range(40) if shown.count(f"Fact {n}:") == 1] == list(range(40))
    assert shown.count("word ") > 11_900
    assert count_text(at.memory or "") < 1_000
    asked = len(sizes)
    at.consolidate()
    assert len(sizes) == asked


def test_a_memory_that_the_model_cannot_read_is_left_alone(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path, window=2_000)
    at.files.write_text("MEMORY.md", "- A fact of many.\n" * 1_000)
    note(at, clock, "New.")
    at.consolidate()
    assert at.asked("memory") == []
    assert "more than half of a window of 2,000" in caplog.text


def test_a_deleted_memory_is_rebuilt_from_all_ledgers_archived_ones_too(
    tmp_path: Path, clock: Clock
) -> None:
    at = desk(tmp_path, daily_file_retention_days=5)
    for n in range(4):
        note(at, clock, f"Fact {n}.")
        at.consolidate()
        clock.moves(days=4)
    at.consolidate()
    assert at.files.list_files("memory")[-1] == "memory/archive/2026-03-10.md"
    built = at.memory
    at.files.delete("MEMORY.md")
    at.consolidate()
    assert at.memory == built
    assert (at.memory or "").count("Fact") == 4
    asked = len(at.script.asked["memory"])
    at.consolidate()
    assert len(at.script.asked["memory"]) == asked


def test_a_ledger_that_was_edited_is_read_again(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    note(at, clock, "One.")
    at.consolidate()
    at.files.update_text("memory/2026-03-02.md", lambda text: (text or "").replace("One", "Two"))
    at.consolidate()
    assert "Two." in (at.memory or "")


def test_only_merged_ledgers_strictly_older_than_the_retention_move(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path, daily_file_retention_days=90)
    for name in ("2025-12-01", "2025-12-02", "2025-12-03", "notes", "2025-13-01", "20251201"):
        at.files.write_text(f"memory/{name}.md", "## 10:00\n- A fact.\n")
    at.files.write_text("memory/2025-01-01.txt", "- A fact.\n")
    at.script.side["memory"] = RuntimeError("ill")
    at.consolidate()
    assert not any("archive/" in path for path in at.files.list_files("memory"))
    at.script.side["memory"] = merge
    at.consolidate()  # 2025-12-02 is exactly ninety days ago
    assert at.files.list_files("memory") == [
        "memory/2025-01-01.txt",
        "memory/2025-12-02.md",
        "memory/2025-12-03.md",
        "memory/2025-13-01.md",
        "memory/20251201.md",
        "memory/archive/2025-12-01.md",
        "memory/notes.md",
    ]
    assert at.files.read_text("memory/archive/2025-12-01.md") == "## 10:00\n- A fact.\n"
    asked = len(at.script.asked["memory"])
    at.consolidate()
    assert len(at.script.asked["memory"]) == asked  # the watermark has moved along


def test_a_late_entry_in_an_old_ledger_is_merged_before_it_moves(
    tmp_path: Path, clock: Clock
) -> None:
    at = desk(tmp_path, daily_file_retention_days=1)
    note(at, clock, "Early.")
    at.consolidate()
    note(at, clock, "Late.")
    clock.moves(days=10)
    at.consolidate()
    assert "Late." in (at.memory or "")
    assert at.files.list_files("memory") == ["memory/archive/2026-03-02.md"]
    at.files.write_text("memory/2026-03-02.md", "## 09:00\n- Restored from a backup.\n")
    at.consolidate()
    text = at.files.read_text("memory/archive/2026-03-02.md") or ""
    assert [text.count(fact) for fact in ("Early.", "Late.", "Restored")] == [1, 1, 1]
    asked = len(at.script.asked["memory"])
    at.consolidate()
    assert len(at.script.asked["memory"]) == asked


def test_three_writers_save_while_a_slow_consolidation_runs(tmp_path: Path, clock: Clock) -> None:
    started, saved = threading.Event(), threading.Event()

    def slowly(messages: list[BaseMessage]) -> str:
        started.set()
        assert saved.wait(60)
        return merge(messages)

    at = desk(tmp_path, slowly)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")

    def saves(writer: int) -> None:
        started.wait(60)
        for n in range(20):
            body = f"Saved by {writer}: {n}."
            at.files.update_text(
                "MEMORY.md", partial(add_entry, day=clock.moment.date(), body=body)
            )

    writers = [threading.Thread(target=saves, args=(n,)) for n in range(3)]
    for thread in writers:
        thread.start()
    consolidation = threading.Thread(target=at.consolidate)
    consolidation.start()
    for thread in writers:
        thread.join()
    saved.set()
    consolidation.join()
    text = at.memory or ""
    assert all(text.count(f"Saved by {w}: {n}.") == 1 for w in range(3) for n in range(20))
    assert all(text.count(f"- Fact {n}.") == 1 for n in range(6))
    assert text.count("- New. <!-- 2026-03-02 -->") == 1


def during(at: Desk, change: Any) -> None:
    """Have something happen to the files while the model is at work, the first time."""

    def memory(messages: list[BaseMessage]) -> str:
        if len(at.script.asked["memory"]) == 1:
            change()
        return merge(messages)

    at.script.side["memory"] = memory


def test_what_is_noted_meanwhile_is_for_the_next_time(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)

    def memory(messages: list[BaseMessage]) -> str:
        count = len(at.script.asked["memory"])
        note(at, clock, f"Noted during {count}.")
        return merge(messages)

    at.script.side["memory"] = memory
    note(at, clock, "First.")
    at.consolidate()
    assert len(at.script.asked["memory"]) == 1
    at.script.side["memory"] = merge
    at.consolidate()
    assert (at.memory or "").count("\n") == 2


def test_what_is_taken_away_meanwhile_stays_away(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    text = OLD.replace("- Fact 3. <!-- 2026-01-04 -->\n", "") + "- By hand.\n"
    during(at, lambda: at.files.write_text("MEMORY.md", text))
    at.consolidate()
    assert len(at.script.asked["memory"]) == 1
    assert "Fact 3." not in (at.memory or "")
    assert (at.memory or "").count("- Fact") == 5
    assert (at.memory or "").endswith("- New. <!-- 2026-03-02 -->\n# Facts\n- By hand.\n")


def test_another_process_that_consolidates_meanwhile_is_not_undone(
    tmp_path: Path, clock: Clock
) -> None:
    rival = desk(tmp_path, "- All that Fact 1 to Fact 5 say.\n- New, too.\n- And more.")
    at = desk(tmp_path)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    during(at, rival.consolidate)
    at.consolidate()
    assert (at.memory or "").startswith("- All that Fact 1 to Fact 5 say. <!-- 2026-03-02 -->")
    assert len(at.script.asked["memory"]) == 1  # what ours was about is merged already


def test_a_memory_that_is_deleted_meanwhile_is_made_again(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    during(at, lambda: at.files.delete("MEMORY.md"))
    at.consolidate()
    assert at.memory == "- New. <!-- 2026-03-02 -->\n"


def test_a_memory_that_is_rewritten_every_time_is_left_to_whoever_does(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    at = desk(tmp_path)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    count = iter(range(100))

    def memory(messages: list[BaseMessage]) -> str:
        at.files.write_text("MEMORY.md", f"- Quite another text {next(count)}.\n")
        return merge(messages)

    at.script.side["memory"] = memory
    at.consolidate()
    assert at.memory == "- Quite another text 2.\n"
    assert "rewritten again and again" in caplog.text


def test_secrets_reach_neither_the_model_nor_the_file(tmp_path: Path, clock: Clock) -> None:
    def redact(text: str) -> str:
        return text.replace("hunter2", "[gone]").replace("hunter3", "[gone]")

    at = desk(tmp_path, lambda messages: f"{merge(messages)}\n- It is hunter3.", redact=redact)
    at.files.write_text("MEMORY.md", "- Old hunter2.\n")
    note(at, clock, "New hunter2.")
    at.consolidate()
    assert "hunter2" not in at.asked("memory")[0]
    assert "hunter" not in (at.memory or "")
    assert (at.memory or "").count("[gone]") == 3


def test_a_redactor_that_fails_leaves_memory_as_it_is(
    tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(text: str) -> str:
        raise ValueError("out of order")

    at = desk(tmp_path, redact=redact)
    at.files.write_text("MEMORY.md", OLD)
    note(at, clock, "New.")
    with caplog.at_level(logging.WARNING, logger="longthread"):
        at.consolidate()
    assert at.asked("memory") == []
    assert at.memory == OLD
    assert "neither sent nor written" in caplog.text


def test_bookkeeping_is_small_and_plain(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path)
    for n in range(8):
        note(at, clock, f"Fact {n}.")
        at.consolidate()
    record = at.files.read_json("undo") or {}
    assert set(record) == {"versions"}
    assert len(record["versions"]) == 5  # as many can be undone
    assert len(json.dumps(at.files.read_json("maintenance"))) < 500


def test_the_longest_retention_is_one_that_can_be_computed(tmp_path: Path, clock: Clock) -> None:
    at = desk(tmp_path, daily_file_retention_days=36_500)
    at.policy = replace(at.policy, eviction=ToolResultEvictionConfig(retention_days=36_500))
    note(at, clock, "Fact.")
    at.consolidate()
    assert at.memory == "- Fact. <!-- 2026-03-02 -->\n"
    assert (at.files.read_json("maintenance") or {}).get("last")


# What a bad disk or an editor leaves of a value.
broken = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "version",
                    "consumed",
                    "run",
                    "at",
                    "before",
                    "after",
                    "memory/2026-03-02.md",
                    "length",
                    "digest",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.dictionaries(st.sampled_from(["pending", "versions", "consumed", "last"]), broken),
    st.dictionaries(st.sampled_from(["pending", "versions", "consumed", "last"]), broken),
)
@example({"pending": 5}, {})
@example({"pending": {}}, {"consumed": 5})
@example({"pending": {"version": {}}, "versions": [5]}, {"last": "0001-01-01T00:00:00+00:00"})
def test_whatever_stands_in_the_records_the_next_maintenance_does_its_work(
    clock: Clock, undo: dict[str, Any], maintenance: dict[str, Any]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at = desk(Path(folder))
        at.files.write_text("MEMORY.md", "- Old.\n")
        at.files.update_json("undo", lambda _: undo)
        at.files.update_json("maintenance", lambda _: maintenance)
        note(at, clock, "Fact.")
        at.consolidate()
        assert at.memory == "- Old.\n- Fact. <!-- 2026-03-02 -->\n"
        assert undo_consolidation(at.files, clock.moment) is not None
        assert at.memory == "- Old.\n"
