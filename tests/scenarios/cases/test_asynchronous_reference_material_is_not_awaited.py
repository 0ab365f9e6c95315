from pathlib import Path
from typing import Any

from agents import Scripted, agent, say, thread


async def test_asynchronous_reference_material_is_awaited(tmp_path: Path) -> None:
    async def rules(state: Any, runtime: Any) -> str:
        return "Rule one."

    script = Scripted("ok")
    graph = agent(script, tmp_path, memory=None, reference=[rules])
    await graph.ainvoke(say("hi"), thread())
    assert "Rule one." in str(script.requests[0][0].content)
