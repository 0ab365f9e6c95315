from pathlib import Path

import pytest
from agents import Scripted, agent, calls, say, thread

from longthread import CompactionConfig
from longthread.state.counting import count_message


@pytest.mark.parametrize("window", [1_500, 4_000])
def test_a_small_summariser_is_asked_what_fits_its_window(window: int, tmp_path: Path) -> None:
    def page(at: str) -> str:
        """Return a page."""
        return f"{at} " + "lorem ipsum dolor sit amet " * 60

    small = Scripted(summary="word " * 3_000)
    model = small.model.model_copy(update={"profile": {"max_input_tokens": window}})
    script = Scripted(*(calls(f"c{i}", name="page") for i in range(60)), "done")
    compaction = CompactionConfig(model=model, trigger_messages=0)
    graph = agent(
        script,
        tmp_path,
        [page],
        memory=None,
        masking=None,
        compaction=compaction,
        context_window=16_000,
    )
    graph.invoke(say("go"), thread())
    sizes = [sum(map(count_message, request)) for request in small.asked["summary"]]
    assert sizes
    assert max(sizes) <= window
    assert len(sizes) <= 60
