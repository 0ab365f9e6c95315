from pathlib import Path

from agents import Scripted, agent, calls, say, thread

from longthread import RollingCompactionConfig


def test_a_threshold_that_the_overhead_alone_exceeds_is_no_loop(tmp_path: Path) -> None:
    script = Scripted(*(calls(f"c{i}") for i in range(30)), "done")
    graph = agent(
        script,
        tmp_path,
        memory=None,
        rolling=RollingCompactionConfig(auto_threshold=20),
        system_prompt="word " * 2_400,  # 30 % of the window
        context_window=8_000,
    )
    graph.invoke(say("go"), thread())
    assert len(script.asked["summary"]) <= 5
