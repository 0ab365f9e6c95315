"""What cannot be used as an argument is refused at once: field, value, what to do."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, say, thread
from langgraph.checkpoint.memory import InMemorySaver

from longthread import (
    CompactionConfig,
    LocalWorkspace,
    LongthreadError,
    MemoryConfig,
    RollingCompactionConfig,
    ThreadJournal,
    agent_node,
    close_thread,
    compact_thread,
    context_history,
    create_agent_graph,
    erase_thread,
    fork_thread,
    open_checkpointer,
)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 5),
        ("name", None),
        ("name", ""),
        ("checkpointer", "sqlite:///threads.db"),
        ("store", "x"),
        ("cache", "x"),
        ("response_format", 3),
        ("context_schema", 5),
        ("retry_policy", "x"),
        ("retry_policy", [1]),
        ("interrupt_before", "tools"),
        ("interrupt_before", ("tool",)),
        ("interrupt_after", 5),
        ("journal_window", True),
        ("context_window", 0),
    ],
)
def test_an_argument_that_cannot_be_used_is_named_with_its_value(
    field: str, value: Any, tmp_path: Path
) -> None:
    with pytest.raises(LongthreadError, match=f"{field}=") as caught:
        agent(Scripted(), tmp_path, **{field: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("workspace", ["", 5, b""])
def test_a_workspace_that_is_no_folder_is_refused(workspace: Any) -> None:

    with pytest.raises(LongthreadError, match="workspace"):
        create_agent_graph(Scripted().model, workspace=workspace)


@pytest.mark.parametrize("config", [MemoryConfig, CompactionConfig, RollingCompactionConfig])
@pytest.mark.parametrize("model", [{}, {"a": 1}, 5, [], object()])
def test_a_model_that_is_none_is_refused_by_its_configuration(config: Any, model: Any) -> None:
    with pytest.raises(LongthreadError, match=f"{config.__name__}.model"):
        config(model=model)


def test_every_node_may_be_stopped_before(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path, interrupt_before="*")
    graph.invoke(say("hi"), thread())
    assert graph.get_state(thread()).next == ("recall",)


@pytest.mark.parametrize("work", [compact_thread, close_thread, fork_thread])
def test_work_on_a_thread_says_what_it_lacks(work: Any, tmp_path: Path) -> None:
    rest = ("other",) if work is fork_thread else ()
    with_none = agent(Scripted("ok"), tmp_path, checkpointer=None)
    with pytest.raises(LongthreadError, match="AgentGraph has no checkpointer: compile it with"):
        work(with_none, thread(), *rest)
    configs: list[Any] = [None, {}, {"configurable": {}}]
    for config in configs:
        with pytest.raises(LongthreadError, match=r"name the thread by configurable.thread_id"):
            work(agent(Scripted("ok"), tmp_path), config, *rest)


@pytest.mark.parametrize(
    "work",
    [
        close_thread,
        compact_thread,
        context_history,
        erase_thread,
        partial(fork_thread, thread_id="x"),
    ],
)
def test_the_id_of_a_thread_alone_is_no_config(work: Any, tmp_path: Path) -> None:
    with pytest.raises(LongthreadError, match=r"config='t': pass a config, \{'configurable'"):
        work(agent(Scripted(), tmp_path), "t")


def test_a_thread_in_which_nothing_was_said_is_not_sent(tmp_path: Path) -> None:
    script = Scripted("hello")
    graph = agent(script, tmp_path, memory=None)
    with pytest.raises(LongthreadError, match=r"messages: nothing has been said.*a message"):
        graph.invoke({"messages": []}, thread())
    assert script.requests == []
    assert graph.invoke(say("hi"), thread())["messages"][-1].content == "hello"
    prompted = agent(script, tmp_path, memory=None, system_prompt="Begin.")
    assert prompted.invoke({"messages": []}, thread())["messages"][-1].content == "hello"


@pytest.mark.parametrize("field", ["input", "output", "thread"])
def test_what_should_be_a_function_of_an_agent_node_is_named(field: str, tmp_path: Path) -> None:
    functions: dict[str, Any] = {field: "no function"}
    with pytest.raises(LongthreadError, match=f"{field}='no function'"):
        agent_node(agent(Scripted(), tmp_path), **functions)


@pytest.mark.parametrize("saver", [None, "threads.db", open_checkpointer("memory://")])
def test_a_journal_of_something_that_is_no_saver_is_refused(saver: Any, tmp_path: Path) -> None:
    with pytest.raises(LongthreadError, match="checkpointer="):
        ThreadJournal(saver, workspace=tmp_path)


@pytest.mark.parametrize(
    ("method", "arguments", "named"),
    [
        ("history", {"thread_id": "t", "last_n": "2"}, "last_n='2'"),
        ("history", {"thread_id": "t", "last_n": 1.5}, "last_n=1.5"),
        ("search", {"query": None}, "query=None"),
        ("search", {"query": "q", "max_results": "3"}, "max_results='3'"),
    ],
)
def test_what_a_journal_is_asked_with_is_named(
    method: str, arguments: dict[str, Any], named: str, tmp_path: Path
) -> None:
    journal = ThreadJournal(InMemorySaver(), workspace=tmp_path)
    with pytest.raises(LongthreadError, match=re.escape(named)):
        getattr(journal, method)(**arguments)


def test_a_root_that_is_no_path_is_named() -> None:
    root: Any = 5
    with pytest.raises(LongthreadError, match="root '5' is not a path"):
        LocalWorkspace(root)
