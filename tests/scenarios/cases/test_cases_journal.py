"""Journal and state: threads that were edited, forked, reopened, or made by another graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, overflow_error, say, thread
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from longthread import MaskingConfig, context_policy, project_context
from longthread.state.journal import append_messages
from longthread.state.projection import view_context
from longthread.state.validity import violations

NODES = (
    *("recall", "eviction", "masking", "flush", "compaction", "reasoning", "tools"),
    *("overflow_retry", "consolidation"),
)


def page(at: str) -> str:
    """Return a page."""
    return f"{at} " + "lorem ipsum dolor sit amet " * 60


def huge(at: str) -> str:
    """Return a great deal."""
    return f"{at} " + "word " * 8_000


def busy() -> Scripted:
    """Return a script that meets every node."""
    return Scripted(
        calls("h", name="huge"),
        *(calls(f"c{i}", name="page") for i in range(9)),
        overflow_error(limit=5_000),
        *(calls(f"d{i}", f"e{i}", name="page") for i in range(3)),
        "done",
        facts="- A fact.",
    )


def busy_agent(script: Scripted, tmp_path: Path, **options: Any) -> Any:
    masking = MaskingConfig(turns=2)
    return agent(script, tmp_path, [page, huge], context_window=7_000, masking=masking, **options)


def dumped(graph: Any) -> tuple[str, str]:
    values = dict(graph.get_state(thread()).values)
    request = project_context(values, context_policy(graph))
    del values["messages"]
    return json.dumps([m.model_dump() for m in request]), json.dumps(values, sort_keys=True)


def test_a_thread_reopened_after_every_step_projects_the_same_bytes(tmp_path: Path) -> None:
    script, given = busy(), say("go")
    database = str(tmp_path / "threads.db")
    reopened = 0
    while True:
        with SqliteSaver.from_conn_string(database) as saver:
            graph = busy_agent(script, tmp_path, checkpointer=saver, interrupt_after=NODES)
            graph.invoke(given, thread())
            before, following = dumped(graph), graph.get_state(thread()).next
        with SqliteSaver.from_conn_string(database) as saver:
            assert dumped(busy_agent(script, tmp_path, checkpointer=saver)) == before
        given, reopened = None, reopened + 1  # type: ignore[assignment]
        if not following:
            break
    assert reopened > 30


@pytest.mark.parametrize("node", NODES)
def test_a_node_that_fails_before_each_of_its_runs_is_resumed(node: str, tmp_path: Path) -> None:
    graph = busy_agent(busy(), tmp_path)
    runnable = graph.builder.nodes[node].runnable
    steps, failures, failing = runnable.steps, 0, True

    def failing_steps(state: Any, run: Any) -> Any:
        nonlocal failures, failing
        failing = not failing
        if not failing:
            failures += 1
            raise ZeroDivisionError
        return (yield from steps(state, run))

    runnable.steps = failing_steps
    given: Any = say("go")
    for _ in range(100):
        try:
            result = graph.invoke(given, thread())
            break
        except ZeroDivisionError:
            given = None
    assert failures
    assert graph.get_state(thread()).next == ()
    assert len(result["messages"]) == 1 + 2 * 10 + 3 * 3 + 1
    assert len({m.id for m in result["messages"]}) == len(result["messages"])


def test_every_moment_of_a_thread_projects_a_valid_request_and_can_be_forked(
    tmp_path: Path,
) -> None:
    script = busy()
    graph = busy_agent(script, tmp_path)
    graph.invoke(say("go"), thread())
    history = list(graph.get_state_history(thread()))
    policy = context_policy(graph)
    for moment in history:
        messages = moment.values.get("messages", [])
        assert violations(project_context(moment.values, policy), messages) == []
    script.answers = ["another way"]
    for node in ("compaction", "masking", "eviction"):
        moment = next(m for m in reversed(history) if m.next == (node,))
        result = graph.invoke(None, moment.config)
        generation = moment.values["compaction"].get("generation", 0)
        after = graph.get_state(thread()).values["compaction"].get("generation", 0)
        assert result["messages"][-1].content == "another way"
        assert after - generation == (node == "compaction")


def test_a_fork_by_a_new_message_sees_its_own_past(tmp_path: Path) -> None:
    script = Scripted("one", "two", "other")
    graph = agent(script, tmp_path)
    graph.invoke(say("a"), thread())
    first = graph.get_state(thread()).config
    graph.invoke(say("b"), thread())
    assert contents(graph.invoke(say("c"), first)["messages"]) == ["a", "one", "c", "other"]


@pytest.mark.parametrize(
    "stale",
    [
        {"compaction": {"through": "gone", "summary": "S", "size": 999, "generation": 9}},
        {"compaction": {"through": 999, "human": 999}},
        {"masked_through": "gone", "arguments_truncated_through": "gone"},
        {"usage": {"covered": "gone", "input_tokens": 9, "estimated": 9, "evictions": 99}},
        {"evictions": {"gone": {"path": "p", "chars": 1, "preview": 2}}},
        {"overflow": {"shed_through": "gone"}},
        dict.fromkeys(("compaction", "usage", "evictions", "overflow", "memory", "rolling")),
    ],
)
def test_ids_that_are_gone_hide_nothing(stale: dict[str, Any], tmp_path: Path) -> None:
    policy = context_policy(agent(Scripted(), tmp_path))
    messages = [HumanMessage("a", id="a"), AIMessage("b", id="b"), HumanMessage("c", id="c")]
    view = view_context({"messages": messages, **stale}, policy)
    assert view.messages == messages
    assert view.tokens > 0


def test_a_thread_emptied_by_the_application_starts_over(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(20)), "done", "ok")
    graph = agent(script, tmp_path, [page], context_window=6_000)
    graph.invoke(say("go"), thread())
    assert script.asked["summary"]
    everything = RemoveMessage(id=REMOVE_ALL_MESSAGES)
    result = graph.invoke({"messages": [everything, HumanMessage("only this")]}, thread())
    assert contents(result["messages"]) == ["only this", "ok"]
    assert contents(script.requests[-1]) == ["only this"]


@pytest.mark.parametrize("place", ["below", "at", "above"])
@pytest.mark.parametrize("how", ["edit", "remove"])
def test_messages_below_at_and_above_the_cut_can_be_edited_and_removed(
    place: str, how: str, tmp_path: Path
) -> None:
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(20)), "done", "ok")
    graph = agent(script, tmp_path, [page], context_window=6_000, memory=None)
    graph.invoke(say("go"), thread())
    values = graph.get_state(thread()).values
    cut = view_context(values, context_policy(graph)).decisions.cut
    at = {"below": cut - 3, "at": cut - 1, "above": cut + 1}[place]
    victim = values["messages"][at]
    update = (
        RemoveMessage(id=victim.id)
        if how == "remove"
        else victim.model_copy(update={"content": "edited"})
    )
    graph.update_state(thread(), {"messages": [update]}, as_node="consolidation")
    result = graph.invoke(say("more"), thread())
    assert violations(script.requests[-1], result["messages"][:-1]) == []
    assert sum(len(str(m.content)) for m in script.requests[-1]) < 24_000


def test_a_thread_of_plain_add_messages_opens_goes_on_and_is_edited(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        plain = StateGraph(MessagesState)
        plain.add_node(
            "model", lambda state: {"messages": [AIMessage(f"{len(state['messages'])}")]}
        )
        plain.add_edge(START, "model")
        before: Any = plain.compile(checkpointer=saver)
        before.invoke(say("a"), thread())
        old = before.invoke(say("b"), thread())["messages"]
        graph = agent(Scripted("new"), tmp_path, checkpointer=saver)
        assert graph.get_state(thread()).values["messages"] == old
        result = graph.invoke(say("c"), thread())
        assert result["messages"][:4] == old
        removed = {"messages": [RemoveMessage(id=str(old[0].id))]}
        graph.update_state(thread(), removed, as_node="consolidation")
        assert contents(graph.invoke(say("d"), thread())["messages"])[0] == "1"


def test_an_old_thread_that_waits_before_its_tools_goes_on(tmp_path: Path) -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        plain = StateGraph(MessagesState)
        plain.add_node("model", lambda _: {"messages": [calls("z")]})
        plain.add_node("tools", lambda _: {})
        plain.add_edge(START, "model")
        plain.add_edge("model", "tools")
        waiting: Any = plain.compile(checkpointer=saver, interrupt_before=["tools"])
        waiting.invoke(say("a"), thread())
        result = agent(Scripted("new"), tmp_path, checkpointer=saver).invoke(None, thread())
        assert contents(result["messages"]) == ["a", "", "saw z", "new"]


def test_the_same_ids_in_two_threads_do_not_meet(tmp_path: Path) -> None:
    script = Scripted(AIMessage("one", id="msg_1"), AIMessage("two", id="msg_1"))
    graph = agent(script, tmp_path)
    for name in "ab":
        graph.invoke({"messages": [HumanMessage(name, id="h")]}, thread(name))
    assert contents(graph.get_state(thread("a")).values["messages"]) == ["a", "one"]
    assert contents(graph.get_state(thread("b")).values["messages"]) == ["b", "two"]


def test_writes_replayed_in_any_batches_give_the_same_journal() -> None:
    pair = ("user", "a")
    writes: list[Any] = [
        pair,
        [HumanMessage("b", id="1"), AIMessage("c", id="2")],
        RemoveMessage(id="1"),
        [{"role": "user", "content": "d"}, pair],
        AIMessage("edited", id="2"),
        [pair, pair],
    ]
    whole = append_messages(None, writes)
    for at in range(len(writes)):
        first = append_messages(None, writes[:at])
        assert append_messages(first, writes[at:]) == whole
        assert append_messages(list(first), writes[at:]) == whole


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_leaves_the_same_thread(durability: Any, tmp_path: Path) -> None:
    graph = agent(Scripted(calls("a", "b"), "done"), tmp_path)
    graph.invoke(say("go"), thread(), durability=durability)
    state = graph.get_state(thread())
    assert contents(state.values["messages"]) == ["go", "", "saw a", "saw b", "done"]
    assert state.next == ()


def test_a_thousand_steps_show_no_more_at_the_end_than_at_the_beginning(tmp_path: Path) -> None:
    sizes: list[int] = []
    count = 0

    def model(messages: list[Any]) -> AIMessage:
        nonlocal count
        count += 1
        sizes.append(len(messages))
        return calls(f"c{count}") if count < 1_000 else AIMessage("done")

    script = Scripted(model)
    graph = agent(script, tmp_path, memory=None, context_window=16_000, checkpointer=None)
    result = graph.invoke(say("go"), {"recursion_limit": 10_000})
    assert len(result["messages"]) == 2_000
    assert max(sizes[500:]) <= max(sizes[:500])
    assert 5 <= len(script.asked["summary"]) <= 40
