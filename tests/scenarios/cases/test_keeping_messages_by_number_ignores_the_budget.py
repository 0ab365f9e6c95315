"""`keep_tokens=0` keeps `keep_messages` messages even when they alone are over the window."""

from pathlib import Path

from agents import Scripted, agent, calls, say, thread

from longthread import CompactionConfig, context_policy
from longthread.state.counting import count_message


def test_twenty_large_messages_are_not_kept_above_the_window(tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Return a long page, not long enough to be evicted."""
        return f"{at} " + "word " * 1_500

    script = Scripted(*(calls(f"c{i}", name="page") for i in range(12)), "done")
    compaction = CompactionConfig(keep_tokens=0, keep_messages=20)
    graph = agent(
        script,
        tmp_path,
        [page],
        memory=None,
        masking=None,
        compaction=compaction,
        context_window=8_000,
    )
    graph.invoke(say("go"), thread())
    tools = context_policy(graph).tools_tokens
    sizes = [tools + sum(map(count_message, request)) for request in script.requests]
    assert max(sizes) <= 8_000
