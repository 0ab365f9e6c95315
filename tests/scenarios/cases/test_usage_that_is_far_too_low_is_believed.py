from pathlib import Path

from agents import Scripted, agent, calls, say, thread
from langchain_core.messages import AIMessage

from longthread import context_policy
from longthread.state.counting import count_message


def test_a_provider_that_counts_one_token_does_not_turn_compaction_off(tmp_path: Path) -> None:
    """The correction is clamped to 0.5–3, the baseline itself is not."""

    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    answers = [
        calls(f"c{i}", name="page").model_copy(update={"usage_metadata": usage}) for i in range(40)
    ]
    script = Scripted(*answers, AIMessage("done", usage_metadata=usage))
    graph = agent(script, tmp_path, [page], context_window=8_000, memory=None, masking=None)
    graph.invoke(say("go"), thread())
    tools = context_policy(graph).tools_tokens
    sizes = [tools + sum(map(count_message, request)) for request in script.requests]
    assert max(sizes) <= 8_000
