"""Agents on providers that fail in every way: the next one is asked, or nothing is lost."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import openai
import pytest
from agents import say, thread
from failing_provider import FailingProvider, refused_url, serving
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import MessagesState, StateGraph
from pydantic import BaseModel
from settings_files import clear_variables, write_settings

from longthread import Settings, create_agent_graph
from longthread.state.errors import AnswerCutOff

KEY = "sk-first-0123456789abcdef"
OTHER_KEY = "sk-second-0123456789abcdef"
ANSWER = "The answer is forty-two."
OUTAGES = ["rate_limit", "broken", "unavailable", "hang", "refuse", "malformed", "cut"]
REFUSALS = {
    "unauthorized": openai.AuthenticationError,
    "bad_request": openai.BadRequestError,
}
Serve = Callable[..., FailingProvider]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests are none of theirs."""
    clear_variables(monkeypatch)


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def start(*plan: str, **options: Any) -> FailingProvider:
            provider = FailingProvider(*plan, **options)
            stack.enter_context(serving(provider))
            return provider

        yield start


def settings(tmp_path: Path, first: str, second: str | None = None, **first_entry: Any) -> Settings:
    """Return the settings of an agent on one provider, with another one to fall back to."""
    providers: dict[str, Any] = {
        "first": {"base_url": first, "api_key": KEY, "timeout": 30, **first_entry}
    }
    routing: dict[str, Any] = {"default": "first"}
    if second is not None:
        providers["second"] = {"base_url": second, "api_key": OTHER_KEY, "max_retries": 0}
        routing["fallback"] = ["second"]
    folder = write_settings(
        tmp_path / "config",
        settings={"models": {"main": {"model": "vendor/m"}}, "memory": {"enabled": False}},
        auth={"providers": providers, "routing": routing},
    )
    return Settings.load(folder)


def agent(found: Settings, tmp_path: Path, saver: SqliteSaver | None = None, **options: Any) -> Any:
    return create_agent_graph(
        settings=found, workspace=tmp_path / "workspace", checkpointer=saver, **options
    )


@pytest.fixture
def saver(tmp_path: Path) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        yield saver


@pytest.mark.parametrize("failure", OUTAGES)
def test_after_an_outage_the_next_provider_answers(
    failure: str, serve: Serve, tmp_path: Path
) -> None:
    first = refused_url() if failure == "refuse" else serve(failure).url
    second = serve()
    timeout = 0.3 if failure == "hang" else 30
    graph = agent(settings(tmp_path, first, second.url, timeout=timeout), tmp_path)
    assert graph.invoke(say("?"))["messages"][-1].content == ANSWER
    assert second.keys == [OTHER_KEY]
    assert second.requests[0]["model"] == "vendor/m"


@pytest.mark.parametrize("failure", ["broken", "refuse", "rate_limit"])
async def test_after_an_outage_the_next_provider_answers_asynchronously(
    failure: str, serve: Serve, tmp_path: Path
) -> None:
    first = refused_url() if failure == "refuse" else serve(failure).url
    graph = agent(settings(tmp_path, first, serve().url), tmp_path)
    streamed = [
        message.content
        async for message, _ in graph.astream(say("?"), stream_mode="messages")
        if message.type == "AIMessageChunk"
    ]
    assert "".join(streamed) == ANSWER
    assert (await graph.ainvoke(say("?")))["messages"][-1].content == ANSWER


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_request_that_is_refused_is_not_sent_elsewhere(
    refusal: str, serve: Serve, saver: SqliteSaver, tmp_path: Path
) -> None:
    first, second = serve(refusal, "ok"), serve()
    graph = agent(settings(tmp_path, first.url, second.url), tmp_path, saver)
    with pytest.raises(REFUSALS[refusal]):
        graph.invoke(say("?"), thread())
    assert second.requests == []
    assert graph.get_state(thread()).next == ("reasoning",)
    assert graph.invoke(None, thread())["messages"][-1].content == ANSWER
    assert [m.type for m in graph.get_state(thread()).values["messages"]] == ["human", "ai"]


def test_an_overflow_is_answered_by_a_shorter_request_and_not_by_another_provider(
    serve: Serve, saver: SqliteSaver, tmp_path: Path
) -> None:
    first, second = serve("ok", "ok", "ok", "overflow", "ok"), serve()
    graph = agent(settings(tmp_path, first.url, second.url), tmp_path, saver)
    for question in ("a", "b", "c", "d"):
        graph.invoke(say(question * 2_000), thread())
    assert graph.get_state(thread()).values["overflow"] == {"limit": 4_000}
    assert graph.get_state(thread()).values["messages"][-1].content == ANSWER
    assert second.requests == []


def test_a_client_alone_tries_again_as_it_was_told_to(serve: Serve, tmp_path: Path) -> None:
    provider = serve("rate_limit", "broken", "ok")
    graph = agent(settings(tmp_path, provider.url), tmp_path)
    assert graph.invoke(say("?"))["messages"][-1].content == ANSWER
    assert len(provider.requests) == 3


def test_a_client_with_another_one_after_it_does_not_try_again(
    serve: Serve, tmp_path: Path
) -> None:
    first = serve("rate_limit")
    agent(settings(tmp_path, first.url, serve().url), tmp_path).invoke(say("?"))
    assert len(first.requests) == 1
    told = settings(tmp_path, first.url, serve().url, max_retries=1)
    agent(told, tmp_path).invoke(say("?"))
    assert len(first.requests) == 3


@pytest.mark.parametrize("failure", [*OUTAGES, "cut_quietly", "page"])
def test_with_nobody_else_to_ask_the_thread_waits_and_goes_on(
    failure: str, serve: Serve, saver: SqliteSaver, tmp_path: Path
) -> None:
    plan = [failure] if failure == "refuse" else [failure, "ok"]
    provider = serve(*plan)
    url = refused_url() if failure == "refuse" else provider.url
    timeout = 0.3 if failure == "hang" else 30
    graph = agent(settings(tmp_path, url, max_retries=0, timeout=timeout), tmp_path, saver)
    given: Any = say("?")
    if failure == "cut_quietly":  # only a stream can be cut without a trace
        with pytest.raises(AnswerCutOff):
            list(graph.stream(given, thread(), stream_mode="messages"))
    else:
        with pytest.raises(Exception):  # noqa: B017, PT011 - each client's own
            graph.invoke(given, thread())
    assert graph.get_state(thread()).next == ("reasoning",)
    assert [m.type for m in graph.get_state(thread()).values["messages"]] == ["human"]
    if failure in ("refuse", "hang"):  # it is there now, and answers when it can
        provider.plan = ["ok"]
        graph = agent(settings(tmp_path, provider.url), tmp_path, saver)
    assert graph.invoke(None, thread())["messages"][-1].content == ANSWER
    assert len(graph.get_state(thread()).values["messages"]) == 2


@pytest.mark.parametrize("failure", ["cut", "cut_quietly"])
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_once_something_was_streamed_nobody_else_is_asked(
    failure: str, asynchronous: bool, serve: Serve, tmp_path: Path
) -> None:
    second = serve()
    graph = agent(settings(tmp_path, serve(failure).url, second.url), tmp_path)
    seen: list[str] = []

    async def listen() -> None:
        if asynchronous:
            async for message, _ in graph.astream(say("?"), stream_mode="messages"):
                seen.append(str(message.content))
        else:
            for message, _ in graph.stream(say("?"), stream_mode="messages"):
                seen.append(str(message.content))

    with pytest.raises((openai.APIConnectionError, AnswerCutOff)):
        await listen()
    assert "".join(seen).endswith("The answer")
    assert second.requests == []


@pytest.mark.parametrize("failure", ["cut_early", "stream_error", "broken", "rate_limit"])
def test_a_stream_that_fails_before_its_first_word_is_streamed_by_the_next(
    failure: str, serve: Serve, tmp_path: Path
) -> None:
    graph = agent(settings(tmp_path, serve(failure).url, serve().url), tmp_path)
    seen = [
        str(message.content)
        for message, _ in graph.stream(say("?"), stream_mode="messages")
        if message.type == "AIMessageChunk"
    ]
    assert "".join(seen) == ANSWER


@pytest.mark.parametrize(("tags", "asks_again"), [(["nostream"], True), ([], False)])
def test_what_nobody_sees_can_be_asked_again_even_in_the_middle(
    tags: list[str], asks_again: bool, serve: Serve, tmp_path: Path
) -> None:
    """The summariser's tokens never reach the user: half a summary is nothing that was shown."""
    second = serve()
    graph = agent(settings(tmp_path, serve("cut").url, second.url), tmp_path)
    model = graph.builder.nodes["compaction"].runnable.summariser.model

    def node(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        inner = {**config, "tags": [*(config.get("tags") or []), *tags]}
        return {"messages": [model.invoke(state["messages"], inner)]}

    outer: Any = StateGraph(MessagesState).add_node(node).set_entry_point("node").compile()
    if asks_again:
        chunks = list(outer.stream(say("?"), stream_mode=["messages", "values"]))
        assert chunks[-1][1]["messages"][-1].content == ANSWER
    else:
        with pytest.raises(openai.APIConnectionError):
            list(outer.stream(say("?"), stream_mode="messages"))
    assert len(second.requests) == asks_again


def test_tools_and_schemas_work_on_the_next_provider(serve: Serve, tmp_path: Path) -> None:
    class Verdict(BaseModel):
        """The verdict."""

        verdict: str

    def look(at: str) -> str:
        """Look at something."""
        return at

    first, second = serve("broken"), serve(text=('{"verdict": "fine"}',))
    graph = agent(
        settings(tmp_path, first.url, second.url), tmp_path, tools=[look], response_format=Verdict
    )
    result = graph.invoke(say("?"))
    assert result["structured_response"] == Verdict(verdict="fine")
    names = [tool["function"]["name"] for tool in second.requests[0]["tools"]]
    assert "look" in names
    assert "response_format" in second.requests[1]


def test_all_fail_and_the_last_error_tells_of_the_others(serve: Serve, tmp_path: Path) -> None:
    graph = agent(settings(tmp_path, serve("broken").url, refused_url()), tmp_path)
    with pytest.raises(openai.APIConnectionError) as caught:
        graph.invoke(say("?"))
    assert "first:vendor/m" in "".join(caught.value.__notes__)
    assert "(500)" in "".join(caught.value.__notes__)


def test_no_key_is_in_an_error_a_log_or_a_checkpoint(
    serve: Serve, saver: SqliteSaver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    first, second = serve("broken"), serve("unauthorized")  # repeats the key that it was sent
    found = settings(tmp_path, first.url, second.url)
    graph = agent(found, tmp_path, saver)
    with pytest.raises(openai.AuthenticationError) as caught:
        graph.invoke(say("?"), thread())
    assert second.keys == [OTHER_KEY]
    error = caught.value
    said = [repr(error), str(error), str(error.body), *error.__notes__, caplog.text]
    said += [repr(found), str(found), repr(found.agent()), repr(found.agent().router)]
    said += [repr(graph.builder.nodes["compaction"].runnable.summariser.model)]
    saver.conn.commit()
    with closing(sqlite3.connect(tmp_path / "threads.db")) as database, database:
        said.append("\n".join(database.iterdump()))
    for text in said:
        assert KEY not in text
        assert OTHER_KEY not in text
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "auth.json"]
    assert not any(key.encode() in path.read_bytes() for path in files for key in (KEY, OTHER_KEY))
