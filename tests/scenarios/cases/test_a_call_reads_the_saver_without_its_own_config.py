"""The saver is asked for what is unfinished only under a config that names a thread."""

from pathlib import Path

import pytest
from agents import Scripted, agent, contents, say


def test_a_bound_config_names_the_thread(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path).with_config(configurable={"thread_id": "t"})
    assert contents(graph.invoke(say("hi"))["messages"]) == ["hi", "ok"]


async def test_a_call_without_a_thread_says_so(tmp_path: Path) -> None:
    graph = agent(Scripted("ok"), tmp_path)
    with pytest.raises(ValueError, match="thread_id"):  # LangGraph's own words; now: KeyError
        graph.invoke(say("hi"))
    with pytest.raises(ValueError, match="thread_id"):
        await graph.ainvoke(say("hi"))
