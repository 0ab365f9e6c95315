"""Endpoints that answer with HTTP 200 and no answer: an outage, however the model is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import say, thread
from failing_provider import UNREADABLE, FailingProvider, serving
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, ChatMessage, HumanMessage
from langchain_core.messages.utils import convert_to_messages
from langgraph.checkpoint.memory import InMemorySaver
from settings_files import clear_variables, write_settings

from longthread import Settings, create_agent_graph
from longthread.graphs.model_roles import ModelRoles
from longthread.graphs.models import resolve_model
from longthread.graphs.openai_client import ChatOpenAI
from longthread.state.errors import AnswerCutOff, UnreadableAnswer

# The client's own models warn of what they were given.
pytestmark = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")

ANSWER = "The answer is forty-two."


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


def settings(folder: Path, *urls: str) -> Settings:
    providers = {
        f"p{at}": {"base_url": url, "api_key": "none", "max_retries": 0}
        for at, url in enumerate(urls)
    }
    names = list(providers)
    auth = {"providers": providers, "routing": {"default": names[0], "fallback": names[1:]}}
    memory = {"enabled": False}
    return Settings.load(
        write_settings(folder, settings={"models": {"main": "v/m"}, "memory": memory}, auth=auth)
    )


def model_of(found: Settings) -> BaseChatModel:
    return ModelRoles(found.agent(), resolve_model).main(None)


def ways(model: BaseChatModel) -> list[Callable[[], Any]]:
    """Return every synchronous way to ask."""
    asked: list[BaseMessage] = [HumanMessage("?")]
    return [
        lambda: model.invoke("?").content,
        lambda: "".join(str(chunk.content) for chunk in model.stream("?")),
        lambda: "".join(chunk.text for chunk in model._stream(asked)),
        lambda: model.bind_tools([]).invoke("?").content,
        lambda: model.bind(stream=False).invoke("?", {"callbacks": [_Listener()]}).content,
    ]


class _Listener(BaseCallbackHandler):
    """Somebody who watches, as LangGraph's streams do."""


@pytest.mark.parametrize("answer", UNREADABLE)
async def test_the_next_provider_is_asked_however_the_model_is_called(
    answer: str, tmp_path: Path
) -> None:
    first, second = FailingProvider(answer), FailingProvider()
    with serving(first, second):
        model = model_of(settings(tmp_path, first.url, second.url))
        for at, ask in enumerate(ways(model)):
            assert ask() == ANSWER
            assert len(second.requests) == at + 1
        assert (await model.ainvoke("?")).content == ANSWER
        streamed = [str(chunk.content) async for chunk in model.astream("?")]
        assert "".join(streamed) == ANSWER
        parts = [chunk.text async for chunk in model._astream([HumanMessage("?")])]
        assert "".join(parts) == ANSWER


@pytest.mark.parametrize("answer", UNREADABLE)
async def test_with_nobody_else_it_is_one_line_however_the_model_is_called(
    answer: str, tmp_path: Path
) -> None:
    provider = FailingProvider(answer)
    with serving(provider):
        model = model_of(settings(tmp_path, provider.url))
        said: list[str] = []
        for ask in ways(model):
            with pytest.raises((UnreadableAnswer, AnswerCutOff)) as caught:
                ask()
            said.append(str(caught.value))
        with pytest.raises(UnreadableAnswer) as caught:
            await model.ainvoke("?")
        said.append(str(caught.value))
        with pytest.raises((UnreadableAnswer, AnswerCutOff)) as caught:
            _ = [chunk async for chunk in model.astream("?")]
        said.append(str(caught.value))
    for line in said:
        assert line.startswith("p0:v/m: the answer ")
        assert "\n" not in line


@pytest.mark.parametrize("answer", ["empty", "null_choices", "json_list", "page"])
@pytest.mark.parametrize("streamed", [False, True])
def test_the_thread_waits_where_it_was_and_goes_on(
    answer: str, streamed: bool, tmp_path: Path
) -> None:
    provider = FailingProvider(answer, "ok")
    with serving(provider):
        found = settings(tmp_path / "config", provider.url)
        graph: Any = create_agent_graph(
            settings=found, workspace=tmp_path / "w", checkpointer=InMemorySaver()
        )
        mode = "messages" if streamed else "values"
        with pytest.raises((UnreadableAnswer, AnswerCutOff)):
            list(graph.stream(say("?"), thread(), stream_mode=mode))
        assert graph.get_state(thread()).next == ("reasoning",)
        assert graph.invoke(None, thread())["messages"][-1].content == ANSWER


def test_what_cannot_be_sent_is_no_unreadable_answer() -> None:
    """Nobody has answered: asking elsewhere would not help."""
    client = ChatOpenAI.of("p:m", "m", api_key="none", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(TypeError, match="unexpected keyword argument 'no_such_option'"):
        client.invoke("?", no_such_option=1)
    strange = convert_to_messages([ChatMessage(role="?", content="x")])
    with pytest.raises(TypeError):
        list(client.stream(strange, tools=[{"function": object()}]))


def test_an_error_of_a_callback_is_its_own(tmp_path: Path) -> None:
    class Broken(BaseCallbackHandler):
        raise_error = True

        def on_llm_new_token(self, *_: Any, **__: Any) -> None:
            raise AttributeError("mine")

    provider = FailingProvider()
    with serving(provider):
        client = ChatOpenAI.of("p:m", "m", api_key="none", base_url=provider.url)
        with pytest.raises(AttributeError, match="mine"):
            list(client.stream("?", {"callbacks": [Broken()]}))
