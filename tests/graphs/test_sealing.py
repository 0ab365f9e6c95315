"""A very long journal: its summarised part is sealed, and nothing else changes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, contents, nodes_run, say, thread
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from longthread import CompactionConfig, context_policy, project_context
from longthread.graphs.compiled import AgentGraph
from longthread.state.errors import ConfigurationError, WorkspaceError
from longthread.state.projection import view_context
from longthread.state.sealing import whole_journal
from longthread.stores import LocalWorkspace, Owner
from longthread.stores.segments import read_segments

SOON = CompactionConfig(trigger_messages=8, keep_messages=2, keep_tokens=0, min_progress=0.05)


def small(script: Scripted, tmp_path: Path, **options: Any) -> AgentGraph:
    """An agent that compacts every few messages and seals every few more."""
    options = {"memory": None, "compaction": SOON, "journal_window": 12, **options}
    return agent(script, tmp_path, **options)


def whole(graph: AgentGraph, tmp_path: Path, name: str = "t") -> list[BaseMessage]:
    """Segments and live messages, read as one."""
    values = graph.get_state(thread(name)).values
    if not values.get("sealed"):
        return list(values["messages"])
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))
    segments = read_segments(files, values["sealed"])
    return list(whole_journal(segments, values["messages"], values["sealed"]))


def talk(graph: AgentGraph, turns: int, name: str = "t") -> None:
    for turn in range(turns):
        graph.invoke(say(f"question {turn}"), thread(name))


def test_nothing_that_was_said_is_lost_or_moved(tmp_path: Path) -> None:
    script = Scripted(lambda m: f"answer to {m[-1].content}")
    graph = small(script, tmp_path)
    talk(graph, 60)
    values = graph.get_state(thread()).values
    assert len(values["messages"]) <= 12 + 2
    assert values["sealed"]["count"] > 60
    expected = [t for n in range(60) for t in (f"question {n}", f"answer to question {n}")]
    assert contents(whole(graph, tmp_path)) == expected
    ids = [m.id for m in whole(graph, tmp_path)]
    assert len(set(ids)) == len(ids)


def test_the_projection_does_not_change_by_a_byte(tmp_path: Path) -> None:
    said: list[list[Any]] = []
    for window in (12, None):
        script = Scripted(lambda m: f"answer to {m[-1].content}")
        graph = small(script, tmp_path / str(window), journal_window=window, system_prompt="Be.")
        talk(graph, 40)
        said.append([[m.content for m in request] for request in script.requests])
    assert said[0] == said[1]


def test_a_sealed_step_keeps_the_providers_count(tmp_path: Path) -> None:
    def counted(messages: list[BaseMessage]) -> AIMessage:
        usage = {"input_tokens": 1_000 + len(messages), "output_tokens": 1, "total_tokens": 1_002}
        return AIMessage("ok", usage_metadata=usage)

    graph = small(Scripted(counted), tmp_path, context_window=100_000)
    ran: list[str] = []
    for turn in range(30):
        ran = nodes_run(graph, say(f"question {turn}"), thread())
        if "seal" in ran:
            break
    assert "seal" in ran
    before = next(s.values for s in graph.get_state_history(thread()) if s.next == ("seal",))
    after = next(
        s.values
        for s in graph.get_state_history(thread())
        if s.values.get("sealed") and s.next == ("reasoning",)
    )

    policy = context_policy(graph)
    assert view_context(before, policy).tokens == view_context(after, policy).tokens
    assert project_context(before, policy) == project_context(after, policy)


def test_the_question_behind_a_long_run_of_tools_stays_in_every_request(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{n}") for n in range(40)), "done")
    graph = small(script, tmp_path, system_prompt="Be kind.")
    graph.invoke(
        {"messages": [SystemMessage("Lead."), HumanMessage("the question")]},
        {**thread(), "recursion_limit": 500},
    )
    graph.invoke(say("and now?"), thread())
    request = contents(script.requests[-1])
    assert request[0] == "Be kind.\n\nLead."
    assert graph.get_state(thread()).values["sealed"]["count"] > 12
    texts = contents(whole(graph, tmp_path))
    assert texts[:2] == ["Lead.", "the question"]
    assert texts.count("the question") == 1
    graph.invoke(say("and then?"), thread())
    assert contents(script.requests[-1])[0] == "Be kind.\n\nLead."


def test_what_is_sent_again_after_it_was_sealed_is_recognised(tmp_path: Path) -> None:
    script = Scripted(lambda m: f"answer to {m[-1].content}")
    graph = small(script, tmp_path)
    for turn in range(20):
        message = HumanMessage(f"question {turn}", id=f"q{turn}")
        graph.invoke({"messages": [message]}, thread())
    assert graph.get_state(thread()).values["sealed"]["count"] > 4
    everything = whole(graph, tmp_path)
    graph.invoke({"messages": [*everything, HumanMessage("new", id="new")]}, thread())
    assert [m.id for m in whole(graph, tmp_path)][:-1] == [*(m.id for m in everything), "new"]
    graph.invoke({"messages": [everything[0], HumanMessage("newer")]}, thread())
    texts = contents(whole(graph, tmp_path))
    assert texts.count("question 0") == 1
    assert texts[-2:] == ["newer", "answer to newer"]


def test_the_same_words_said_again_are_said_again(tmp_path: Path) -> None:
    graph = small(Scripted("ok"), tmp_path)
    for _ in range(30):
        graph.invoke(say("hi"), thread())
    assert contents(whole(graph, tmp_path)) == ["hi", "ok"] * 30


def test_branches_share_what_was_sealed_before_they_parted(tmp_path: Path) -> None:
    graph = small(Scripted(lambda m: f"answer to {m[-1].content}"), tmp_path)
    talk(graph, 15)
    fork = graph.get_state(thread()).config
    before_any = list(graph.get_state_history(thread()))[-1].config
    talk(graph, 15)
    main = contents(whole(graph, tmp_path))
    graph.invoke(say("elsewhere"), fork)
    other = contents(whole(graph, tmp_path))
    assert other[:30] == main[:30]
    assert other[30:] == ["elsewhere", "answer to elsewhere"]
    for turn in range(20):
        graph.invoke(say(f"branch {turn}"), thread())
    grown = contents(whole(graph, tmp_path))
    assert grown[:32] == other
    assert len(grown) == 72
    graph.invoke(say("from the start"), before_any)
    assert contents(whole(graph, tmp_path))[-2:] == ["from the start", "answer to from the start"]


def test_a_segment_that_cannot_be_written_costs_nothing_but_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any) -> None:
        raise WorkspaceError("no space left on device")

    monkeypatch.setattr("longthread.nodes.seal.write_segment", full)
    graph = small(Scripted("ok"), tmp_path)
    with caplog.at_level(logging.WARNING):
        talk(graph, 12)
    assert "not sealed: no space left" in caplog.text
    assert len(graph.get_state(thread()).values["messages"]) == 24
    assert not graph.get_state(thread()).values.get("sealed")


class Dying(InMemorySaver):
    """Dies once, when the record of a new segment is to be stored."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when

    def put_writes(self, config: Any, writes: Any, *args: Any) -> None:
        """Store what a task has written."""
        self._die("put_writes", (name for name, _ in writes))
        super().put_writes(config, writes, *args)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint."""
        self._die("put", new_versions)
        return super().put(config, checkpoint, metadata, new_versions)

    def _die(self, where: str, names: Any) -> None:
        if where == self.when and "sealed" in names:
            self.when = "never again"
            raise OSError("the power is gone")


@pytest.mark.parametrize("when", ["put_writes", "put"])
def test_a_crash_between_the_segment_and_the_state_loses_and_doubles_nothing(
    when: str, tmp_path: Path
) -> None:
    script = Scripted(lambda m: f"answer to {m[-1].content}")
    graph = small(script, tmp_path, checkpointer=Dying(when))
    with pytest.raises(OSError, match="power"):
        talk(graph, 30)
    asked = len(contents(whole(graph, tmp_path))[::2])
    files = LocalWorkspace(tmp_path / "workspace").scoped(Owner(None, "agent"))
    [segment] = files.list_json("segments/t")
    graph.invoke(None, thread())
    assert files.list_json("segments/t") == [segment]
    assert graph.get_state(thread()).values["sealed"]["head"] == segment.rpartition("/")[2]
    for turn in range(asked, 30):
        graph.invoke(say(f"question {turn}"), thread())
    expected = [t for n in range(30) for t in (f"question {n}", f"answer to question {n}")]
    assert contents(whole(graph, tmp_path)) == expected


def test_a_missing_segment_is_named_and_the_thread_goes_on(tmp_path: Path) -> None:
    graph = small(Scripted("ok"), tmp_path)
    talk(graph, 20)
    segments = list((tmp_path / "workspace").rglob("segments/**/*.json"))
    assert segments
    for segment in segments:
        segment.unlink()
    with pytest.raises(WorkspaceError, match=r"segment \w+ of thread 't' cannot be read"):
        whole(graph, tmp_path)
    assert graph.invoke(say("still there?"), thread())["messages"][-1].content == "ok"


def test_without_a_window_nothing_is_sealed(tmp_path: Path) -> None:
    graph = small(Scripted("ok"), tmp_path, journal_window=None)
    talk(graph, 20)
    assert len(graph.get_state(thread()).values["messages"]) == 40


@pytest.mark.parametrize("window", [0, -1, True, 2.5, "many"])
def test_a_window_that_is_no_number_of_messages_is_refused(window: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="journal_window="):
        small(Scripted(), tmp_path, journal_window=window)


async def test_asynchronous_calls_seal_too(tmp_path: Path) -> None:
    graph = small(Scripted("ok"), tmp_path, checkpointer=InMemorySaver())
    for turn in range(20):
        await graph.ainvoke(say(f"question {turn}"), thread())
    assert len(whole(graph, tmp_path)) == 40
    assert graph.get_state(thread()).values["sealed"]["count"] > 8
