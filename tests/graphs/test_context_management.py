"""Eviction, masking, compaction and overflow, each met in a running agent for its real reason."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Scripted,
    agent,
    calls,
    contents,
    look,
    nodes_run,
    overflow_error,
    refusal,
    say,
    thread,
)
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command, RetryPolicy

from longthread import (
    CompactionConfig,
    MaskingConfig,
    MemoryConfig,
    ToolResultEvictionConfig,
    context_policy,
)
from longthread.state.counting import count_message
from longthread.state.policy import ContextPolicy
from longthread.state.projection import view_context
from longthread.state.validity import violations

HUGE = "start " + "word " * 40_000 + "end"


def huge(at: str) -> str:
    """Return a great deal."""
    return f"{at} {HUGE}"


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


def events(graph: Any, given: Any, config: Any, kind: str) -> list[dict[str, Any]]:
    return [e for e in graph.stream(given, config, stream_mode="custom") if e["type"] == kind]


def steps(count: int, name: str = "page") -> list[AIMessage]:
    return [calls(f"c{i}", name=name) for i in range(count)]


# --- Eviction -------------------------------------------------------------------------------------


def test_a_huge_result_goes_to_a_file_and_can_be_read_back(tmp_path: Path) -> None:
    def read(messages: list[BaseMessage]) -> AIMessage:
        path = str(messages[-1].content).split("full text at ")[1].split(";")[0]
        call = {"name": "read_file", "args": {"path": path, "limit": 1}, "id": "r"}
        return AIMessage("", tool_calls=[call])

    script = Scripted(calls("a", name="huge"), read, "done")
    graph = agent(script, tmp_path, [huge])
    ran = nodes_run(graph, say("go"), thread())
    assert ran[:5] == ["recall", "reasoning", "tools", "eviction", "reasoning"]
    values = graph.get_state(thread()).values
    results = [m for m in values["messages"] if isinstance(m, ToolMessage)]
    assert results[0].content == f"a {HUGE}"
    shown = str(script.requests[1][-1].content)
    assert len(shown) < 5_000
    assert shown.startswith("a start")
    assert shown.endswith("end")
    files = list((tmp_path / "workspace").rglob("large_tool_results/t/a-*.txt"))
    assert [f.read_text() for f in files] == [f"a {HUGE}"]
    assert str(results[1].content).startswith("a start word word")
    assert len(str(results[1].content)) < 25_000
    assert list(values["evictions"]) == [results[0].id]  # a page read back is not evicted again


def test_a_result_is_evicted_by_its_share_of_a_small_window(tmp_path: Path) -> None:
    script = Scripted(calls("a", name="page"), "done")
    memory = MemoryConfig(tools=False, background=False)
    graph = agent(script, tmp_path, [page], context_window=1_200, memory=memory)
    assert "eviction" in nodes_run(graph, say("go"), thread())
    graph = agent(script, tmp_path, [page], context_window=64_000)
    assert "eviction" not in nodes_run(graph, say("go"), thread("u"))


def test_parallel_results_that_are_too_much_only_together_are_seen_together(tmp_path: Path) -> None:
    script = Scripted(
        *steps(4), calls(*(f"p{i}" for i in range(20)), name="page"), "done", facts="NO_REPLY"
    )
    masking, window = MaskingConfig(turns=1), 6_000
    graph = agent(script, tmp_path, [page], context_window=window, masking=masking)
    ran = nodes_run(graph, say("go"), thread())
    at = ran.index("eviction")
    assert ran[at - 2 : at + 2] == ["tools", "reasoning", "eviction", "reasoning"]
    policy = context_policy(graph)
    sizes = [_tokens(request, policy) for request in script.requests]
    assert max(sizes) <= window


def test_a_human_paste_is_evicted_like_a_result(tmp_path: Path) -> None:
    script = Scripted("ok")
    graph = agent(script, tmp_path)
    assert nodes_run(graph, say(HUGE), thread())[:2] == ["recall", "eviction"]
    assert len(str(script.requests[0][-1].content)) < 5_000
    assert graph.get_state(thread()).values["messages"][0].content == HUGE


def test_images_beside_an_evicted_text_stay(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

    def picture(at: str) -> list[dict[str, Any]]:
        """Return a long text and a picture."""
        return [{"type": "text", "text": f"{at} {HUGE}"}, image]

    script = Scripted(calls("a", name="picture"), "done")
    agent(script, tmp_path, [picture]).invoke(say("go"), thread())
    content = script.requests[1][-1].content
    assert isinstance(content, list)
    assert content[1] == image
    assert len(content[0]["text"]) < 5_000  # type: ignore[index]


def test_a_file_that_cannot_be_written_leaves_the_original_in_the_context(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Scripted(calls("a", name="huge"), "done")
    graph = agent(script, tmp_path, [huge], memory=None, context_window=200_000)
    blocked = tmp_path / "workspace/users/_default/agents/agent/large_tool_results"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("a file where a folder should be")
    with caplog.at_level(logging.WARNING, logger="longthread"):
        ran = nodes_run(graph, say("go"), thread())
    assert ran == ["recall", "reasoning", "tools", "eviction", "reasoning"]
    assert script.requests[1][-1].content == f"a {HUGE}"
    assert "stays in the context" in caplog.text


def test_the_applications_own_read_file_wins(tmp_path: Path) -> None:
    def read_file(at: str) -> str:
        """Read the application's own file."""
        return f"own {at} {HUGE}"

    script = Scripted(calls("a", name="read_file"), "done")
    graph = agent(script, tmp_path, [read_file])
    graph.invoke(say("go"), thread())
    shown = str(script.requests[1][-1].content)
    assert shown.startswith("own a")
    assert "read it with read_file_from_workspace" in shown


def test_a_reused_call_id_never_overwrites_another_result(tmp_path: Path) -> None:
    def once(at: str) -> str:
        """Return something else each time."""
        once.count += 1  # type: ignore[attr-defined]
        return f"{once.count} {HUGE}"  # type: ignore[attr-defined]

    once.count = 0  # type: ignore[attr-defined]
    graph = agent(Scripted(calls("x", name="once"), "one"), tmp_path, [once])
    graph.invoke(say("go"), thread("a"))
    graph.invoke(say("go"), thread("b"))
    texts = {f.read_text()[:2] for f in (tmp_path / "workspace").rglob("x-*.txt")}
    assert texts == {"1 ", "2 "} if once.count == 2 else {"1 "}  # type: ignore[attr-defined]


def test_old_files_are_removed_by_maintenance_and_only_if_asked(tmp_path: Path) -> None:
    folder = tmp_path / "workspace/users/_default/agents/agent/large_tool_results/old"
    folder.mkdir(parents=True)
    for days in (1, 40):
        file = folder / f"{days}.txt"
        file.write_text("text")
        past = time.time() - days * 86_400
        os.utime(file, (past, past))
    agent(Scripted(), tmp_path).invoke(say("hi"), thread())
    assert len(list(folder.iterdir())) == 2
    eviction = ToolResultEvictionConfig(retention_days=30)
    agent(Scripted(), tmp_path, eviction=eviction).invoke(say("hi"), thread())
    assert [f.name for f in folder.iterdir()] == ["1.txt"]


# --- Masking --------------------------------------------------------------------------------------


def test_batch_one_masks_all_but_the_recent_steps_at_every_step(tmp_path: Path) -> None:
    script = Scripted(*steps(6), "done")
    masking = MaskingConfig(turns=2, batch=1)
    agent(script, tmp_path, [page], masking=masking).invoke(say("go"), thread())
    for number, request in enumerate(script.requests):
        results = [m for m in request if isinstance(m, ToolMessage)]
        hidden = [m.content == "[observation masked]" for m in results]
        assert hidden == [True] * max(0, number - 2) + [False] * min(number, 2)


def test_auto_keeps_the_cached_prefix_until_moving_pays(tmp_path: Path) -> None:
    script = Scripted(*steps(30), "done")
    masking = MaskingConfig(turns=3)
    graph = agent(script, tmp_path, [page], masking=masking, compaction=None)
    moves = len(events(graph, say("go"), thread(), "masking"))
    assert 0 < moves < 10
    kept = sum(
        later[: len(earlier)] == earlier
        for earlier, later in zip(script.requests, script.requests[1:], strict=False)
    )
    assert kept == len(script.requests) - 1 - moves


def test_excluded_tools_are_never_masked(tmp_path: Path) -> None:
    script = Scripted(*steps(5), "done")
    masking = MaskingConfig(turns=1, batch=1, exclude_tools=("page",))
    agent(script, tmp_path, [page], masking=masking).invoke(say("go"), thread())
    assert not any("masked" in str(m.content) for m in script.requests[-1])


def test_pinned_results_are_never_masked_and_attachments_are_named(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

    def pinned(at: str) -> Any:
        """Return something to keep in view."""
        kept = {"pinned": True}
        done = ToolMessage("keep " * 20, tool_call_id=at, additional_kwargs=kept, name="pinned")
        return Command(update={"messages": [done]})

    def picture(at: str) -> list[dict[str, Any]]:
        """Return two pictures and a text."""
        return [image, image, {"type": "text", "text": "a picture of a cat, in colour, large"}]

    script = Scripted(calls("a", name="pinned"), calls("b", name="picture"), *steps(2), "done")
    masking = MaskingConfig(turns=1, batch=1)
    agent(script, tmp_path, [page, pinned, picture], masking=masking).invoke(say("go"), thread())
    shown = [str(m.content) for m in script.requests[-1] if isinstance(m, ToolMessage)]
    assert shown[:2] == ["keep " * 20, "[observation masked] (2 × image)"]


def test_the_placeholder_of_an_evicted_result_keeps_its_path(tmp_path: Path) -> None:
    script = Scripted(calls("a", name="huge"), *steps(3), "done")
    masking = MaskingConfig(turns=1, batch=1)
    agent(script, tmp_path, [huge, page], masking=masking).invoke(say("go"), thread())
    masked = next(str(m.content) for m in script.requests[-1] if isinstance(m, ToolMessage))
    assert masked.startswith("[observation masked] (full text at large_tool_results/t/a-")


# --- Compaction -----------------------------------------------------------------------------------


def test_a_long_call_is_compacted_and_stays_valid_and_within_the_window(tmp_path: Path) -> None:
    script = Scripted(*steps(60), "done", summary="## Intent\nRead every page.")
    graph = agent(script, tmp_path, [page], context_window=8_000, masking=None)
    found = events(graph, say("read all"), thread(), "compaction")
    assert len(found) >= 3
    assert all(e["tokens_after"] < e["tokens_before"] for e in found)
    assert [e["generation"] for e in found] == list(range(1, len(found) + 1))
    journal = graph.get_state(thread()).values["messages"]
    policy = context_policy(graph)
    for request in script.requests:
        assert violations(request, journal[: _reach(request, journal)]) == []
        assert _tokens(request, policy) <= 8_000
        assert "read all" in contents(request)
    assert len(journal) == 2 * 60 + 2
    # The summariser updates: it is shown what it wrote last time.
    assert "Read every page." in str(script.asked["summary"][1][-1].content)
    assert "(none)" in str(script.asked["summary"][0][-1].content)


def test_facts_are_extracted_from_what_is_about_to_be_summarised(tmp_path: Path) -> None:
    script = Scripted(*steps(30), "done", facts="- Fact.")
    graph = agent(script, tmp_path, [page], context_window=8_000)
    ran = nodes_run(graph, say("go"), thread())
    first = ran.index("compaction")
    assert ran[first - 1] == "flush"
    ran = nodes_run(
        agent(
            script,
            tmp_path,
            [page],
            context_window=8_000,
            compaction=CompactionConfig(flush_before_compact=False),
        ),
        say("go"),
        thread("u"),
    )
    assert "flush" not in ran[:-1]


def test_fifty_short_messages_that_all_fit_are_not_compacted(tmp_path: Path) -> None:
    script = Scripted(*steps(80, "look"), "done")
    graph = agent(script, tmp_path)
    assert "compaction" not in nodes_run(graph, say("go"), thread())
    assert script.asked["summary"] == []


@pytest.mark.parametrize(
    "summary",
    [
        "",
        " \n ",
        "word " * 30_000,
        RuntimeError("the summariser is ill"),
        AIMessage("cut off", response_metadata={"finish_reason": "content_filter"}),
    ],
    ids=["blank", "spaces", "inflated", "error", "filtered"],
)
def test_a_summary_that_cannot_be_used_changes_nothing(
    summary: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compaction = CompactionConfig(trigger_messages=40, keep_tokens=0, keep_messages=20)
    compaction = compaction.model_copy(update={"max_summary_tokens": 64_000})
    script = Scripted(*steps(40, "look"), "done", summary=summary)
    graph = agent(script, tmp_path, compaction=compaction, context_window=1_000_000)
    with caplog.at_level(logging.WARNING, logger="longthread"):
        graph.invoke(say("go"), thread())
    values = graph.get_state(thread()).values
    assert "summary" not in values["compaction"]
    assert len(script.requests[-1]) == 81  # nothing is hidden
    # It was due at 21 steps: three attempts, then one for each tenth that the conversation grew.
    assert 4 <= len(script.asked["summary"]) <= 12
    assert values["compaction"]["failures"] >= 3
    assert caplog.text.count("times in a row") == 1


def test_cancelling_a_summary_leaves_the_thread_as_it_was(tmp_path: Path) -> None:
    def cancelled(messages: list[BaseMessage]) -> AIMessage:
        raise KeyboardInterrupt

    script = Scripted(*steps(40), "done", summary=cancelled)
    graph = agent(script, tmp_path, [page], context_window=8_000)
    with pytest.raises(KeyboardInterrupt):
        graph.invoke(say("go"), thread())
    state = graph.get_state(thread())
    assert state.next == ("compaction",)
    assert state.values["compaction"] == {}
    script.side["summary"] = "## Intent\nGo on."
    assert graph.invoke(None, thread())["messages"][-1].content == "done"


def test_tokens_of_auxiliary_calls_never_reach_the_users_stream(tmp_path: Path) -> None:
    script = Scripted(*steps(30), "the answer", summary="SECRET SUMMARY", facts="- SECRET FACT")
    graph = agent(script, tmp_path, [page], context_window=8_000)
    streamed = [
        str(message.content)
        for message, _ in graph.stream(say("go"), thread(), stream_mode="messages")
    ]
    assert script.asked["summary"]
    assert script.asked["facts"]
    assert "the answer" in streamed
    assert not any("SECRET" in text for text in streamed)


def test_the_newest_question_is_in_every_request(tmp_path: Path) -> None:
    script = Scripted(*steps(50), "done")
    graph = agent(script, tmp_path, [page], context_window=8_000)
    graph.invoke(say("the one question"), thread())
    assert script.asked["summary"]
    assert all("the one question" in contents(request) for request in script.requests)


# --- Overflow -------------------------------------------------------------------------------------


def test_an_overflow_is_answered_by_one_forced_compaction_and_a_retry(tmp_path: Path) -> None:
    script = Scripted(*steps(8), overflow_error(limit=4_000), "done")
    graph = agent(script, tmp_path, [page])
    ran = nodes_run(graph, say("go"), thread())
    at = ran.index("overflow_retry")
    assert ran[at - 1 : at + 4] == [
        "reasoning",
        "overflow_retry",
        "flush",
        "compaction",
        "reasoning",
    ]
    failed, retried = script.requests[-2:]
    policy = context_policy(graph)
    assert _tokens(retried, policy) < _tokens(failed, policy)
    values = graph.get_state(thread()).values
    assert values["messages"][-1].content == "done"
    assert values["overflow"] == {"limit": 4_000}  # learned for the rest of the thread
    assert view_context(values, policy).window == 4_000


def test_a_second_overflow_is_the_providers_error_and_the_thread_resumes(tmp_path: Path) -> None:
    script = Scripted(*steps(8), overflow_error(), overflow_error(), "done")
    graph = agent(script, tmp_path, [page])
    with pytest.raises(type(overflow_error())):
        graph.invoke(say("go"), thread())
    state = graph.get_state(thread())
    assert state.next == ("reasoning",)
    assert len(state.values["messages"]) == 17
    result = graph.invoke(None, thread())
    assert result["messages"][-1].content == "done"


def test_the_next_call_after_a_raised_overflow_has_its_own_retry(tmp_path: Path) -> None:
    script = Scripted(*steps(8), overflow_error(), overflow_error(), overflow_error(), "done")
    graph = agent(script, tmp_path, [page])
    with pytest.raises(type(overflow_error())):
        graph.invoke(say("go"), thread())
    assert graph.invoke(say("again"), thread())["messages"][-1].content == "done"


def test_recovery_does_not_depend_on_the_summariser(tmp_path: Path) -> None:
    script = Scripted(*steps(8), overflow_error(), "done", summary=RuntimeError("down"))
    graph = agent(script, tmp_path, [page])
    result = graph.invoke(say("go on about src/app.py"), thread())
    assert result["messages"][-1].content == "done"
    assert "src/app.py" in graph.get_state(thread()).values["compaction"]["summary"]


def test_without_compaction_an_overflow_is_the_callers(tmp_path: Path) -> None:
    for compaction in (None, CompactionConfig(enabled=False)):
        script = Scripted(overflow_error())
        graph = agent(script, tmp_path, compaction=compaction)
        with pytest.raises(type(overflow_error())):
            graph.invoke(say("go"), thread())
        assert len(script.requests) == 1


def test_a_limit_that_is_not_named_is_learned_from_what_was_refused(tmp_path: Path) -> None:
    script = Scripted(
        *steps(8), refusal("prompt is too long", code="context_length_exceeded"), "ok"
    )
    graph = agent(script, tmp_path, [page])
    graph.invoke(say("go"), thread())
    values = graph.get_state(thread()).values
    policy = context_policy(graph)
    assert values["overflow"]["limit"] == pytest.approx(
        _tokens(script.requests[-2], policy), rel=0.1
    )
    assert _tokens(script.requests[-1], policy) < _tokens(script.requests[-2], policy)


def test_an_answer_that_reserves_too_much_is_asked_for_again_with_less(tmp_path: Path) -> None:
    budget = refusal(
        "This model's maximum context length is 8192 tokens. However, you requested 8256 tokens "
        "(64 in the messages, 8192 in the completion). Please reduce the length of the messages or "
        "completion.",
        code="context_length_exceeded",
    )
    script = Scripted(budget, "done")
    graph = agent(script, tmp_path, context_window=8_192)
    assert "compaction" not in nodes_run(graph, say("go"), thread())
    values = graph.get_state(thread()).values
    assert values["overflow"]["reserve"] == 1_024, "what the budget has kept free all the time"
    assert script.settings[1]["max_tokens"] == values["overflow"]["reserve"]
    assert values["messages"][-1].content == "done"


def test_a_request_too_big_in_bytes_leaves_old_attachments_out(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    too_big = refusal("Request payload size exceeds the limit: 20971520 bytes.", status=400)
    script = Scripted(calls("a"), too_big, "done")
    graph = agent(script, tmp_path)
    asked = [{"type": "text", "text": "what is this?"}, image]
    graph.invoke({"messages": [{"role": "user", "content": asked}]}, thread())
    refused, retried = script.requests[-2:]
    assert image in refused[0].content
    assert image not in retried[0].content
    assert "what is this?" in str(retried[0].content)
    assert graph.get_state(thread()).values["messages"][0].content == asked


def test_a_kept_tail_that_is_too_big_alone_loses_its_largest_results(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b", name="page"), overflow_error(limit=1_200), "done")
    graph = agent(script, tmp_path, [page], memory=MemoryConfig(tools=False, background=False))
    ran = nodes_run(graph, say("go"), thread())
    at = ran.index("overflow_retry")
    assert ran[at : at + 5] == ["overflow_retry", "eviction", "flush", "compaction", "reasoning"]
    assert graph.get_state(thread()).values["messages"][-1].content == "done"
    assert _tokens(script.requests[-1], context_policy(graph)) < 1_200


def test_huge_arguments_in_the_last_step_do_not_take_the_request_above_the_window(
    tmp_path: Path,
) -> None:
    def write(at: str, text: str) -> str:
        """Write a file."""
        return f"wrote {len(text)} characters"

    script = Scripted(calls("a", name="write", text="word " * 9_000), "done")
    graph = agent(script, tmp_path, [write], context_window=8_000)
    graph.invoke(say("go"), thread())
    assert max(_tokens(request, context_policy(graph)) for request in script.requests) < 8_000
    call = script.requests[-1][1]
    assert isinstance(call, AIMessage)
    assert call.tool_calls[0]["args"]["text"].endswith("... [truncated] ...")
    kept = graph.get_state(thread()).values["messages"][1]
    assert len(kept.tool_calls[0]["args"]["text"]) == 45_000


def test_what_cannot_shrink_is_raised_at_once_with_its_sizes(tmp_path: Path) -> None:
    script = Scripted(overflow_error(limit=100), "done")
    graph = agent(script, tmp_path)
    with pytest.raises(type(overflow_error())) as caught:
        graph.invoke(say("go"), thread())
    assert len(script.requests) == 1
    notes = "".join(caught.value.__notes__)
    assert "the request took about" in notes
    assert "tools" in notes


def test_an_overflow_that_comes_as_an_answer_is_an_overflow(tmp_path: Path) -> None:
    silent = AIMessage("cut", response_metadata={"stop_reason": "model_context_window_exceeded"})
    script = Scripted(*steps(8), silent, "done")
    graph = agent(script, tmp_path, [page])
    assert "overflow_retry" in nodes_run(graph, say("go"), thread())
    assert "cut" not in contents(graph.get_state(thread()).values["messages"])


def test_a_retry_policy_retries_errors_but_never_an_overflow(tmp_path: Path) -> None:
    retry = RetryPolicy(initial_interval=0.0, jitter=False, max_attempts=3)
    script = Scripted(ConnectionError("lost"), "done")
    graph = agent(script, tmp_path, retry_policy=retry)
    assert graph.invoke(say("go"), thread())["messages"][-1].content == "done"
    script = Scripted(overflow_error())
    with pytest.raises(type(overflow_error())):
        agent(script, tmp_path, retry_policy=retry, compaction=None).invoke(say("go"), thread())
    assert len(script.requests) == 1


def test_usage_of_the_provider_is_the_baseline_of_the_estimate(tmp_path: Path) -> None:
    def counted(messages: list[BaseMessage]) -> AIMessage:
        usage = {"input_tokens": 10_000, "output_tokens": 5, "total_tokens": 10_005}
        return AIMessage("counted", usage_metadata=usage)

    graph = agent(Scripted(counted), tmp_path, memory=MemoryConfig(hooks=False))
    graph.invoke(say("hi"), thread())
    view = view_context(graph.get_state(thread()).values, context_policy(graph))
    assert view.usage["input_tokens"] == 10_000
    assert 10_000 < view.tokens < 10_200


def test_everything_off_sends_the_journal_as_it_is(tmp_path: Path) -> None:
    script = Scripted(calls("a", name="huge"), *steps(30, "look"), "done")
    graph = agent(
        script, tmp_path, [huge, look], memory=None, compaction=None, masking=None, eviction=None
    )
    result = graph.invoke(say("go"), thread())
    assert script.requests[-1] == result["messages"][:-1]


def test_eviction_off_has_no_tool_to_read_files(tmp_path: Path) -> None:
    graph = agent(Scripted(), tmp_path, [], eviction=None, memory=None)
    assert context_policy(graph).tools == ()
    named = ToolResultEvictionConfig(exclude_tools=("keep",))
    policy = context_policy(agent(Scripted(), tmp_path, eviction=named))
    assert policy.eviction is not None
    assert set(policy.eviction.exclude_tools) == {"keep", "read_file"}


def _tokens(request: list[BaseMessage], policy: ContextPolicy) -> int:
    return policy.tools_tokens + sum(count_message(m) for m in request)


def _reach(request: list[BaseMessage], journal: list[Any]) -> int:
    """How much of the journal there was when this was requested."""
    ids = {m.id for m in request}
    return max(at for at, m in enumerate(journal) if m.id in ids) + 1
