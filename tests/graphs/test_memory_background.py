"""Memory work after the answer: it delays nothing, leaks nothing, and is done in the end."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, agent, calls, nodes_run, say, thread
from langchain_core.callbacks import UsageMetadataCallbackHandler, get_usage_metadata_callback
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from longthread import CompactionConfig, MemoryConfig, adrain, drain
from longthread.nodes.end_of_call import config_for_later
from longthread.stores.memory.ledger import read_entries

HOME = "workspace/users/_default/agents/agent"
USAGE: Any = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}


def ledger(tmp_path: Path, home: str = HOME) -> str:
    return "".join(f.read_text() for f in sorted((tmp_path / home / "memory").glob("*.md")))


class Held:
    """An extraction that waits until it may answer."""

    def __init__(self, answer: str = "- A fact.") -> None:
        self.answer = answer
        self.may = threading.Event()
        self.asked = threading.Event()

    def __call__(self, messages: list[BaseMessage]) -> AIMessage:
        self.asked.set()
        assert self.may.wait(60)
        return AIMessage(self.answer, usage_metadata=USAGE, response_metadata={"model_name": "m"})


def test_background_is_the_default() -> None:
    assert MemoryConfig().background


def test_the_answer_does_not_wait_for_the_extraction(tmp_path: Path) -> None:
    held = Held()
    graph = agent(Scripted("ok", facts=held), tmp_path, memory=MemoryConfig())
    assert nodes_run(graph, say("hi"), thread()) == ["recall", "reasoning", "flush"]
    assert ledger(tmp_path) == ""
    assert not drain(0.01)
    held.may.set()
    assert drain()
    assert "- A fact." in ledger(tmp_path)
    memory = (tmp_path / HOME / "MEMORY.md").read_text()
    assert memory.startswith("- A fact.")  # maintenance came after it


async def test_nor_does_the_asynchronous_one(tmp_path: Path) -> None:
    held = Held()
    graph = agent(Scripted("ok", facts=held), tmp_path, memory=MemoryConfig())
    result = await graph.ainvoke(say("hi"), thread())
    assert result["messages"][-1].content == "ok"
    assert ledger(tmp_path) == ""
    held.may.set()
    assert await adrain()
    assert "- A fact." in ledger(tmp_path)


def test_what_an_event_loop_left_is_done_after_it_has_ended(tmp_path: Path) -> None:
    held = Held()
    graph = agent(Scripted("ok", facts=held), tmp_path, memory=MemoryConfig())
    asyncio.run(graph.ainvoke(say("hi"), thread()))
    held.may.set()
    assert drain()
    assert "- A fact." in ledger(tmp_path)


def test_inline_work_is_done_before_the_call_returns(tmp_path: Path) -> None:
    graph = agent(
        Scripted("ok", facts="- A fact."), tmp_path, memory=MemoryConfig(background=False)
    )
    ran = nodes_run(graph, say("hi"), thread())
    assert ran == ["recall", "reasoning", "flush", "consolidation"]
    assert "- A fact." in ledger(tmp_path)


def test_nothing_of_it_appears_in_the_users_stream_or_accounts(tmp_path: Path) -> None:
    held = Held()
    script = Scripted("answer", facts=held, memory="- A fact.")
    graph = agent(script, tmp_path, memory=MemoryConfig(consolidation_min_gap=timedelta(0)))
    mine = UsageMetadataCallbackHandler()
    chunks = []
    with get_usage_metadata_callback() as context:
        config: Any = {**thread(), "callbacks": [mine]}
        for chunk in graph.stream(say("hi"), config, stream_mode=["messages", "custom", "debug"]):
            chunks.append(chunk)
            if held.asked.is_set():
                held.may.set()
        held.may.set()
        assert drain()
    assert "- A fact." in ledger(tmp_path)
    texts = [chunk[0].content for mode, chunk in chunks if mode == "messages"]
    assert texts == ["answer"]
    assert [chunk for mode, chunk in chunks if mode == "custom"] == []
    assert mine.usage_metadata == context.usage_metadata == {}


def test_calls_that_come_faster_than_the_model_are_extracted_together(tmp_path: Path) -> None:
    held = Held("NO_REPLY")
    script = Scripted("ok", facts=held)
    graph = agent(script, tmp_path, memory=MemoryConfig())
    graph.invoke(say("words 0"), thread())
    assert held.asked.wait(60)
    for n in range(1, 6):
        graph.invoke(say(f"words {n}"), thread())
    graph.invoke(say("elsewhere"), thread("other"))
    held.may.set()
    assert drain()
    asked = [str(request[-1].content) for request in script.asked["facts"]]
    said = [[n for n in range(6) if f"words {n}" in text] for text in asked]
    assert said == [[0], [1, 2, 3, 4, 5], []]
    assert "elsewhere" in asked[2]


def test_a_fork_does_not_push_out_what_the_other_branch_has_said(tmp_path: Path) -> None:
    held = Held("NO_REPLY")
    script = Scripted("ok", facts=held)
    graph = agent(script, tmp_path, memory=MemoryConfig())
    graph.invoke(say("start"), thread())
    assert held.asked.wait(60)
    before = graph.get_state(thread()).config
    graph.invoke(say("one way"), before)
    graph.invoke(say("the other way"), before)
    held.may.set()
    assert drain()
    text = "".join(str(request[-1].content) for request in script.asked["facts"])
    assert text.count("one way") == text.count("the other way") == text.count("start") == 1


def test_a_failure_is_logged_and_made_up_for_by_the_next_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    script = Scripted("ok", facts=RuntimeError("out of order"))
    graph = agent(script, tmp_path, memory=MemoryConfig())
    with caplog.at_level(logging.WARNING, logger="longthread"):
        assert graph.invoke(say("first"), thread())["messages"][-1].content == "ok"
        assert drain()
    assert "nothing was added to the ledger: out of order" in caplog.text
    script.side["facts"] = "- A fact."
    graph.invoke(say("second"), thread())
    assert drain()
    assert "first" in str(script.asked["facts"][-1][-1].content)
    assert len(read_entries(ledger(tmp_path))) == 1


def test_what_a_call_leaves_belongs_to_whom_it_was_for(tmp_path: Path) -> None:
    graph = agent(Scripted("ok", facts="- A fact."), tmp_path, memory=MemoryConfig())
    for user, zone in (("ann", "Pacific/Kiritimati"), ("ben", "Pacific/Niue")):
        context = {"user_id": user, "agent": "helper", "timezone": zone}
        graph.invoke(say("hi"), thread(f"thread of {user}"), context=context)
    assert drain()
    users = tmp_path / "workspace/users"
    [ann], [ben] = ((users / u / "agents/helper/memory").glob("*.md") for u in ("ann", "ben"))
    assert ann.stem > ben.stem  # a day and an hour apart
    assert not (users / "_default").exists()


def test_before_a_compaction_the_extraction_is_waited_for(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{n}") for n in range(6)), "done", facts="- A fact.")
    compaction = CompactionConfig(
        trigger_messages=6, keep_tokens=0, keep_messages=2, min_progress=0.05
    )
    graph = agent(script, tmp_path, memory=MemoryConfig(), compaction=compaction)
    events = []
    for event in graph.stream(say("go " * 200), thread(), stream_mode="custom"):
        if event["type"] == "compaction":
            assert ledger(tmp_path).count("- A fact.") == 1  # what goes has been read
        events.append(event["type"])
    assert events[:2] == ["flush", "compaction"]
    assert drain()


def test_the_configuration_that_outlives_a_run_has_nothing_of_the_run() -> None:
    later = config_for_later(
        {
            "callbacks": [UsageMetadataCallbackHandler()],
            "configurable": {
                "thread_id": "t",
                "model": "m",
                "__pregel_send": 1,
                "checkpoint_ns": "",
            },
            "metadata": {"langgraph_node": "flush", "tenant": "x"},
            "tags": ["mine"],
        }
    )
    assert later == {
        "configurable": {"thread_id": "t", "model": "m"},
        "metadata": {"tenant": "x"},
    }


EXITS = """
import sys
sys.path.insert(0, sys.argv[1])
from agents import Scripted, say, thread
from longthread import create_agent_graph
from langgraph.checkpoint.memory import InMemorySaver
import time

def facts(messages):
    time.sleep(0.3)
    return "- Said right before the end."

graph = create_agent_graph(
    Scripted("ok", facts=facts).model, workspace="workspace", checkpointer=InMemorySaver()
)
print(graph.invoke(say("remember this"), thread())["messages"][-1].content)
"""


def test_a_script_that_ends_right_after_its_call_has_its_facts_in_the_ledger(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.py").write_text(EXITS)
    support = Path(__file__).parents[1] / "support"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "script.py", str(support)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ok\n", "")
    assert "- Said right before the end." in ledger(tmp_path)
    assert (tmp_path / HOME / "MEMORY.md").exists()  # maintenance had its turn too


def test_a_thread_that_resumes_elsewhere_makes_up_for_what_was_never_done(tmp_path: Path) -> None:
    """A process that died before its worker had a turn: the cursor says what is missing."""
    saver = InMemorySaver()
    script = Scripted("ok", facts=RuntimeError("killed"))
    agent(script, tmp_path, checkpointer=saver).invoke(say("never extracted"), thread())
    again = Scripted("ok", facts="- A fact.")
    agent(again, tmp_path, checkpointer=saver, memory=MemoryConfig()).invoke(say("more"), thread())
    assert drain()
    assert "never extracted" in str(again.asked["facts"][0][-1].content)
