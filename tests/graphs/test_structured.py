"""A structured answer is asked for as in LangChain's own agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agents import Scripted, say
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from longthread import LongthreadError, create_agent_graph
from longthread.graphs.scripted import ScriptedModel


class Verdict(BaseModel):
    """What to do."""

    approved: bool


class Doubt(BaseModel):
    """What else to ask."""

    question: str


class Judge(ScriptedModel):
    """Remembers how it was asked for a shape."""

    asked: list[Any]

    def with_structured_output(
        self, schema: Any, *, method: str = "any", strict: bool | None = None, **options: Any
    ) -> Runnable[Any, Any]:
        self.asked.append((schema, method, strict))
        return RunnableLambda(lambda _: schema(approved=True))


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (Verdict, ("any", None)),
        (ToolStrategy(Verdict), ("function_calling", None)),
        (ProviderStrategy(Verdict), ("json_schema", None)),
        (ProviderStrategy(Verdict, strict=True), ("json_schema", True)),
    ],
)
def test_langchains_strategies_are_understood(tmp_path: Path, wanted: Any, asked: Any) -> None:
    model = Judge(script=Scripted("yes"), asked=[])
    graph = create_agent_graph(model, workspace=tmp_path, memory=None, response_format=wanted)
    assert model.asked == [(Verdict, *asked)]
    assert graph.invoke(say("well?"))["structured_response"] == Verdict(approved=True)


class Mute(ScriptedModel):
    """Cannot answer in any shape."""

    def with_structured_output(self, schema: Any, **options: Any) -> Runnable[Any, Any]:
        raise NotImplementedError("no shapes here")


def test_a_model_that_cannot_is_named_at_once(tmp_path: Path) -> None:
    model = Mute(script=Scripted("yes"))
    with pytest.raises(LongthreadError, match=r"response_format=.*Verdict.*Mute.*no shapes here"):
        create_agent_graph(model, workspace=tmp_path, response_format=Verdict)


@pytest.mark.parametrize("wanted", [ToolStrategy, ToolStrategy(Verdict | Doubt)])
def test_what_is_no_schema_is_named_at_once(tmp_path: Path, wanted: Any) -> None:
    model = ChatOpenAI(model="gpt-5-mini", api_key=SecretStr("none"))
    with pytest.raises(LongthreadError, match="response_format="):
        create_agent_graph(model, workspace=tmp_path, response_format=wanted)
