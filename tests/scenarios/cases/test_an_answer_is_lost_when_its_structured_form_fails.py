from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, contents, say, thread
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from longthread import create_agent_graph
from longthread.graphs.scripted import ScriptedModel


class Verdict(BaseModel):
    good: bool


class Structured(ScriptedModel):
    def with_structured_output(self, schema: Any, **_: Any) -> Any:
        def fail(_: Any) -> Any:
            raise ConnectionError("lost")

        return RunnableLambda(fail)


def test_the_answer_is_kept_when_the_structured_response_fails(tmp_path: Path) -> None:
    """Both are one write of `reasoning`; a resume asks (and pays for) the answer again."""
    model = Structured(script=Scripted("it is good"))
    graph = create_agent_graph(
        model, checkpointer=InMemorySaver(), workspace=tmp_path, response_format=Verdict
    )
    with pytest.raises(ConnectionError):
        graph.invoke(say("well?"), thread())
    assert contents(graph.get_state(thread()).values["messages"]) == ["well?", "it is good"]
