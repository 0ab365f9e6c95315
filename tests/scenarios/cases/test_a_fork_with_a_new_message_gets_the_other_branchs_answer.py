"""Regression: pending writes of an *old* checkpoint are what the other branch went on to say.

LangGraph keeps them for ever; `get_state` applies them only when no checkpoint is named.
"""

from pathlib import Path

from agents import Scripted, agent, calls, contents, say, thread


def test_a_new_message_at_any_moment_of_the_past_sees_only_that_past(tmp_path: Path) -> None:
    script = Scripted(calls("a", "b"), "one", "other")
    graph = agent(script, tmp_path, memory=None)
    graph.invoke(say("go"), thread())
    for moment in list(graph.get_state_history(thread())):
        past = contents(moment.values.get("messages", []))
        forked = contents(graph.invoke(say("instead"), moment.config)["messages"])
        assert forked[: len(past) + 1] == [*past, "instead"]
