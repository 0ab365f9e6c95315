"""Whole threads whose summary is added to: what the model sees, what is stored, what is asked."""

from __future__ import annotations

import re
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import BaseMessage

from longthread import (
    CompactionConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
    fork_thread,
    project_context,
)
from longthread.graphs.agent import context_policy
from longthread.state.counting import count_text
from longthread.state.decisions import Decisions
from longthread.state.prompts import DEFAULT_ADDITION_PROMPT, DEFAULT_SUMMARY_PROMPT
from longthread.state.reference import REFERENCE_ID

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)
SUMMARY, ADDITION = (
    prompt.split("\n\n")[1] for prompt in (DEFAULT_SUMMARY_PROMPT, DEFAULT_ADDITION_PROMPT)
)


def page(at: str) -> str:
    """Look at a page."""
    return f"page {at} names module_{at}.py and ticket T-{at}00 " + "word " * 60


def numbered(size: int = 20) -> Any:
    """A summariser that says which of its answers this is."""
    made = iter(range(1, 10_000))
    return lambda _: f"Part {next(made)}. " + "word " * size


def played(tmp_path: Path, steps: int = 30, **options: Any) -> tuple[Scripted, Any]:
    told = Scripted(
        *(calls(f"c{n}", name="page", at=f"p{n}") for n in range(steps)),
        "done",
        summary=options.pop("summary", None) or numbered(),
    )
    options = {"compaction": SOON, "context_window": 20_000, "memory": None, **options}
    graph = agent(told, tmp_path, [page], **options)
    graph.invoke(say("look at all of them"), {**thread(), "recursion_limit": 500})
    return told, graph


def references(told: Scripted) -> list[str]:
    """The reference message of each request that had one."""
    found = [[m for m in request if m.id == REFERENCE_ID] for request in told.requests]
    return [str(messages[0].content) for messages in found if messages]


def shown(reference: str) -> str:
    return reference.partition("<conversation_summary>")[2].partition("</conversation_summary>")[0]


def test_each_reference_message_begins_as_the_one_before(tmp_path: Path) -> None:
    told, graph = played(tmp_path)
    seen = list(dict.fromkeys(references(told)))
    assert len(seen) > 4
    for before, after in pairwise(seen):
        prefix = before.partition("\n</conversation_summary>")[0]
        assert after.startswith(prefix)
    parts = graph.get_state(thread()).values["compaction"]["summary"].split("\n\n")
    assert [part.partition(".")[0] for part in parts] == [
        f"Part {n}" for n in range(1, len(seen) + 1)
    ]


def test_what_the_summary_leaves_out_stays_by_name(tmp_path: Path) -> None:
    told, graph = played(tmp_path)
    values = graph.get_state(thread()).values
    cut = Decisions.read(values, values["messages"]).cut
    seen = shown(references(told)[-1])
    gone = [f"p{n}" for n in range(30) if f"p{n}" in str(values["messages"][cut - 1].content)]
    assert gone
    assert "module_p0.py" in seen
    assert "T-p000" in seen
    assert "module_p0.py" not in values["compaction"]["summary"], "code has added it, not the model"


def test_a_full_summary_is_written_anew_and_then_added_to_again(tmp_path: Path) -> None:
    compaction = SOON.model_copy(update={"max_summary_tokens": 300, "max_names_tokens": 60})
    told, graph = played(tmp_path, 60, summary=numbered(80), compaction=compaction)
    asked = [str(request[-1].content) for request in told.asked["summary"]]
    kinds = ["add" if ADDITION in prompt else "anew" for prompt in asked]
    assert all((ADDITION in prompt) != (SUMMARY in prompt) for prompt in asked)
    assert kinds[0] == "add"
    first = kinds.index("anew")
    assert "add" in kinds[first:]
    for seen in references(told):
        assert count_text(shown(seen)) <= 300 + 60 + 8
    assert count_text(graph.get_state(thread()).values["compaction"]["summary"]) <= 300


def test_a_summary_from_before_names_were_kept_is_added_to(tmp_path: Path) -> None:
    _, graph = played(tmp_path)
    values = graph.get_state(thread()).values
    record = {key: value for key, value in values["compaction"].items() if key != "names"}
    request = project_context({**values, "compaction": record}, context_policy(graph))
    reference = next(str(m.content) for m in request if m.id == REFERENCE_ID)
    assert shown(reference).strip("\n") == record["summary"]


def test_names_go_with_a_fork_and_can_be_turned_off(tmp_path: Path) -> None:
    _, graph = played(tmp_path)
    fork_thread(graph, thread(), "copy")
    original, copy = (graph.get_state(thread(name)).values["compaction"] for name in ("t", "copy"))
    assert copy["names"] == original["names"] != []
    compaction = SOON.model_copy(update={"max_names_tokens": 0})
    told, graph = played(tmp_path / "off", compaction=compaction)
    assert graph.get_state(thread()).values["compaction"]["names"] == []
    assert "module_p0.py" not in shown(references(told)[-1])


def test_a_redactor_sees_what_is_named(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("module_p1.py", "[gone]")

    told, _ = played(tmp_path, memory=MemoryConfig(enabled=False, redact=redact))
    seen = shown(references(told)[-1])
    assert "module_p1.py" not in seen
    assert "module_p2.py" in seen


def test_a_redactor_that_came_later_holds_for_the_names_from_before(tmp_path: Path) -> None:
    _, graph = played(tmp_path, 12, summary=lambda _: "Ask Ada_9 about module_p0.py and so on.")
    record = graph.get_state(thread()).values["compaction"]
    assert "module_p1.py" in str(record["names"])

    def redact(text: str) -> str:
        return text.replace("module_p1.py", "[gone]").replace("Ada_9", "[who]")

    told = Scripted(
        *(calls(f"d{n}", name="page", at=f"q{n}") for n in range(12)), "done", summary=numbered()
    )
    later = agent(
        told,
        tmp_path,
        [page],
        compaction=SOON,
        context_window=20_000,
        memory=MemoryConfig(enabled=False, redact=redact),
        checkpointer=graph.checkpointer,
    )
    later.invoke(say("go on"), {**thread(), "recursion_limit": 500})
    record = later.get_state(thread()).values["compaction"]
    assert "Ask [who] about module_p0.py" in record["summary"]
    seen = shown(references(told)[-1])
    assert "module_q0.py" in seen
    assert "module_p2.py" in seen
    assert "module_p1.py" not in seen
    assert "Ada_9" not in seen


def named_of_evicted(page: Any, tmp_path: Path) -> str:
    """The names beside the summary of a thread whose results were all moved to files."""
    told = Scripted(
        *(calls(f"c{n}", name="page", at=f"p{n}") for n in range(12)),
        "done",
        summary=lambda _: "## Facts\n- looked",
    )
    eviction = ToolResultEvictionConfig(max_chars=2_000, preview_chars=300)
    graph = agent(told, tmp_path, [page], compaction=SOON, memory=None, eviction=eviction)
    graph.invoke(say("look at all of them"), {**thread(), "recursion_limit": 500})
    return str(graph.get_state(thread()).values["compaction"]["names"])


def test_half_of_a_secret_in_an_evicted_text_is_no_name(tmp_path: Path) -> None:
    lines = [f"MIIEowIBAAKCAQEA7bq3Zk9{n}{'x' * 38}Q" for n in range(100, 400)]
    begin, end = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))

    def page(at: str) -> str:
        """Look at a page."""
        return "\n".join([f"notes_{at}", "word " * 200, begin, *lines, end, f"after_{at}"])

    named = named_of_evicted(page, tmp_path)
    assert "notes_p0" in named
    assert "after_p0" in named
    assert "MIIE" not in named


def test_half_of_a_word_in_an_evicted_text_is_no_name(tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Look at a page."""
        hidden = ",".join(f"module_{n}_end" for n in range(10_000, 12_000))
        return f"{{'part_{at}':[{hidden}],'done_{at}':[]}}"

    named = named_of_evicted(page, tmp_path)
    assert "part_p" in named
    assert "done_p" in named
    assert "large_tool_results/" in named
    words = re.findall(r"\w*(?:module|_end)\w*", named)
    assert words
    assert all(re.fullmatch(r"module_\d{5}_end", word) for word in words)
    assert "read_file" not in named


def test_a_summary_that_no_store_takes_is_shown_as_it_is_read_back(tmp_path: Path) -> None:
    told, graph = played(tmp_path, 24, summary=lambda _: "## Facts\n- odd \ud800 page")
    request = project_context(graph.get_state(thread()).values, context_policy(graph))
    read_back = next(str(m.content) for m in request if m.id == REFERENCE_ID)
    assert references(told)[-1] == read_back


async def test_an_applications_redactor_never_runs_on_the_event_loop(tmp_path: Path) -> None:
    loop = threading.get_ident()
    seen: list[bool] = []

    def redact(text: str) -> str:
        if not seen or not seen[-1]:
            seen.append(threading.get_ident() == loop)
        return text

    told = Scripted(
        *(calls(f"c{n}", name="page", at=f"p{n}") for n in range(12)), "done", summary=numbered()
    )
    memory = MemoryConfig(enabled=False, redact=redact)
    graph = agent(told, tmp_path, [page], compaction=SOON, memory=memory)
    await graph.ainvoke(say("look at all of them"), {**thread(), "recursion_limit": 500})
    assert len(graph.get_state(thread()).values["compaction"]["names"]) > 0
    assert seen
    assert not any(seen)


async def test_it_is_the_same_asynchronously(tmp_path: Path) -> None:
    told = Scripted(
        *(calls(f"c{n}", name="page", at=f"p{n}") for n in range(30)), "done", summary=numbered()
    )
    graph = agent(told, tmp_path / "a", [page], compaction=SOON, context_window=20_000, memory=None)
    await graph.ainvoke(say("look at all of them"), {**thread(), "recursion_limit": 500})
    again, _ = played(tmp_path / "b")
    assert list(map(_contents, told.requests)) == list(map(_contents, again.requests))


def _contents(request: list[BaseMessage]) -> list[Any]:
    return [message.content for message in request]


@pytest.mark.parametrize("field", ["addition_prompt", "additionPrompt"])
def test_a_prompt_for_additions_needs_its_messages(field: str) -> None:
    wrong: Any = {field: "Add."}
    with pytest.raises(Exception, match=r"='Add\.'.*\{messages\}"):
        CompactionConfig.model_validate(wrong)
