"""Whatever happened in a thread, what is sent is valid, deterministic, and stable."""

from __future__ import annotations

import copy

from histories import POLICY, Thread, human, long_texts, steps, system, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AnyMessage, RemoveMessage

from longthread.state.decisions import Sealed
from longthread.state.projection import project_context, view_context
from longthread.state.sealing import plan_sealing, sealed_update, whole_journal
from longthread.state.validity import violations

relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
decisions = st.sampled_from(["none", "none", "evict", "mask", "compact"])


def grow(data: st.DataObject, thread: Thread) -> None:
    """Let one more thing happen."""
    kind = data.draw(st.sampled_from(["human", "human", "step", "step", "step", "step", "system"]))
    if kind == "human":
        thread.append(human(thread, data.draw(st.one_of(texts, long_texts))))
    elif kind == "system":
        thread.append(system(thread, data.draw(texts)))
    else:
        thread.append(*data.draw(steps(thread)))


def decide(thread: Thread, decision: str) -> None:
    if decision != "none":
        getattr(thread, decision)()


@relaxed
@given(st.data())
def test_every_request_is_valid_and_the_same_without_what_was_remembered(
    data: st.DataObject,
) -> None:
    thread = Thread()
    for _ in range(data.draw(st.integers(1, 14))):
        grow(data, thread)
        decide(thread, data.draw(decisions))
        request = project_context(thread.state, POLICY)
        journal = thread.state["messages"]
        assert violations(request, journal) == []
        calls_run = bool(view_context(thread.state, POLICY).body.unanswered)
        assert bool(violations(request, journal, to_send=True)) is calls_run
        from_scratch = {**thread.state, "messages": list(journal)}
        assert project_context(from_scratch, POLICY) == request
        assert project_context(thread.state, POLICY) == request


@relaxed
@given(st.data())
def test_what_requests_have_carried_is_what_adding_it_up_gives(data: st.DataObject) -> None:
    thread = Thread()
    for _ in range(data.draw(st.integers(1, 14))):
        grow(data, thread)
        decide(thread, data.draw(decisions))
        body = view_context(thread.state, POLICY).body  # extended, and sometimes made anew
        answers = [at for at, message in enumerate(body.messages) if message.type == "ai"]
        for place in range(len(body.messages) + 1):
            assert body.held(place) == sum(body.sums[min(at, place)] for at in answers)


@relaxed
@given(st.data())
def test_requests_stay_valid_when_messages_are_edited_and_removed(data: st.DataObject) -> None:
    thread = Thread()
    for _ in range(data.draw(st.integers(2, 12))):
        grow(data, thread)
        decide(thread, data.draw(decisions))
        journal = thread.state["messages"]
        if journal and data.draw(st.booleans()):
            victim = data.draw(st.sampled_from(list(journal)))
            if data.draw(st.booleans()):
                thread.append(RemoveMessage(id=str(victim.id)))
            else:
                thread.append(victim.model_copy(update={"content": data.draw(texts)}))
        request = project_context(thread.state, POLICY)
        assert violations(request, thread.state["messages"]) == []
        from_scratch = {**thread.state, "messages": list(thread.state["messages"])}
        assert project_context(from_scratch, POLICY) == request


@relaxed
@given(st.data())
def test_the_prefix_is_byte_identical_until_a_decision_changes_it(data: st.DataObject) -> None:
    thread = Thread()
    thread.append(human(thread, "begin"))
    previous = None
    for _ in range(data.draw(st.integers(2, 14))):
        if data.draw(st.booleans()):
            thread.append(human(thread, data.draw(texts)))
        else:
            thread.append(*data.draw(steps(thread)))
        thread.settle()
        thread.evict()  # new results only: nothing that has been sent is touched
        decision = data.draw(decisions)
        if decision != "evict":
            decide(thread, decision)
        request = project_context(thread.state, POLICY)
        view = view_context(thread.state, POLICY)
        thread.state = {**thread.state, "usage": view.usage_of_request(0)}
        if previous is not None and decision in ("none", "evict"):
            assert request[: len(previous)] == previous
        previous = request


@relaxed
@given(st.data())
def test_sealing_changes_neither_a_request_nor_what_it_counts(data: st.DataObject) -> None:
    thread = Thread()
    said: list[str | None] = []
    segments: list[AnyMessage] = []
    sealed: Sealed | None = None
    for _ in range(data.draw(st.integers(2, 16))):
        before = len(thread.state["messages"])
        grow(data, thread)
        said += [m.id for m in thread.state["messages"][before:]]
        decide(thread, data.draw(decisions))
        view = view_context(thread.state, POLICY)
        if data.draw(st.booleans()):
            thread.state = {**thread.state, "usage": view.usage_of_request(len(said) * 7)}
            view = view_context(thread.state, POLICY)
        if not data.draw(st.booleans()):
            continue
        plan = plan_sealing(view, sealed)
        segments += plan.messages
        sealed = Sealed(thread="t", head="h", count=len(segments), kept=plan.kept)
        thread.state = {**thread.state, **sealed_update(view, thread.state, plan, sealed)}
        after = view_context(thread.state, POLICY)
        assert after.messages == view.messages
        assert after.tokens == view.tokens
        assert after.decisions.size == view.decisions.size
        assert after.body.open_calls() == view.body.open_calls()
        whole = whole_journal(segments, thread.state["messages"], sealed)
        assert [m.id for m in whole] == said


@relaxed
@given(st.data())
def test_projecting_never_changes_the_state(data: st.DataObject) -> None:
    thread = Thread()
    for _ in range(data.draw(st.integers(1, 8))):
        grow(data, thread)
        decide(thread, data.draw(decisions))
    before = copy.deepcopy({**thread.state, "messages": list(thread.state["messages"])})
    project_context(thread.state, POLICY)
    assert {**thread.state, "messages": list(thread.state["messages"])} == before


@relaxed
@given(st.data())
def test_a_cut_hides_nothing_but_what_it_covers(data: st.DataObject) -> None:
    thread = Thread()
    thread.append(human(thread, "begin"))
    for _ in range(data.draw(st.integers(4, 12))):
        thread.append(*data.draw(steps(thread)))
        thread.settle()
    before = view_context(thread.state, POLICY)
    thread.compact()
    after = view_context(thread.state, POLICY)
    cut = after.decisions.cut
    kept = [m for m, at in zip(before.body.messages, before.body.sources, strict=True) if at >= cut]
    assert after.body.messages == kept
    covered = {m.id for m in before.journal[:cut]}
    assert not covered & {m.id for m in after.body.messages}
