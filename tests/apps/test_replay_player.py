"""Playing recordings through the real graph: what is sent, what it costs, what was done."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from longthread.apps.replay import (
    Replay,
    ReplayError,
    Session,
    default_window,
    play_session,
)
from longthread.apps.replay.measures import Events
from longthread.apps.replay.sessions import parse_session
from longthread.graphs.scripted import ScriptedModel
from longthread.state.body import INTERRUPTED
from longthread.state.config import CompactionConfig, MaskingConfig
from longthread.state.counting import count_message
from longthread.state.errors import ThreadBudgetError
from longthread.state.projection import view_context

USER = {"role": "user", "content": "do it"}


def said(text: Any, *calls: str, name: str = "look") -> dict[str, Any]:
    made = [{"id": c, "function": {"name": name, "arguments": '{"n": 1}'}} for c in calls]
    return {"role": "assistant", "content": text, "tool_calls": made}


def result(call: str, text: Any = "found") -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": call}


def session(*messages: dict[str, Any]) -> Session:
    return parse_session("\n".join(map(json.dumps, messages)), Path("session.jsonl"))


def words(n: int) -> str:
    return " ".join(f"word{i}" for i in range(n))


def long_session(steps: int = 40, *, size: int = 60, name: str = "look") -> Session:
    messages = [{"role": "system", "content": "You look things up."}, USER]
    for i in range(steps):
        messages += [
            said(f"step {i} on file_{i}.py", f"call{i}", name=name),
            result(f"call{i}", f"{i}: {words(size)}"),
        ]
    return session(*messages, said("done"))


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, Any]]]:
    """Every request that the player measures, as types and contents."""
    seen: list[list[tuple[str, Any]]] = []

    def watched(state: Any, policy: Any, **kwargs: Any) -> Any:
        view = view_context(state, policy, **kwargs)
        if policy.eviction is not None:
            seen.append([(m.type, m.content) for m in view.messages])
        return view

    monkeypatch.setattr("longthread.apps.replay.player.view_context", watched)
    return seen


def played(read: Session, **options: Any) -> Replay:
    return play_session(read, check=True, **options)


def test_the_model_is_sent_what_was_recorded(requests: list[Any]) -> None:
    played(
        session(
            {"role": "system", "content": "be kind"},
            USER,
            said("", "a", "b"),
            result("b", "B"),
            result("a", "A"),
            said("done"),
            {"role": "user", "content": "and then?"},
            said("nothing"),
        )
    )
    start = [("system", "be kind"), ("human", "do it")]
    step = [("ai", ""), ("tool", "A"), ("tool", "B")]
    assert requests == [
        start,
        [*start, *step],
        [*start, *step, ("ai", "done"), ("human", "and then?")],
    ]


def test_a_human_message_after_results_comes_before_the_next_request(requests: list[Any]) -> None:
    read = session(USER, said("", "a"), result("a"), {**USER, "content": "wait"}, said("ok"))
    assert len(played(read).requests) == 2
    assert requests[1] == [
        ("human", "do it"),
        ("ai", ""),
        ("tool", "found"),
        ("human", "wait"),
    ]


def test_a_call_that_a_human_message_interrupts_is_settled(requests: list[Any]) -> None:
    played(session(USER, said("", "a"), {**USER, "content": "stop"}, said("ok")))
    assert requests[1] == [
        ("human", "do it"),
        ("ai", ""),
        ("tool", INTERRUPTED),
        ("human", "stop"),
    ]


def test_a_missing_result_of_parallel_calls_is_played_as_interrupted(requests: list[Any]) -> None:
    played(session(USER, said("", "a", "b"), result("b"), said("ok")))
    assert requests[1][2:] == [("tool", INTERRUPTED), ("tool", "found")]


def test_an_answer_after_an_answer_is_a_request_without_new_input(requests: list[Any]) -> None:
    played(session(USER, said("one"), said("two"), said("three")))
    assert requests[2] == [("human", "do it"), ("ai", "one"), ("ai", "two")]


def test_an_empty_answer_is_played_and_not_shown(requests: list[Any]) -> None:
    played(session(USER, said(""), USER, said("ok")))
    assert requests[1] == [("human", "do it"), ("human", "do it")]


def test_a_final_call_without_an_answer_ends_the_session() -> None:
    replay = played(session(USER, said("", "a")))
    assert len(replay.requests) == 1


def test_a_later_system_message_reaches_the_model_as_reference(requests: list[Any]) -> None:
    note = {"role": "system", "content": "it is noon"}
    played(session(USER, said("", "a"), result("a"), note, said("ok")))
    kind, text = requests[1][-1]
    assert kind == "human"
    assert "it is noon" in text


def test_a_tool_of_any_name_and_contents_of_any_kind_are_played(requests: list[Any]) -> None:
    blocks = [{"type": "text", "text": "see"}]
    read = session(
        {"role": "user", "content": blocks},
        said(None, "a", name="read_file"),
        result("a", blocks),
        said(blocks, "b", name="mcp/odd.name"),
        result("b", None),
        said("ok"),
    )
    played(read)
    assert [content for _, content in requests[2]] == [blocks, "", blocks, blocks, ""]


def test_every_answer_and_result_keeps_its_call_id_when_ids_repeat() -> None:
    steps = [m for i in range(4) for m in (said("", "c"), result("c", str(i)))]
    replay = played(session(USER, *steps, said("ok")))
    assert len(replay.requests) == 5


def test_costs_are_those_worked_out_by_hand() -> None:
    read = session({"role": "user", "content": words(1_500)}, said("", "a"), result("a"), said("b"))
    replay = played(read)
    first, second = replay.requests
    tools = first.parts["tools"]
    human, call, found, end = (
        count_message(m)
        for m in (
            read.steps[0].inputs[0],
            read.steps[0].answer,
            read.steps[0].results[0],
            read.steps[1].answer,
        )
    )
    assert human + tools > 1_024
    assert (first.managed.tokens, first.managed.cached) == (tools + human, 0)
    assert first.managed.cost == 1.25 * (tools + human) + 5 * call
    assert second.managed.tokens == tools + human + call + found
    assert (second.managed.cached, second.managed.new) == (tools + human, call + found)
    assert second.managed.cost == 0.1 * (tools + human) + 1.25 * (call + found) + 5 * end
    assert replay.managed.cost == first.managed.cost + second.managed.cost
    assert replay.managed == replay.unmanaged
    assert replay.session.tokens == human + call + found + end


def test_a_session_that_is_not_managed_costs_what_the_unmanaged_one_costs() -> None:
    replay = played(long_session(), window=3_000, masking=None, compaction=None, eviction=None)
    assert replay.managed == replay.unmanaged
    assert replay.managed.above_window > 0
    assert replay.events == []


def test_unmanaged_requests_hold_the_whole_history_with_the_same_tools() -> None:
    read = long_session()
    replay = played(read, window=3_000)
    tools = replay.requests[0].parts["tools"]
    history = 0
    for step, request in zip(read.steps, replay.requests, strict=True):
        history += sum(map(count_message, step.inputs))
        assert request.unmanaged.tokens == tools + history
        history += count_message(step.answer) + sum(map(count_message, step.results))
    assert replay.unmanaged.above_window == sum(
        request.unmanaged.tokens > 3_000 for request in replay.requests
    )
    assert replay.unmanaged.above_window > 0


def test_compaction_keeps_every_request_within_the_window_and_is_paid_for() -> None:
    replay = played(long_session(80), window=3_000)
    events = Events.of(replay.events)
    assert replay.managed.above_window == 0
    assert events.compactions >= 1
    assert events.compaction_after < events.compaction_before
    assert len(replay.summaries) >= events.compactions
    assert replay.managed.summaries == len(replay.summaries)
    for s in replay.summaries:
        assert s.cost == pytest.approx(0.1 * s.cached + 1.25 * s.new + 5 * s.output)
    assert any(summary.cached > 0 for summary in replay.summaries)
    cost = sum(r.managed.cost for r in replay.requests) + sum(s.cost for s in replay.summaries)
    assert replay.managed.cost == pytest.approx(cost)
    assert replay.requests[-1].parts["summary"] > 0


def test_masking_at_every_step_is_counted_and_hides_tokens() -> None:
    replay = played(
        long_session(30), window=16_000, masking=MaskingConfig(batch=1), compaction=None
    )
    assert Events.of(replay.events).maskings > 10
    assert replay.requests[-1].masked > 0
    last = replay.requests[-1]
    assert last.managed.tokens + last.masked == last.unmanaged.tokens


def test_a_huge_result_is_evicted_before_the_request_that_would_show_it() -> None:
    replay = played(session(USER, said("", "a"), result("a", words(4_000)), said("ok")))
    (event,) = replay.events
    assert (event.request, event.kind) == (2, "eviction")
    assert event.facts["chars"] == len(words(4_000))
    assert replay.requests[1].evicted > 0


def test_the_same_recording_gives_the_same_figures() -> None:
    read = long_session(60)
    first, second = played(read, window=3_000), played(read, window=3_000)
    assert first.requests == second.requests
    assert first.summaries == second.summaries


def test_a_thread_that_is_stored_as_bytes_gives_the_same_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = played(long_session(60), window=3_000)
    monkeypatch.setattr("longthread.apps.replay.player.HeldAsItIs", JsonPlusSerializer)
    stored = played(long_session(60), window=3_000)
    assert held.events
    assert (held.requests, held.summaries) == (stored.requests, stored.summaries)


def test_the_default_window_is_a_quarter_of_the_session_but_at_least_16000() -> None:
    small = session(USER, said("ok"))
    assert default_window(small) == 16_000
    small.tokens = 100_000
    assert default_window(small) == 25_000
    assert played(session(USER, said("ok"))).window == 16_000


def test_a_window_that_holds_no_conversation_is_refused() -> None:
    with pytest.raises(ThreadBudgetError, match="leaves no room"):
        played(session(USER, said("ok")), window=100)


def test_a_summariser_that_raises_ends_the_replay_with_its_error() -> None:
    def refuse(_: list[BaseMessage]) -> AIMessage:
        raise ConnectionError("no route to the model")

    compaction = CompactionConfig(model=ScriptedModel(script=refuse))
    with pytest.raises(ReplayError, match="summariser failed: ConnectionError: no route"):
        played(long_session(80), window=3_000, compaction=compaction)


def test_a_summariser_of_ones_own_is_asked_and_counted() -> None:
    compaction = CompactionConfig(model=ScriptedModel(script=lambda _: "in short"))
    replay = played(long_session(80), window=3_000, compaction=compaction)
    assert {s.output for s in replay.summaries} == {count_message(AIMessage("in short"))}


def test_a_broken_rule_is_found_when_requests_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    read = session(USER, said("ok"))
    module = "longthread.apps.replay.player.violations"
    monkeypatch.setattr(module, lambda *_: ["no rule: nothing"])
    play_session(read)
    with pytest.raises(ReplayError, match="request 1 is wrong: no rule"):
        played(read)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    played(session(USER, said("", "a"), result("a", words(4_000)), said("ok")))
    assert list(tmp_path.iterdir()) == []
