"""The peers play what was recorded, and their summariser is as good as ours."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.utils import get_buffer_string

from longthread.apps.replay import Session
from longthread.benchmarks.contest import Contestant, missing_peers, ours, peers
from longthread.benchmarks.peers.langchain_agent import summarization_agent
from longthread.benchmarks.peers.langmem_graph import summarization_graph
from longthread.benchmarks.peers.player import play_peer
from longthread.benchmarks.peers.stand_in import previous_and_messages
from longthread.benchmarks.sessions import generated
from longthread.benchmarks.suite.played import Case, play_all

WINDOW = 5_000


@pytest.fixture(scope="module")
def session() -> Session:
    return generated("coding", seed=3, tokens=11_000)


def prompt_of(messages: list[Any]) -> str:
    """A prompt as LangChain's middleware writes it."""
    from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT

    written: str = DEFAULT_SUMMARY_PROMPT.format(messages=get_buffer_string(messages, format="xml"))
    return written.rstrip()


def test_all_peers_are_installed_here() -> None:
    assert missing_peers() == []
    assert {"SummarizationMiddleware", "deepagents", "langmem"} <= {p.name for p in peers()}


@pytest.mark.parametrize("who", peers(all_settings=True), ids=lambda who: who.name)
def test_a_peer_plays_every_recorded_answer_and_summarises(
    who: Contestant, session: Session
) -> None:
    played = play_all(who, {"coding": [Case(session, WINDOW)]}, failures=False)
    (cost,) = played.costs["coding"]
    assert cost.compactions > 0
    assert cost.total > cost.answers > 0
    assert 0.5 < played.grounding(["coding"]) <= 1.0  # type: ignore[operator]
    assert cost.used > 0


def test_everyone_is_held_against_the_same_cost_of_sending_everything(session: Session) -> None:
    sessions = {"coding": [Case(session, WINDOW)]}
    bases = {play_all(who, sessions).costs["coding"][0].unmanaged for who in (ours(), *peers()[:1])}
    assert len(bases) == 1


def test_without_need_a_peer_sends_what_was_said_and_nothing_else(session: Session) -> None:
    said = [m for s in session.steps[:-1] for m in (*s.inputs, s.answer, *s.results)]
    said += session.steps[-1].inputs
    for build, in_state in ((summarization_agent(), False), (summarization_graph(), True)):
        played = play_peer(session, build, window=1_000_000, system_in_state=in_state)
        assert not played.summaries
        assert len(played.prompts) == len(session.steps)
        assert [m.content for m in played.prompts[-1]] == [m.content for m in said]


def test_a_peer_that_breaks_is_noted_and_not_counted(session: Session) -> None:
    def fail(session: Session, window: int) -> Any:
        raise RuntimeError("out of room")

    played = play_all(Contestant("broken", "", fail), {"coding": [Case(session, WINDOW)]})
    assert played.failed == {session.path.name: "RuntimeError: out of room"}
    assert played.ratio(["coding"]) is None


def test_the_stand_in_reads_langchains_prompt_back() -> None:
    messages = [
        HumanMessage("Here is a summary of the conversation to date:\n\n## Facts\nport < 8080"),
        HumanMessage("Is <b> & </message> in it?"),
        AIMessage("I look.", tool_calls=[{"name": "grep", "args": {"q": "<b>"}, "id": "1"}]),
        ToolMessage("2 hits in a.py & b.py", tool_call_id="1"),
        AIMessage("Yes."),
    ]
    previous, found = previous_and_messages([HumanMessage(prompt_of(messages))])
    assert previous == "## Facts\nport < 8080"
    assert [m.content for m in found] == [m.content for m in messages[1:]]
    assert found[1].tool_calls[0]["args"] == {"q": "<b>"}  # type: ignore[union-attr]


def test_the_stand_in_reads_the_summary_of_deepagents() -> None:
    from deepagents.backends import StateBackend
    from deepagents.middleware.summarization import SummarizationMiddleware

    from longthread.graphs.scripted import ScriptedModel

    middleware = SummarizationMiddleware(
        ScriptedModel(script=lambda _: ""), backend=StateBackend(), trigger=("tokens", 10)
    )
    (summary,) = middleware._build_new_messages_with_path("## Facts\nx_1 = 2", "/history/a.md")
    previous, found = previous_and_messages(
        [HumanMessage(prompt_of([summary, HumanMessage("Go on.")]))]
    )
    assert previous == "## Facts\nx_1 = 2"
    assert [m.content for m in found] == ["Go on."]


def test_the_stand_in_reads_langmems_prompt() -> None:
    said = [HumanMessage("Go on."), AIMessage("Done.")]
    first = [*said, HumanMessage("Create a summary of the conversation above:")]
    assert previous_and_messages(first) == ("", said)
    extend = (
        "This is summary of the conversation so far: ## Facts\n{x}\n\n"
        "Extend this summary by taking into account the new messages above:"
    )
    assert previous_and_messages([*said, HumanMessage(extend)]) == ("## Facts\n{x}", said)


def test_a_system_prompt_is_sent_once_by_everyone(session: Session) -> None:
    for build, in_state in ((summarization_agent(), False), (summarization_graph(), True)):
        played = play_peer(session, build, window=1_000_000, system_in_state=in_state)
        assert all(
            [isinstance(m, SystemMessage) for m in prompt] == [True] + [False] * (len(prompt) - 1)
            for prompt in played.prompts
        )
