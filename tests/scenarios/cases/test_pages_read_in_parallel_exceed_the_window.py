"""`read_file` is excluded from eviction, and its page is measured in characters."""

from pathlib import Path

import pytest
from agents import Scripted, agent, say, thread
from langchain_core.messages import AIMessage

from longthread import context_policy
from longthread.state.counting import count_message


@pytest.mark.parametrize(("text", "pages"), [("word and more\n", 12), ("漢字仮名交じり文", 2)])
def test_pages_that_are_too_much_together_do_not_exceed_the_window(
    text: str, pages: int, tmp_path: Path
) -> None:
    home = tmp_path / "workspace/users/_default/agents/agent"
    home.mkdir(parents=True)
    (home / "big.txt").write_text(text * 100_000)
    read = [
        {"name": "read_file", "args": {"path": "big.txt", "char_offset": i * 9_000}, "id": f"r{i}"}
        for i in range(pages)
    ]
    script = Scripted(AIMessage("", tool_calls=read), "done")
    graph = agent(script, tmp_path, [], context_window=16_000, memory=None)
    graph.invoke(say("read it"), thread())
    tools = context_policy(graph).tools_tokens
    assert tools + sum(map(count_message, script.requests[-1])) <= 16_000
